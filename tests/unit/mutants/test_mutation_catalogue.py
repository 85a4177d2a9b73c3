"""The catalogue of mutations fits the source, the tests and the page that lists it."""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from tests.mutants.catalogue import read_source_mutations
from tests.mutants.mutation import LAYERS, edited, text_errors
from tests.mutants.runner import VALID_SLICE
from tests.mutants.table import entries, read_page
from tests.mutants.wrapped import WRAPPED

ROOT = Path(__file__).parents[3]
SOURCE = read_source_mutations()


@cache
def functions_of(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", SOURCE)
def test_the_text_of_a_mutation_occurs_once_and_still_compiles_when_changed(name: str) -> None:
    mutation = SOURCE[name]
    text = (ROOT / "src" / "auxmc" / mutation.module).read_text()
    assert text_errors(mutation.module, mutation.edits, text) == []
    compile(edited(text, mutation.edits), mutation.module, "exec")


@pytest.mark.parametrize("name", SOURCE)
def test_the_tests_of_a_mutation_exist(name: str) -> None:
    for layer, test in SOURCE[name].tests.items():
        assert layer in LAYERS
        file, _, function = test.partition("::")
        assert function.split("[")[0] in functions_of(file)


def test_there_are_mutations_of_every_kind_of_sampler() -> None:
    wrong = [m for m in (*SOURCE.values(), *WRAPPED.values()) if not getattr(m, "harmless", False)]
    assert len(wrong) >= 40
    components = Counter(m.component for m in wrong)
    for component in (
        "abc",
        "annealed_importance",
        "constrained_hmc",
        "gibbs",
        "hmc",
        "metropolis",
        "nested_sampling",
        "perfect_sampling",
        "pseudo_marginal",
        "sequential_monte_carlo",
        "slice",
        "stochastic_gradient",
        "tempering",
    ):
        assert components[component] >= 2, component
    assert sum(m.harmless for m in SOURCE.values()) >= 2
    assert not SOURCE.keys() & WRAPPED.keys()


def test_the_page_lists_the_catalogue() -> None:
    rows = read_page((ROOT / "docs" / "mutations.md").read_text())
    expected = entries(SOURCE | {"rejection_without_shrinking": VALID_SLICE}, WRAPPED)
    assert sorted(row.entry for row in rows) == sorted(expected), (
        "run python -m tests.mutants --write docs/mutations.md"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[a]\nwhat = "x"\nmodule = "m.py"\nedits = [["p", "q"]]\n', r"missing \['tests'\]"),
        ('[a]\nwhat = "x"\nmodule = "m.py"\nedits = []\ntests.L1 = "t"\n', "needs an edit and a test"),
        ('[a]\nwhat = "x"\nmodule = "m.py"\nedits = []\ntests.L1 = "t"\nmore = 1\n', r"unknown \['more'\]"),
    ],
)
def test_entries_that_are_not_whole_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "slice.toml").write_text(text)
    with pytest.raises(ValueError, match=rf"slice.toml, a: .*{message}"):
        read_source_mutations(tmp_path)


def test_names_are_unique(tmp_path: Path) -> None:
    text = '[a]\nwhat = "x"\nmodule = "m.py"\nedits = [["p", "q"]]\ntests.L1 = "t"\n'
    for component in ("hmc", "slice"):
        (tmp_path / f"{component}.toml").write_text(text)
    with pytest.raises(ValueError, match=r"slice\.toml: there is another mutation with the name a"):
        read_source_mutations(tmp_path)


def test_a_text_that_is_missing_or_occurs_twice_is_an_error() -> None:
    edits = (("old", "new"), ("same", "same"))
    assert text_errors("m.py", edits, "old same") == ["m.py: the text is replaced by itself: 'same'"]
    first, _ = text_errors("m.py", edits, "old old same")
    assert first == "m.py: the text occurs 2 times, not once: 'old'"
    assert "0 times" in text_errors("m.py", edits, "same")[0]
