"""The table of the documents' figures and algorithms names functions that exist and every numbered figure."""

import ast
import re

from auxmc_pipeline.catalogue import ROOT, load_study, studies
from auxmc_pipeline.report.code_places import drawn_by
from auxmc_pipeline.report.figure_names import parse_figure_name

ROWS = [line for line in (ROOT / "docs" / "coverage.md").read_text().splitlines() if line.startswith("| ")]


def test_functions_in_the_table_exist() -> None:
    places = set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", "\n".join(ROWS)))
    assert len(places) > 80
    for file, name in places:
        defined = {getattr(node, "name", "") for node in ast.walk(ast.parse((ROOT / file).read_text()))}
        assert not name or name in defined, f"{file}::{name}"


def test_every_numbered_figure_of_a_study_is_in_the_table_with_its_function() -> None:
    for name in studies():
        study = load_study(name)
        for figure in study.figures:
            found = parse_figure_name(figure)
            if found.number or found.is_slide:
                rows = [row for row in ROWS if f"`{name}/{figure}`" in row]
                item = f"| figure {found.number or found.further} |"
                assert len(rows) == 1, f"{name}/{figure}"
                assert rows[0].startswith(item), rows[0]
                assert f"`{drawn_by(study, figure)}`" in rows[0], rows[0]


def test_items_that_repeat_others_name_items_that_exist() -> None:
    for row in ROWS:
        if "same as " in row:
            kind = re.findall(r"same as [\w ]+, (\w+ [\w.]+) \|", row)
            assert kind, row
            assert any(other.startswith(f"| {kind[0]} |") for other in ROWS), row
