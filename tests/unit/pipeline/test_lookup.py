"""Quantities are found by name and setting, and what is missing is said."""

import numpy as np
import pandas as pd
import pytest

from auxmc_pipeline.lookup import MissingData, find, rows_of, scalar

TABLE = pd.DataFrame(
    {
        "case": ["a", "a", "a", "b"],
        "quantity": ["ess", "ess", "ess", "ess"],
        "method": ["pm_mh", "pm_mh", "apm_mi_mh", "pm_mh"],
        "step_size": [0.1, 0.3, 0.1, 0.1],
        "chain": [1, 0, 0, 0],
        "value": [1.0, 2.0, 3.0, np.nan],
    }
)


def test_rows_are_found_by_text_and_by_number_to_rounding() -> None:
    assert rows_of(TABLE, "ess", method="pm_mh", step_size=0.1 + 1e-12)["case"].tolist() == ["a", "b"]
    with pytest.raises(MissingData, match=r"ess for method pm_mh, step_size 0.2: not run at this preset"):
        rows_of(TABLE, "ess", method="pm_mh", step_size=0.2)
    with pytest.raises(MissingData, match="ess for scheme code"):
        rows_of(TABLE, "ess", scheme="code")


def test_a_quantity_becomes_an_array_in_the_order_of_its_rows() -> None:
    array = find(TABLE, "a", "ess", "chain", method="pm_mh")
    assert array is not None
    assert array["chain"].values.tolist() == [1, 0]
    assert array.values.tolist() == [1.0, 2.0]
    assert find(TABLE, "c", "ess", "chain") is None
    assert find(TABLE, "a", "ess", "draw") is None
    assert scalar(TABLE, "b", "method") == "pm_mh"
    assert scalar(TABLE, "c", "method") is None
