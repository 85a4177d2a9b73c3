"""The page about the two sizes of the tests says which are left out."""

from scripts.slow_tests import PAGE, table, with_table


def test_the_page_names_the_tests_that_are_left_out() -> None:
    assert with_table(PAGE.read_text()) == PAGE.read_text(), "run `python scripts/slow_tests.py --write-page`"
    assert "| `pipeline/test_workflow.py` | all |" in table()
