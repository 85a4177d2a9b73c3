"""Tables of sweeps: replicates are averaged, and nothing else is."""

import math

import pandas as pd
import pytest

from auxmc_pipeline.error_rules import standard_error
from auxmc_pipeline.jobs import PUBLISHED
from auxmc_pipeline.tidy import replicate_columns, sweep_table


def rows(quantity: str, value: float, case: str = "a", **columns: object) -> dict[str, object]:
    return {"case": case, "numbers": "n", **columns, "quantity": quantity, "unit": "", "value": value}


def points(table: pd.DataFrame, quantity: str) -> dict[str, float]:
    found = table[table["quantity"] == quantity]
    return dict(zip(found["coordinate"], found["value"], strict=True))


def test_values_are_averaged_over_replicates_with_the_error_of_few() -> None:
    table = pd.DataFrame(
        [rows("ess", value, step=0.1, chain=i) for i, value in enumerate([10.0, 12.0, 17.0])]
    )
    found = sweep_table(table, ["step"]).iloc[0]
    assert (found["value"], found["n_replicates"], found["coordinate"]) == (13.0, 3, "")
    assert found["standard_error"] == standard_error([10.0, 12.0, 17.0])


def test_an_unknown_replicate_makes_the_mean_unknown() -> None:
    values = [10.0, 12.0, math.nan, math.nan]
    found = sweep_table(pd.DataFrame([rows("ess", x, chain=i) for i, x in enumerate(values)]), []).iloc[0]
    assert math.isnan(found["value"])
    assert math.isnan(found["standard_error"])
    assert found["n_replicates"] == 4


def test_an_error_from_one_replicate_is_unknown() -> None:
    assert math.isnan(sweep_table(pd.DataFrame([rows("ess", 1.0, chain=0)]), [])["standard_error"].item())


def test_what_varies_inside_a_case_stays_apart_under_its_name() -> None:
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


def test_runs_that_have_names_are_no_replicates() -> None:
    numbered = pd.DataFrame([rows("n_failures", 1.0, run=i) for i in range(3)])
    named = pd.DataFrame([rows("n_failures", 1.0, run=name) for name in ("forward", "reverse")])
    assert (replicate_columns(numbered), replicate_columns(named)) == (["run"], [])
    assert list(points(sweep_table(named, []), "n_failures")) == ["forward", "reverse"]


@pytest.mark.parametrize(
    ("study", "axes", "quantity", "coordinates"),
    [
        ("generalised_lambda", ["method", "prior", "step_size"], "posterior_mean", ["z1", "z2", "z3", "z4"]),
        ("manifold_illustrations", ["design"], "branch_changes_per_iteration", ["noise = 0", "noise = 0.25"]),
        ("manifold_illustrations", ["design"], "crossings", [""]),
        (
            "tempering_illustration",
            ["design"],
            "acceptance",
            ["log_zeta = -5", "log_zeta = 0", "log_zeta = 5"],
        ),
        ("image_models", ["model"], "joint_log_evidence", ["st", "gibbs_ct", "ct_hmc"]),
    ],
)
def test_published_tables_keep_unlike_values_apart(
    study: str, axes: list[str], quantity: str, coordinates: list[str]
) -> None:
    table = pd.read_parquet(PUBLISHED / "quick" / study / "summary.parquet")
    of_quantity = table[table["quantity"] == quantity]
    found = sweep_table(of_quantity[of_quantity["case"] == of_quantity["case"].iloc[0]], axes)
    assert found["coordinate"].tolist()[: len(coordinates)] == coordinates
