"""Verdicts follow from value, error and band alone."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from auxmc.engine.claims import (
    Measurement,
    judge,
    mean_over_replicates,
    read_claims,
    standard_error,
    verdict,
)

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
        (NAN, NAN, 0.0, 1.0, "I", "inconclusive"),
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


def test_judge_measures_each_setting(tmp_path: Path) -> None:
    empty = pd.DataFrame()
    table = judge(_claims(tmp_path), {"X-1": lambda s, c: {"N=1": Measurement(1.0, 0.1)}}, empty, empty)
    assert table["verdict"].tolist() == ["reproduced"]


def test_claims_and_functions_must_match(tmp_path: Path) -> None:
    empty = pd.DataFrame()
    with pytest.raises(ValueError, match="claims without a function"):
        judge(_claims(tmp_path), {}, empty, empty)
    with pytest.raises(ValueError, match="X-1: nothing measured for the setting 'N=1'"):
        judge(_claims(tmp_path), {"X-1": lambda s, c: {}}, empty, empty)


def test_an_unknown_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="kind must be I, W or Q, got \\['Z'\\]"):
        _claims(tmp_path, kind="Z")


def test_errors_from_few_replicates_cover_what_a_normal_law_would() -> None:
    generator = np.random.default_rng(7)
    samples = generator.standard_normal((10_000, 3))
    covered = np.mean([abs(m.value) < 2.0 * m.error for m in map(mean_over_replicates, samples)])
    # P(|normal| < 2) = 0.9545; binomial standard error 0.0021.
    assert covered == pytest.approx(0.9545, abs=0.0125)
    plain = samples.std(axis=1, ddof=1) / np.sqrt(3.0)
    assert np.mean(np.abs(samples.mean(axis=1)) < 2.0 * plain) < 0.85
    assert math.isnan(standard_error([1.0]))
