"""Verdicts follow from value, error and band alone."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from auxmc_pipeline.claims import Measurement, read_claims, recorded
from auxmc_pipeline.error_rules import rank_correlation, standard_error
from auxmc_pipeline.tables import MissingData, Tables
from auxmc_pipeline.verdicts import judge, verdict

NAN = float("nan")


@pytest.mark.parametrize(
    ("value", "error", "low", "high", "kind", "expected"),
    [
        (1.0, 0.1, 0.5, 1.5, "I", "reproduced"),
        (2.0, 0.1, 0.5, 1.5, "I", "not reproduced"),
        (1.4, 0.1, 0.5, 1.5, "I", "inconclusive"),
        (1.6, 0.1, 0.5, 1.5, "I", "inconclusive"),
        (1.5, 0.0, 0.5, 1.5, "I", "reproduced"),
        (1.5, NAN, 0.5, 1.5, "Q", "reproduced"),
        (9.0, 0.1, 5.0, NAN, "I", "reproduced"),
        (9.0, 0.1, NAN, 5.0, "I", "not reproduced"),
        (NAN, NAN, 0.0, 1.0, "I", "not measured"),
        (NAN, NAN, 0.0, 1.0, "W", "not measured"),
        (math.inf, NAN, NAN, 1.0, "I", "not reproduced"),
        (99.0, 0.0, 0.0, 1.0, "W", "timing"),
    ],
)
def test_verdict(value: float, error: float, low: float, high: float, kind: str, expected: str) -> None:
    assert verdict(Measurement(value, error), low, high, kind) == expected


def _claims(tmp_path: Path, **changes: object) -> pd.DataFrame:
    row = {
        "claim_id": "X-1",
        "setting": "N=1",
        "statement": "s",
        "source": "t",
        "published": "1",
        "low": 0.5,
        "high": 1.5,
        "kind": "I",
    }
    pd.DataFrame([row | changes]).to_csv(tmp_path / "c.csv", index=False)
    return read_claims(tmp_path / "c.csv")


def test_a_claim_is_a_conclusion_unless_its_table_says_otherwise(tmp_path: Path) -> None:
    assert _claims(tmp_path)["nature"].tolist() == ["conclusion"]
    assert _claims(tmp_path, nature="printed")["nature"].tolist() == ["printed"]
    with pytest.raises(
        ValueError, match=r"nature must be one of conclusion, printed, reading, got \['misprint'\]"
    ):
        _claims(tmp_path, nature="misprint")


def test_judge_measures_each_setting(tmp_path: Path) -> None:
    empty = pd.DataFrame()
    table = judge(
        _claims(tmp_path), {"X-1": {"N=1": lambda _: Measurement(1.0, 0.1)}}, Tables.of(empty, empty)
    )
    assert table["verdict"].tolist() == ["reproduced"]


def test_claims_and_functions_must_match(tmp_path: Path) -> None:
    empty = pd.DataFrame()
    with pytest.raises(ValueError, match="claims without a function"):
        judge(_claims(tmp_path), {}, Tables.of(empty, empty))
    with pytest.raises(ValueError, match="X-1: nothing measures the setting 'N=1'"):
        judge(_claims(tmp_path), {"X-1": {}}, Tables.of(empty, empty))


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="kind must be I, W or Q, got \\['Z'\\]"):
        _claims(tmp_path, kind="Z")


def test_what_a_run_recorded_is_measured_with_its_recorded_error_or_none() -> None:
    rows = [("share", 10, 0.3), ("share_error", 10, 0.1), ("share", 20, 0.4), ("share_error", 20, 0.2)]
    summary = pd.DataFrame(rows, columns=["quantity", "n_rows", "value"])
    tables = Tables.of(summary, pd.DataFrame())
    assert recorded("share", "share_error", n_rows=20)(tables) == Measurement(0.4, 0.2)
    assert recorded("share", note="exact", n_rows=10)(tables) == Measurement(0.3, 0.0, "exact")
    with pytest.raises(MissingData, match="share for n_rows 30: not run at this preset"):
        recorded("share", n_rows=30)(tables)


def test_a_single_replicate_has_no_error() -> None:
    assert math.isnan(standard_error([1.0]))


def test_a_rank_correlation_has_the_error_of_its_replicates() -> None:
    sure = rank_correlation({n: 10.0 * n + np.arange(5.0) for n in (1, 2, 3)})
    assert sure[:2] == (1.0, 0.0)
    # Two of the three hardly differ: their order, and with it a correlation of 1 or 1/2, is left to chance.
    unsure = rank_correlation(
        {1: [0.0, 1.0, 2.0, 3.0], 2: [9.0, 10.0, 11.0, 12.0], 3: [9.1, 10.1, 11.1, 12.1]}
    )
    assert unsure.value == 1.0
    assert 0.2 < unsure.error < 0.6
    assert math.isnan(rank_correlation({1: [0.0], 2: [1.0], 3: [2.0]}).error)
    assert rank_correlation({1: [0.0, 0.0], 2: [0.0, 0.0]}).value == 0.0
    with pytest.raises(ValueError, match="needs at least one replicate"):
        rank_correlation({1: [], 2: [1.0]})
