"""A check that cannot fail is found by changing what it reads."""

import numpy as np
import pandas as pd
import pytest

from auxmc_pipeline.claims import Measurement, exact
from auxmc_pipeline.error_rules import mean_over_replicates, ratio_of_means
from auxmc_pipeline.judging.perturbations import GROUP_PERTURBATIONS, PERTURBATIONS, Response, responses
from auxmc_pipeline.tables import MissingData, Tables

TABLES = Tables.of(
    pd.DataFrame(
        {
            "case": ["a"] * 4 + ["b"] * 4,
            "quantity": "ess",
            "n_draws": 100.0,
            "value": [10.0, 10.1, 9.9, 10.0, 5.0, 5.1, 4.9, 5.0],
        }
    ),
    pd.DataFrame(),
)


def _values(tables: Tables, case: str) -> "pd.Series[float]":
    return tables.summary.rows("ess", case=case)["value"]


def _mean(tables: Tables) -> Measurement:
    return mean_over_replicates(_values(tables, "a"))


def _ratio(tables: Tables) -> Measurement:
    return ratio_of_means(_values(tables, "a").to_numpy(), _values(tables, "b").to_numpy())


def _settings(tables: Tables) -> Measurement:
    return Measurement(float(tables.summary.setting("n_draws", case="a")) / 5.0, 0.1)


def _clipped(tables: Tables) -> Measurement:
    return Measurement(max(_mean(tables).value, 10.0), 0.1)


def _favourable(tables: Tables) -> Measurement:
    found = _mean(tables)
    if found.value < 9.0:
        raise MissingData("the chains are too short")
    return found


def _by_presence(tables: Tables) -> Measurement:
    """Reads other rows where it is told that some are there."""
    return _mean(tables) if tables.summary.holds("ess", case="b") else Measurement(0.0, 0.1)


def _response(measure: object, low: float, high: float = float("inf"), kind: str = "I") -> list[Response]:
    line = {"claim_id": "X-1", "setting": "s", "low": low, "high": high, "kind": kind}
    return list(responses(pd.DataFrame([line]), {"X-1": {"s": measure}}, TABLES))  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("measure", "low", "verdict"),
    [
        (_mean, 9.0, "reproduced"),
        (_mean, 20.0, "not reproduced"),
        (_ratio, 1.5, "reproduced"),
        (_by_presence, 9.0, "reproduced"),
    ],
)
def test_a_measured_value_moves_and_its_verdict_turns(measure: object, low: float, verdict: str) -> None:
    (found,) = _response(measure, low)
    assert (found.verdict, found.moves, found.is_constant) == (verdict, True, False)
    assert found.changed_by


@pytest.mark.parametrize(
    ("measure", "low", "moves"),
    [(_settings, 9.0, False), (_clipped, 9.0, True), (_favourable, 8.0, True)],
    ids=["settings alone", "never below the band", "unfavourable values are dropped"],
)
def test_what_cannot_fail_is_found(measure: object, low: float, moves: bool) -> None:
    (found,) = _response(measure, low)
    assert (found.verdict, found.moves, found.is_constant) == ("reproduced", moves, True)


def test_a_band_that_holds_everything_is_found() -> None:
    (found,) = _response(_mean, -1e300)
    assert found.is_constant


def test_a_comparison_of_groups_is_turned_by_a_change_of_one_of_them() -> None:
    # Scales cancel in the ratio, and random factors make its error large: the smaller group must become the larger.
    (found,) = _response(lambda t: ratio_of_means(*(_values(t, c).to_numpy()[:2] for c in "ab")), 1.0)
    assert not found.is_constant


def test_an_unknown_error_decides_nothing_but_the_value_must_move() -> None:
    def unknown(tables: Tables) -> Measurement:
        return _mean(tables)._replace(error=float("nan"))

    (found,) = _response(unknown, 9.0)
    assert (found.verdict, found.error_known, found.is_constant) == ("inconclusive", False, False)
    (found,) = _response(lambda _: Measurement(1.0, float("nan")), 9.0)
    assert found.is_constant


def test_perturbations_that_draw_random_numbers_draw_their_own() -> None:
    seen: list[tuple[float, ...]] = []

    def seeing(tables: Tables) -> Measurement:
        values = _values(tables, "a").to_numpy()
        seen.append(tuple(values))
        return Measurement(float(values.mean()), 0.1)

    _response(seeing, -1e300)  # a band that holds everything, so that all are tried
    # Before the perturbations, which come in their order, it is read twice as it is.
    tried = dict(zip(PERTURBATIONS, seen[2:], strict=False))
    drawn = [values for name, values in tried.items() if "random factor" in name]
    assert len(set(drawn)) == len(drawn) == 24


def test_exact_values_times_and_what_is_missing_are_left_out() -> None:
    def missing(tables: Tables) -> Measurement:
        raise MissingData("not run")

    assert _response(lambda _: exact(10.0), 9.0) == []
    assert _response(_mean, 9.0, kind="W") == []
    assert _response(missing, 9.0) == []


def test_shares_stay_shares_and_change_much() -> None:
    shares = np.array([0.1, 0.3, 0.5, 0.7])
    for power in ("0.02", "0.2", "5", "50"):
        changed = GROUP_PERTURBATIONS[f"shares to the power {power}"](shares, np.random.default_rng(0))
        assert ((changed > 0.0) & (changed < 1.0)).all()
        assert (np.abs(changed - shares) > 0.2).any()
    assert GROUP_PERTURBATIONS["shares to the power 5"](np.array([3.0]), np.random.default_rng(0)) == 3.0


def test_the_largest_values_are_kept_and_the_others_a_tenth() -> None:
    change = GROUP_PERTURBATIONS["all but the largest 0.25 a tenth"]
    found = change(np.arange(1.0, 9.0), np.random.default_rng(0))
    np.testing.assert_allclose(found, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 7.0, 8.0])
