"""Every required layer of every component has a test that exists."""

import json
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from tests.statistical.ledger import COLUMNS
from tests.statistical.matrix import (
    COMPONENTS,
    EXCEPTIONS,
    LAYERS,
    cells_of,
    cells_with_tests,
    definitions,
    markdown,
    requirement,
)
from tests.statistical.summary import marks_of, page, read_run, text
from tests.statistical.tests_by_pattern import PATTERNS

CELLS = [(component, layer) for component in COMPONENTS for layer in LAYERS]
REQUIRED = [cell for cell in CELLS if requirement(*cell) == "R"]


@pytest.mark.parametrize("component", COMPONENTS)
def test_required_layers_have_a_test_or_a_reason(component: str) -> None:
    tested = cells_with_tests()
    missing = [cell for cell in REQUIRED if cell[0] == component and not tested[cell]]
    assert [cell for cell in missing if cell not in EXCEPTIONS] == []


def test_exceptions_are_few_and_needed() -> None:
    tested = cells_with_tests()
    assert len(EXCEPTIONS) <= 0.05 * len(REQUIRED)
    for cell, reason in EXCEPTIONS.items():
        assert cell in REQUIRED
        assert not tested[cell], f"{cell} has a test now"
        assert len(reason.split()) >= 5


def test_every_pattern_fits_a_test() -> None:
    addresses = [f"{definition.path}::{definition.name}" for definition in definitions()]
    for cell, patterns in PATTERNS.items():
        assert cell in CELLS, f"{cell} is not a cell"
        for pattern in patterns:
            function = pattern.partition("[")[0]
            assert any(fnmatchcase(address, function) for address in addresses), pattern


def test_cells_of_marks_and_patterns_make_sense() -> None:
    for cell, tests in cells_with_tests().items():
        if tests:
            assert cell in CELLS, f"{cell} of {tests} is not a cell"
            assert requirement(*cell) != "-", f"{tests} test {cell}, which makes no sense"


def test_parameters_select_the_component() -> None:
    test = "tests/statistical/test_kernel_invariance.py::test_kernel_on_the_line_is_invariant_and_reversible"
    assert cells_of(f"{test}[random_walk-bimodal]") == [("metropolis", "L5"), ("metropolis", "L6")]
    assert cells_of(f"{test}[linear_step_out-logistic]", [("gibbs", "L9")]) == [
        ("gibbs", "L9"),
        ("slice", "L5"),
        ("slice", "L6"),
    ]
    assert cells_of("tests/unit/plots/test_style.py::test_name") == []


def test_the_table_shows_what_it_is_given() -> None:
    table = markdown({("hmc", "L5"): "passed"}).splitlines()
    assert len(table) == len(COMPONENTS) + 2
    (row,) = [line for line in table if line.startswith("| hmc ")]
    entries = [entry.strip() for entry in row.split("|")[2:-1]]
    assert entries[list(LAYERS).index("L5")] == "passed"
    assert entries[list(LAYERS).index("L2")] == "–"
    assert entries[list(LAYERS).index("L4")] == "missing"


def test_the_page_of_the_documentation_has_this_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "correctness.md").read_text()
    assert markdown() in page, "write it anew: python scripts/statistical_suite.py --part none --write-page"


def test_a_run_is_summarised_with_its_failures_and_levels(tmp_path: Path) -> None:
    results, report = tmp_path / "results", tmp_path / "report"
    lines = [
        {"test": "a", "outcome": "passed", "seconds": 1.0, "cells": [["hmc", "L5"]]},
        {"test": "b", "outcome": "failed", "seconds": 1.0, "cells": [["hmc", "L5"], ["slice", "L1"]]},
        {"test": "c", "outcome": "passed", "seconds": 1.0, "cells": [["metropolis", "L1"]]},
    ]
    results.write_text("".join(json.dumps(line) + "\n" for line in lines))
    row = dict.fromkeys(COLUMNS, "") | {"test": "tests/statistical/deep/x.py::t", "label": "near"}
    row |= {"statistic": "4.5", "threshold": "5.0", "alpha": "1e-07"}
    report.write_text(",".join(row) + "\n" + ",".join(row.values()) + "\n")
    run = read_run("a seed", results, report)
    assert [ended.test for ended in run.failed] == ["b"]
    assert marks_of(run) == {("hmc", "L5"): "FAILED", ("slice", "L1"): "FAILED", ("metropolis", "L1"): "1"}
    shown = text(run)
    assert "2 tests passed, 1 failed" in shown
    assert "0.900  tests/statistical/deep/x.py::t  near" in shown
    assert "1 of the deeper part, 1e-07" in shown
    (line,) = [line for line in shown.splitlines() if line.startswith("metropolis")]
    assert line.split()[1:3] == ["passed", "missing"]
    written = page(run, "2026-01-01", [("deep", 2.0)])
    assert "seed `a seed`: 2 tests passed" in written
    assert "| 0.900 | `deep/x.py::t` | near |" in written
