"""Numerical faults of the campaign: outcome and message of each decide together whether it came out as is wanted."""

import pytest

from tests.faults.numerical.__main__ import main
from tests.faults.numerical.numerical_trials import Trial
from tests.faults.trials import REFUSED, RIGHT


def refused() -> str:
    raise ValueError("the step is zero")


@pytest.mark.parametrize(
    ("outcome", "says", "code"), [(REFUSED, "step", 0), (REFUSED, "density", 1), (RIGHT, "step", 1)]
)
def test_another_outcome_or_message_than_is_wanted_fails(
    outcome: str, says: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    trial = Trial("a family", "a fault", "something", refused, outcome, says)
    monkeypatch.setattr("tests.faults.numerical.__main__.TRIALS", [trial])
    assert main([]) == code
    assert capsys.readouterr().out.startswith("NOT AS WANTED: " if code else "a family | a fault | refused")
