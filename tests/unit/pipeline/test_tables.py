"""Quantities are found by name and setting, and what is missing is said."""

import numpy as np
import pandas as pd
import pytest

from auxmc_pipeline.tables import MissingData, Table

TABLE = Table(
    pd.DataFrame(
        {
            "case": ["a", "a", "a", "b"],
            "quantity": ["ess", "ess", "ess", "ess"],
            "method": ["pm_mh", "pm_mh", "apm_mi_mh", "pm_mh"],
            "step_size": [0.1, 0.3, 0.1, 0.1],
            "chain": [1, 0, 0, 0],
            "value": [1.0, 2.0, 3.0, np.nan],
        }
    )
)


def test_rows_are_found_by_text_by_number_to_rounding_and_by_several_values() -> None:
    assert TABLE.rows("ess", method="pm_mh", step_size=0.1 + 1e-12)["case"].tolist() == ["a", "b"]
    assert TABLE.rows("ess", case=("a", "c"))["value"].tolist() == [1.0, 2.0, 3.0]
    assert TABLE.holds("ess", case="b")
    assert not TABLE.holds("ess", case="c")


def test_what_is_missing_is_named() -> None:
    with pytest.raises(MissingData, match=r"ess for method pm_mh, step_size 0.2: not run at this preset"):
        TABLE.rows("ess", method="pm_mh", step_size=0.2)
    with pytest.raises(MissingData, match="ess for scheme code"):
        TABLE.rows("ess", scheme="code")
    with pytest.raises(MissingData, match="ess by draw: not run"):
        TABLE.array("ess", "draw")
    with pytest.raises(MissingData, match="acceptance: not run"):
        Table(pd.DataFrame()).value("acceptance")
    with pytest.raises(MissingData, match="setting method for case c: not run"):
        TABLE.setting("method", case="c")


def test_a_quantity_becomes_an_array_in_the_order_of_its_rows() -> None:
    array = TABLE.array("ess", "chain", case="a", method="pm_mh")
    assert array["chain"].values.tolist() == [1, 0]
    assert array.values.tolist() == [1.0, 2.0]
    assert TABLE.value("ess", method="apm_mi_mh") == 3.0
    assert TABLE.setting("method", case="b") == "pm_mh"


def test_several_values_where_one_is_asked_for_are_rejected() -> None:
    with pytest.raises(ValueError, match="ess has 4 values where one is asked for"):
        TABLE.value("ess")
    with pytest.raises(ValueError, match="setting method has several values: pm_mh, apm_mi_mh"):
        TABLE.setting("method")
