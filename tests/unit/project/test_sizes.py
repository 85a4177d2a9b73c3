"""The page about the two sizes of the tests says which are left out."""

import ast

import pytest

from scripts.slow_tests import PAGE, left_out, table, with_table


def test_the_page_names_the_tests_that_are_left_out() -> None:
    assert with_table(PAGE.read_text()) == PAGE.read_text(), "run `python scripts/slow_tests.py --write-page`"
    assert "| `pipeline/test_workflow.py` | all |" in table()


PARAMETER = "pytest.mark.parametrize('x', [1, pytest.param(2, marks=pytest.mark.slow)])"


@pytest.mark.parametrize(
    ("decorators", "said"),
    [
        (["pytest.mark.slow", "pytest.mark.slow"], "all"),
        (["pytest.mark.slow", "pytest.mark.other"], "1 of 2"),
        (["pytest.mark.slow", PARAMETER, PARAMETER], "1 of 3, and some cases of 2"),
        ([PARAMETER], "some cases of 1"),
        (["pytest.mark.other"], ""),
    ],
)
def test_a_test_with_a_slow_case_is_not_left_out_whole(decorators: list[str], said: str) -> None:
    tests = [f"@{decorator}\ndef test_{i}(): ..." for i, decorator in enumerate(decorators)]
    assert left_out(ast.parse("\n".join(tests))) == said
    assert left_out(ast.parse("\n".join(["pytestmark = [pytest.mark.slow]", *tests]))) == "all"


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match=r"testing\.md lacks the marks <!-- left out: begin -->"):
        with_table("a page")
