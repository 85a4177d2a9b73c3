"""A check that cannot fail is found by changing what it reads."""

import pandas as pd
import pytest

from auxmc_pipeline.claims import Measurement, exact
from auxmc_pipeline.judging.perturbations import Response, responses
from auxmc_pipeline.measuring import mean
from auxmc_pipeline.tables import MissingData, Tables

VALUES = [10.0, 10.1, 9.9, 10.0, 5.0, 5.1, 4.9, 5.0]
SUMMARY = pd.DataFrame({"case": ["a"] * 4 + ["b"] * 4, "quantity": "ess", "n_draws": 100.0, "value": VALUES})
TABLES = Tables.of(SUMMARY, pd.DataFrame())


def _mean(tables: Tables, case: str = "a") -> Measurement:
    return mean(tables.summary.rows("ess", case=case)["value"])


def _favourable(tables: Tables) -> Measurement:
    found = _mean(tables)
    if found.value < 9.0:
        raise MissingData("the chains are too short")
    return found


def _missing(tables: Tables) -> Measurement:
    raise MissingData("not run")


@pytest.mark.parametrize(
    ("measure", "low", "verdict", "can_fail"),
    [
        (_mean, 9.0, "reproduced", True),
        (_mean, 20.0, "not reproduced", True),
        (lambda t: _mean(t) / _mean(t, "b"), 1.5, "reproduced", True),  # scales cancel: one group must change
        (lambda t: Measurement(t.summary.setting("n_draws") / 5.0, 0.1), 9.0, "reproduced", False),
        (lambda t: Measurement(max(_mean(t).value, 10.0), 0.1), 9.0, "reproduced", False),
        (_favourable, 8.0, "reproduced", False),
        (_mean, -1e300, "reproduced", False),
    ],
    ids=[
        "mean",
        "failing",
        "ratio",
        "settings alone",
        "clipped",
        "unfavourable dropped",
        "band of everything",
    ],
)
def test_a_claim_that_no_change_turns_cannot_fail(
    measure: object, low: float, verdict: str, can_fail: bool
) -> None:
    (found,) = _responses(measure, low)
    assert (found.verdict, bool(found.changed_by)) == (verdict, can_fail)


@pytest.mark.parametrize(
    ("measure", "kind"),
    [
        (lambda _: exact(10.0), "I"),
        (lambda _: Measurement(1.0, float("nan")), "I"),
        (_mean, "W"),
        (_missing, "I"),
    ],
    ids=["exact", "unknown error", "time", "missing"],
)
def test_what_has_no_verdict_to_turn_is_left_out(measure: object, kind: str) -> None:
    assert _responses(measure, 9.0, kind) == []


def _responses(measure: object, low: float, kind: str = "I") -> list[Response]:
    line = {"claim_id": "X-1", "setting": "s", "low": low, "high": float("inf"), "kind": kind}
    return list(responses(pd.DataFrame([line]), {"X-1": {"s": measure}}, TABLES))  # type: ignore[dict-item]
