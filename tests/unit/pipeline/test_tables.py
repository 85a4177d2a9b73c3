"""Tables of results: quantities by name and setting, replicates of sweeps, footers of figures."""

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from auxmc_pipeline.footer import chain_lengths, footer
from auxmc_pipeline.measuring import standard_error
from auxmc_pipeline.steps.sweep import sweep_table
from auxmc_pipeline.tables import MissingData, Tables, replicate_columns

NAN = float("nan")
TABLES = Tables(
    {
        "chain": pd.DataFrame(
            {
                "case": ["a", "a", "a", "b"],
                "method": ["pm_mh", "pm_mh", "apm_mi_mh", "pm_mh"],
                "step_size": [0.1, 0.3, 0.1, 0.1],
                "chain": [1, 0, 0, 0],
                "ess": [1.0, 2.0, 3.0, np.nan],
            }
        ),
        "point": pd.DataFrame({"case": ["a", "a", "b"], "log_z": [5.0, 5.0, 6.0]}),
        "settings": pd.DataFrame(
            {"case": ["nuts", "ais"], "preset": "quick", "n_chains": [4, 8], "n_draws": [100, 10]}
        ),
    }
)


def test_rows_are_found_by_text_by_number_to_rounding_and_by_several_values():
    found = TABLES.rows("chain", "ess", method="pm_mh", step_size=0.1 + 1e-12)
    assert found["case"].tolist() == ["a"]
    assert TABLES.rows("chain", method=("pm_mh", "x"))["case"].tolist() == ["a", "a", "b"]
    assert TABLES.values("ess", case="a", method="pm_mh").tolist() == [1.0, 2.0]


def test_what_is_missing_is_named():
    with pytest.raises(MissingData, match=r"ess for method pm_mh, step_size 0.2: not run at this preset"):
        TABLES.rows("chain", "ess", method="pm_mh", step_size=0.2)
    with pytest.raises(MissingData, match="ess for scheme code"):
        TABLES.rows("chain", "ess", scheme="code")
    with pytest.raises(MissingData, match="no table 'draw'"):
        TABLES.array("ess", "draw")
    with pytest.raises(MissingData, match="acceptance: not recorded by this run"):
        TABLES.value("acceptance")
    with pytest.raises(MissingData, match="log_z for case d: not run"):
        TABLES.value("log_z", case="d")
    assert TABLES.get("draw", ()) == ()
    with pytest.raises(MissingData, match="settings for case c: not run"):
        TABLES.setting("n_draws", case="c")


def test_a_quantity_becomes_an_array_in_the_order_of_its_rows():
    array = TABLES.array("ess", "chain", case="a", method="pm_mh")
    assert array["chain"].values.tolist() == [1, 0]
    assert array.values.tolist() == [1.0, 2.0]
    assert TABLES.value("log_z", case="a") == 5.0
    assert TABLES.setting("n_chains", case="ais") == 8


def test_several_values_where_one_is_asked_for_are_rejected():
    with pytest.raises(ValueError, match="log_z: expected one value, got 2"):
        TABLES.value("log_z")
    with pytest.raises(ValueError, match="setting n_draws has several values: 100, 10"):
        TABLES.setting("n_draws")


def rows(quantity, value, case="a", **columns):
    return {"case": case, "numbers": "n", **columns, "quantity": quantity, "unit": "", "value": value}


def points(table, quantity):
    found = table[table["quantity"] == quantity]
    return dict(zip(found["coordinate"], found["value"], strict=True))


@pytest.mark.parametrize(
    ("values", "mean", "error"),
    [
        ([10.0, 12.0, 17.0], 13.0, standard_error([10.0, 12.0, 17.0])),
        ([10.0, 12.0, NAN, NAN], NAN, NAN),
        ([1.0], 1.0, NAN),
    ],
)
def test_values_are_averaged_over_replicates_unless_one_is_unknown(values, mean, error):
    table = pd.DataFrame([rows("ess", x, step=0.1, chain=i) for i, x in enumerate(values)])
    found = sweep_table(table, ["step"]).iloc[0]
    assert (found["n_replicates"], found["coordinate"]) == (len(values), "")
    np.testing.assert_array_equal(found[["value", "standard_error"]].astype(float), [mean, error])


def test_what_varies_inside_a_case_stays_apart_under_its_name():
    table = pd.DataFrame(
        [
            *(rows("mean", x, parameter=f"z{i}", method="a", seed=1) for i, x in enumerate([1.0, 2.0])),
            *(rows("accept", x, noise=x, method="a", seed=1) for x in (2.0, 10.0, 0.5)),
            *(rows("both", x, noise=x, parameter="z1", seed=1) for x in (0.5, 2.0)),
            *(rows("mean", x, case="b", parameter=f"z{i}", method="b", seed=2) for i, x in enumerate([3.0])),
        ]
    )
    found = sweep_table(table[table["case"] == "a"], ["method"])
    assert points(found, "mean") == {"z0": 1.0, "z1": 2.0}
    # In the order of the rows, and without the setting that is the same in all.
    assert list(points(found, "accept")) == ["noise = 2", "noise = 10", "noise = 0.5"]
    assert set(points(found, "both")) == {"noise = 0.5", "noise = 2"}
    # A case with one value has it under the same name as the others.
    of_both = sweep_table(table, ["method"])
    assert of_both[of_both["method"] == "b"]["coordinate"].tolist() == ["z0"]


def test_runs_that_have_names_are_no_replicates():
    numbered = pd.DataFrame([rows("n_failures", 1.0, run=i) for i in range(3)])
    named = pd.DataFrame([rows("n_failures", 1.0, run=name) for name in ("forward", "reverse")])
    assert (replicate_columns(numbered), replicate_columns(named)) == (["run"], [])
    assert list(points(sweep_table(named, []), "n_failures")) == ["forward", "reverse"]


def test_the_preset_and_the_details_are_written_and_empty_details_left_out():
    written = []
    for tables in (TABLES, Tables({})):
        figure = Figure()
        footer(figure, tables, chain_lengths(tables, case="nuts"), "")
        written.append(figure.texts[-1].get_text())
    assert written == ["preset quick; 4 chains of 100 iterations", "preset unknown"]
    assert [chain_lengths(TABLES, case=case) for case in ("ais", "hmc")] == ["8 chains of 10 iterations", ""]
