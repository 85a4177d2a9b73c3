"""Tables and figures of results: statistics of chains, quantities by name and setting, published values, sweeps."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

from auxmc.plots.style import use_style
from auxmc_pipeline import chain_statistics as stats
from auxmc_pipeline.catalogue import STUDIES, studies
from auxmc_pipeline.chains import Chains
from auxmc_pipeline.footer import chain_lengths, footer
from auxmc_pipeline.judging.documents import read_documents
from auxmc_pipeline.measuring import standard_error
from auxmc_pipeline.needs import number
from auxmc_pipeline.plots.looks import METHOD_COLOURS
from auxmc_pipeline.published_values import COLUMNS, EXTRA, published_series, published_value
from auxmc_pipeline.steps.sweep import sweep_table
from auxmc_pipeline.sweep_figure import sweep_figure
from auxmc_pipeline.tables import MissingData, Tables, replicate_columns

N_CHAINS, N_DRAWS = 4, 2000
NAN = float("nan")
MEAN, SD = np.array([1.0, -3.0]), np.array([2.0, 0.5])


def chains(axes, n_chains):
    shape = (*(len(values) for values in axes.values()), n_chains, N_DRAWS)
    rng = np.random.default_rng(5)
    draws = {"x": MEAN + SD * rng.normal(size=(*shape, 2)), "accepted": np.ones(shape, bool)}
    draws["n_gradients"] = np.full(shape, 3, np.int8)
    return Chains(draws, axes, compile_s=1.0, run_s=8.0)


@pytest.fixture(scope="module")
def draws():
    made = chains({"step_size": np.array([0.1, 0.2])}, N_CHAINS)
    return stats.labelled_draws(made, {"coordinate": ["a", "b"]}, {"x": ["coordinate"]})


def test_draws_have_the_dims_of_sweep_chain_and_draw(draws):
    assert draws["x"].dims == ("step_size", "chain", "draw", "coordinate")
    assert draws["accepted"].dims == ("step_size", "chain", "draw")
    assert draws["coordinate"].values.tolist() == ["a", "b"]
    assert draws["chain"].values.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["chain", "start"])
def test_chains_that_are_sweep_points_become_the_dim_chain(name):
    made = chains({"step_size": np.array([0.1, 0.2]), name: np.arange(3.0)}, 1)
    found = stats.labelled_draws(made, {}, {"x": ["coordinate"]}, chain=name)
    assert found["x"].dims == ("step_size", "chain", "draw", "coordinate")
    assert found["chain"].values.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(found["x"], made.draws["x"][:, :, 0])


def test_moments_of_independent_draws_are_those_of_their_distribution(draws):
    by_chain = stats.chain_moments(draws["x"])
    assert by_chain["ess"].dims == ("step_size", "chain", "coordinate")
    np.testing.assert_allclose(by_chain["ess"], N_DRAWS, rtol=0.3)
    names = ("posterior_mean", "posterior_sd", "mcse_mean", "mcse_sd", "bulk_ess", "tail_ess", "r_hat")
    found = stats.pooled(draws["x"], *names)
    assert all(array.dims == ("step_size", "coordinate") for array in found.values())
    np.testing.assert_allclose(found["posterior_sd"], np.broadcast_to(SD, (2, 2)), rtol=0.05)
    assert (np.abs(found["posterior_mean"] - MEAN) < 6.0 * found["mcse_mean"]).all()
    np.testing.assert_allclose(found["r_hat"], 1.0, atol=0.01)
    np.testing.assert_allclose(stats.thinned_r_hat(draws["x"], 500), 1.0, atol=0.02)
    error = stats.error_of_mean(found["posterior_sd"], by_chain["ess"])
    np.testing.assert_allclose(error, found["mcse_mean"], rtol=0.2)


def test_chains_apart_have_a_large_scale_reduction(draws):
    agree = stats.scale_reduction(draws["x"], "coordinate")
    assert agree["psrf_multivariate"].dims == ("step_size",)
    apart = stats.scale_reduction(draws["x"] + 10.0 * draws["chain"], "coordinate")
    for name in ("psrf", "psrf_upper", "psrf_multivariate"):
        assert (agree[name] < 1.05).all()
        assert (apart[name] > 3.0).all()
    assert "psrf_multivariate" not in stats.scale_reduction(draws["x"])


def test_an_error_of_a_mean_is_missing_where_no_chain_moved():
    ess = xr.DataArray([[0.0, 40.0], [0.0, 60.0]], dims=("chain", "coordinate"))
    found = stats.error_of_mean(xr.DataArray([1.0, 2.0], dims="coordinate"), ess)
    assert np.isnan(found[0])
    assert float(found[1]) == 0.2


def test_a_state_is_the_same_if_all_its_coordinates_are():
    series = xr.DataArray([[[1.0, 1.0], [1.0, 2.0], [1.0, 2.0]]], dims=("chain", "draw", "coordinate"))
    assert stats.longest_run(series, "coordinate").values.tolist() == [2]
    assert stats.longest_run(series).values.tolist() == [[3, 2]]


def test_time_is_shared_by_work():
    seconds = stats.fraction_of_time(8.0, xr.DataArray([1, 3], dims="chain"))
    assert seconds.values.tolist() == [2.0, 6.0]


def test_histograms_count_the_draws_of_each_chain():
    series = xr.DataArray([[0.1, 0.2, 1.5], [1.1, 1.2, 7.0]], dims=("chain", "draw"))
    found = stats.histogram(series, np.array([0.0, 1.0, 2.0]))
    assert found.values.tolist() == [[2, 1], [0, 2]]
    assert found["bin"].values.tolist() == [0.5, 1.5]


def test_thinned_draws_are_evenly_spaced():
    data = xr.DataArray(np.arange(10), dims="draw")
    assert stats.thinned(data, 4).values.tolist() == [0, 3, 6, 9]
    assert stats.thinned(data, 4, last=True).values.tolist() == [2, 5, 8]
    assert stats.thinned(data, 20).values.tolist() == list(range(10))
    assert stats.thinned(data, 4)["draw"].values.tolist() == [0, 1, 2, 3]


def test_a_function_of_one_chain_array_may_have_several_results(draws):
    low, high = stats.over_chains(lambda x: (x.min(), x.max()), draws["x"], [], [], one_by_one=True)
    xr.testing.assert_equal(low, draws["x"].min(["chain", "draw"]))
    xr.testing.assert_equal(high, draws["x"].max(["chain", "draw"]))


def test_groups_are_those_of_arviz_and_hold_few_numbers(draws):
    groups = stats.arviz_groups(draws, ["x"], prefix="warmup_")
    assert set(groups) == {"warmup_posterior", "warmup_sample_stats"}
    assert groups["warmup_posterior"]["x"].dims == ("chain", "draw", "step_size", "coordinate")
    names = "accepted n_gradients chain draw step_size"
    assert set(groups["warmup_sample_stats"].variables) == set(names.split())
    assert stats.arviz_groups(draws, ["x"], most=draws["x"].size)
    assert stats.arviz_groups(draws, ["x"], most=draws["x"].size - 1) == {}


def test_units_are_those_of_the_project_and_of_the_study():
    found = stats.with_units({"ess": 3.0, "misfit": 1.0, "n_failures": 0}, {"n_failures": "proposals"})
    units = {name: array.attrs["units"] for name, array in found.data_vars.items()}
    assert units == {"ess": "draws", "misfit": "", "n_failures": "proposals"}
    assert stats.UNITS["ess"] == "draws"


def test_a_sweep_over_one_point_leaves_chains_without_it():
    made = chains({"step_size": np.array([0.1])}, N_CHAINS)
    found = stats.labelled_draws(stats.without_sweep(made), {}, {"x": ["coordinate"]})
    assert found["x"].dims == ("chain", "draw", "coordinate")
    with pytest.raises(ValueError, match="step_size has 2 values"):
        stats.without_sweep(chains({"step_size": np.array([0.1, 0.2])}, 1))


CHAINS = [("a", "pm_mh", 0.1, 1, 1.0), ("a", "pm_mh", 0.3, 0, 2.0), ("a", "apm_mi_mh", 0.1, 0, 3.0)]
CHAINS += [("b", "pm_mh", 0.1, 0, NAN)]
SETTINGS = {"case": ["nuts", "ais"], "preset": "quick", "n_chains": [4, 8], "n_draws": [100, 10]}
TABLES = Tables(
    {
        "chain": pd.DataFrame(CHAINS, columns=["case", "method", "step_size", "chain", "ess"]),
        "point": pd.DataFrame({"case": ["a", "a", "b"], "log_z": [5.0, 5.0, 6.0]}),
        "settings": pd.DataFrame(SETTINGS),
    }
)


def test_rows_are_found_by_text_by_number_to_rounding_and_by_several_values():
    found = TABLES.rows("chain", "ess", method="pm_mh", step_size=0.1 + 1e-12)
    assert found["case"].tolist() == ["a"]
    assert TABLES.rows("chain", method=("pm_mh", "x"))["case"].tolist() == ["a", "a", "b"]
    assert TABLES.values("ess", case="a", method="pm_mh").tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("read", "error", "message"),
    [
        (lambda t: t.rows("chain", "ess", method="x", step_size=0.2), MissingData, "method x, step_size 0.2"),
        (lambda t: t.rows("chain", "ess", scheme="code"), MissingData, "ess for scheme code"),
        (lambda t: t.array("ess", "draw"), MissingData, "no table 'draw'"),
        (lambda t: t.value("acceptance"), MissingData, "acceptance: not recorded by this run"),
        (lambda t: t.value("log_z", case="d"), MissingData, "log_z for case d: not run at this preset"),
        (lambda t: t.setting("n_draws", case="c"), MissingData, "settings for case c: not run"),
        (lambda t: t.value("log_z"), ValueError, "log_z: expected one value, got 2"),
        (lambda t: t.setting("n_draws"), ValueError, "setting n_draws has several values: 100, 10"),
    ],
)
def test_what_is_missing_or_not_unique_is_named(read, error, message):
    with pytest.raises(error, match=message):
        read(TABLES)


def test_a_quantity_becomes_an_array_in_the_order_of_its_rows():
    array = TABLES.array("ess", "chain", case="a", method="pm_mh")
    assert array["chain"].values.tolist() == [1, 0]
    assert array.values.tolist() == [1.0, 2.0]
    assert TABLES.value("log_z", case="a") == 5.0
    assert TABLES.setting("n_chains", case="ais") == 8
    assert TABLES.get("draw", ()) == ()


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


@pytest.fixture(autouse=True)
def style():
    with use_style():
        yield


def table_of(quantities=("ess",), coordinates=("",), **axes):
    rows = [
        (*values, quantity, coordinate, 1.0 + i, 0.1)
        for i, values in enumerate(itertools.product(*axes.values()))
        for quantity, coordinate in itertools.product(quantities, coordinates)
    ]
    return pd.DataFrame(rows, columns=[*axes, "quantity", "coordinate", "value", "standard_error"])


def test_a_panel_per_quantity_and_a_line_per_combination():
    table = table_of(("ess", "acceptance_rate"), step_size=[0.4, 0.1], method=["apm_mi_mh", "pm_mh"])
    figure = sweep_figure(table, ["step_size", "method"], ["acceptance_rate", "ess"])
    assert [panel.get_ylabel() for panel in figure.axes] == ["acceptance rate", "ESS"]
    assert [panel.get_xlabel() for panel in figure.axes] == ["step size"] * 2
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["PM MH", "APM MI+MH"]
    first = figure.axes[0].lines[0]
    np.testing.assert_array_equal([first.get_xdata(), first.get_ydata()], [[0.1, 0.4], [4.0, 2.0]])
    assert to_hex(first.get_color()) == METHOD_COLOURS["pm_mh"].lower()
    (bar, _) = figure.axes[0].collections[0].get_segments()
    np.testing.assert_allclose(bar, [[0.1, 3.9], [0.1, 4.1]])


@pytest.mark.parametrize(
    ("values", "scale"),
    [([1, 8, 64], "log"), ([1, 8, 30], "linear"), ([0, 64], "linear"), ([-1, 64], "linear")],
)
def test_a_wide_positive_range_is_logarithmic(values, scale):
    figure = sweep_figure(table_of(n_importance=values), ["n_importance"], ["ess"])
    assert figure.axes[0].get_xscale() == scale


def test_the_horizontal_axis_is_that_of_the_numbers_with_most_values():
    table = table_of(method=["pm_mh", "apm_mi_mh"], n_importance=[1, 8], step_size=[0.1, 0.2, 0.4])
    figure = sweep_figure(table, ["method", "n_importance", "step_size"], ["ess"])
    assert figure.axes[0].get_xlabel() == "step size"
    assert len(figure.axes[0].lines) == 4


@pytest.mark.parametrize("axes", [{}, {"step_size": [0.4]}, {"method": ["pm_mh"]}])
@pytest.mark.parametrize("error", [0.1, np.nan])
def test_one_point_is_drawn_without_a_legend(axes, error):
    figure = sweep_figure(table_of(**axes).assign(standard_error=error), list(axes), ["ess"])
    (line,) = figure.axes[0].lines
    assert line.get_marker() != "None"
    assert line.get_ydata() == [1.0]
    assert not figure.legends
    figure.draw_without_rendering()


@pytest.mark.parametrize(
    ("coordinates", "titles"),
    [
        ((0, 1), ["coordinate 0", "coordinate 1"]),
        (("z1", "noise = 0.5"), ["z1", "noise = 0.5"]),
        (range(9), ["mean over 9 coordinates"]),
    ],
)
@pytest.mark.parametrize("axes", [{}, {"step_size": [1, 2]}])
def test_few_coordinates_have_a_panel_each_and_many_their_mean(coordinates, titles, axes):
    figure = sweep_figure(table_of(coordinates=coordinates, **axes), list(axes), ["ess"])
    assert [panel.get_title() for panel in figure.axes] == titles
    for panel in figure.axes:
        np.testing.assert_allclose(panel.lines[0].get_ydata(), [1.0, 2.0] if axes else [1.0])


def test_panels_that_cannot_be_drawn_say_why():
    without = sweep_figure(table_of(step_size=[1, 2]).assign(value=NAN), ["step_size"], ["ess", "unknown"])
    some = sweep_figure(table_of(coordinates=range(9), step_size=[1, 2]).iloc[:-1], ["step_size"], ["ess"])
    words = [panel.texts[0].get_text().replace("\n", " ") for panel in without.axes + some.axes]
    assert words[:2] == ["ESS: no finite values", "unknown: no finite values"]
    assert words[2].startswith("ESS: coordinates that are not at all points")
    without.draw_without_rendering()


@pytest.mark.parametrize(
    ("axes", "quantities", "words"),
    [
        (["step_size"], ["ess"], "two rows for quantity ess at step_size = 1"),
        (["width"], ["ess"], "must have the columns width; it has step_size"),
        (["step_size"], [], "at least one quantity"),
    ],
)
def test_tables_that_do_not_fit_are_rejected(axes, quantities, words):
    with pytest.raises(ValueError, match=words):
        sweep_figure(table_of(step_size=[1, 2], seed=[0, 1]), axes, quantities)


EXTRAS = sorted(path.parent.name for path in STUDIES.glob(f"*/{EXTRA}"))


def csv_rows(study, name):
    return pd.read_csv(STUDIES / study / name, dtype=str, keep_default_na=False).to_dict("records")


@pytest.mark.parametrize("study", studies())
def test_values_are_those_of_the_claims(study):
    rows = [row for row in csv_rows(study, "claims.csv") if row["document"]]
    names = {document.key: document.name for document in read_documents()}
    for row in rows:
        key = row["claim_id"], row["setting"]
        if math.isfinite(number(row["published"])):
            found = published_value(study, *key)
            assert (found.value, found.key) == (float(row["published"]), key)
            assert found.document == names[row["document"]]
        else:
            with pytest.raises(LookupError, match="no number is published"):
                published_value(study, *key)


@pytest.mark.parametrize("study", EXTRAS)
def test_further_values_are_numbers_of_documents_that_no_claim_has(study):
    rows, claims = csv_rows(study, EXTRA), csv_rows(study, "claims.csv")
    assert tuple(rows[0]) == COLUMNS
    keys, known = ([(row["claim_id"], row["setting"]) for row in table] for table in (rows, claims))
    assert len(set(keys)) == len(keys)
    assert not set(keys) & set(known)
    assert {claim_id for claim_id, _ in keys} <= {claim_id for claim_id, _ in known}
    for row in rows:
        found = published_value(study, row["claim_id"], row["setting"])
        assert "" not in (found.document, row["place"], row["quantity"])
        assert math.isnan(found.low) == math.isnan(found.high)
        assert math.isnan(found.low) or found.low <= found.value <= found.high


def test_curves_of_the_thesis_are_found_by_figure_and_name():
    assert EXTRAS
    curve = published_series("gp_probit", "3.11a", "apm_ss_ss")
    assert curve.x.tolist() == list(range(1, 11))
    assert ((curve.low < curve.y) & (curve.y < curve.high)).all()
    with pytest.raises(LookupError, match=r"figure 3.11a, 'hmc': expected a curve of .*published_curves.csv"):
        published_series("gp_probit", "3.11a", "hmc")
