"""Numerical faults put to every family of the library: each ends as the page says."""

from pathlib import Path

import pytest

from tests.faults.numerical.all_trials import TRIALS
from tests.faults.numerical.numerical_trials import Found, Trial, judged

_PAGE = Path(__file__).parents[3] / "docs" / "numerical_faults.md"


def _named(trial: Trial) -> str:
    return f"{trial.family}: {trial.fault}"


@pytest.mark.parametrize(
    "trial",
    [pytest.param(trial, id=_named(trial), marks=pytest.mark.slow if trial.slow else ()) for trial in TRIALS],
)
def test_faults_end_as_the_page_says(trial: Trial) -> None:
    found = judged(trial)
    assert found.outcome == trial.outcome, found.message
    assert trial.says in found.message


def test_values_that_are_wrong_without_a_word_are_noticed() -> None:
    def broken() -> str:
        raise IndexError("mine")

    bad = Trial("a family", "a fault", "something", lambda: "the mean is 3, not 1", "right")
    assert judged(bad) == Found("wrong", "the mean is 3, not 1")
    assert judged(bad._replace(run=broken)).outcome == "traceback"


def test_page_has_every_trial_with_its_outcome() -> None:
    text = _PAGE.read_text()
    sections = {part.partition("\n")[0]: part for part in text.split("\n## ")[1:]}
    for trial in TRIALS:
        row = next(
            line for line in sections[trial.family].splitlines() if line.startswith(f"| {trial.fault} |")
        )
        assert f"| {trial.outcome} |" in row, row
    assert sum(line.startswith("| ") for line in text.splitlines()) == len(TRIALS) + len(sections)
    assert len({_named(trial) for trial in TRIALS}) == len(TRIALS)
