"""Failures counted in the chains reach the report."""

import pandas as pd

from experiments.report import _failures


def test_failures_are_summed_by_case_and_zeros_left_out() -> None:
    rows = [
        ("first", "n_failures", 2.0),
        ("first", "n_failures", 3.0),
        ("first", "n_collapsed", 0.0),
        ("second", "n_not_finite", 7.0),
        ("second", "ess", 50.0),
    ]
    found = _failures(pd.DataFrame(rows, columns=["case", "quantity", "value"]))
    assert found == [
        {"case": "first", "what": "proposals with a numerical failure", "count": 5.0},
        {"case": "second", "what": "iterations without a finite estimate", "count": 7.0},
    ]
    assert _failures(pd.DataFrame(rows[2:3], columns=["case", "quantity", "value"])) == []
