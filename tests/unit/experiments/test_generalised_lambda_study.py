"""The generalised lambda study: tiny runs, and claims and figures on made-up tables."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure

from auxmc.driver.chains import RunContext
from auxmc.driver.results import write_result
from auxmc.plots.style import use_style
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.judging.study_tables import judge_study
from auxmc_pipeline.settings import PRESETS, SettingsError
from auxmc_pipeline.tables import Tables
from auxmc_pipeline.tidy import tidy_table
from experiments.generalised_lambda import figures, run
from experiments.generalised_lambda.lookup import chain_moment
from experiments.generalised_lambda.problem import build_problem
from experiments.generalised_lambda.reference import limit_statistics, targets
from experiments.generalised_lambda.settings import ROWS
from experiments.generalised_lambda.statistics import (
    chain_curves,
    chain_groups,
    chain_statistics,
)
from tests.unit.experiments.published_marks import drawn_as_published

STUDY = load_study("generalised_lambda")
NAMES = ["z1", "z2", "z3", "z4"]
MEANS = np.array([4.705, 0.96, 0.53, -0.16])
SDS = np.array([0.108, 0.1, 0.085, 0.075])
ERRORS = ("n_not_converged", "n_not_converged_reverse", "n_irreversible", "n_not_finite", "n_singular")


def _run(tmp_path: Path, *overrides: str):
    settings = STUDY.settings(["preset=smoke", *overrides])
    return run.run(settings, RunContext("generalised_lambda", settings.seed, tmp_path, "identity", "tiny"))


# --- made-up draws and tables --------------------------------------------------------------------------


def _draws(dims: dict[str, list], n_draws: int, counters: tuple[str, ...], scale: float = 1.0) -> xr.Dataset:
    """Independent draws of a normal posterior at every point, with constant work and flags."""
    rng = np.random.default_rng(len(counters) + n_draws)
    shape = (*(len(values) for values in dims.values()), n_draws)
    z = MEANS + scale * SDS * rng.normal(size=(*shape, 4))
    names = (*dims, "draw")
    variables = {
        "z": ((*names, "parameter"), z),
        "accepted": (names, rng.uniform(size=shape) < 0.9),
        "acceptance_probability": (names, np.full(shape, 0.9)),
        "log_density": (names, np.zeros(shape)),
        "n_evaluations": (names, np.full(shape, 10)),
        **{name: (names, np.zeros(shape, dtype=int)) for name in counters},
    }
    return xr.Dataset(variables, coords={**dims, "parameter": NAMES})


def _constrained_draws(dims: dict[str, list], n_draws: int) -> xr.Dataset:
    draws = _draws(dims, n_draws, (*ERRORS, "n_fallback", "n_projections", "n_projection_iterations"))
    draws["n_projections"] += 40
    draws["n_projection_iterations"] += 120
    draws["residual"] = xr.full_like(draws["log_density"], 1e-13)
    return draws


def _reference(n_draws: int = 60) -> dict[str, xr.Dataset]:
    rng = np.random.default_rng(3)
    names = ["exact", "cube_0.1", "gaussian_0.05", "gaussian_0.25"]
    widths = np.array([1.0, 1.02, 1.01, 1.3])[:, None]
    shift = np.array([0.0, 0.5])[:, None, None]
    mean = MEANS + shift * SDS + np.zeros((2, 4, 4))
    sd = (SDS * widths)[None] + np.zeros((2, 4, 4))
    dims, coords = (
        ("prior", "target", "parameter"),
        {
            "prior": ["strong", "weak"],
            "target": names,
            "parameter": NAMES,
        },
    )
    tolerances = [0.05, 0.1, 0.2]
    limit = np.square(tolerances)[:, None] * np.array([2.0, 0.5, 1.0, 0.2])
    statistics = {
        "reference_mean": (dims, mean),
        "reference_sd": (dims, sd),
        "reference_mcse_mean": (dims, 0.002 + np.zeros(mean.shape)),
        "reference_mcse_sd": (dims, 0.002 + np.zeros(mean.shape)),
        "limit_shift": (("limit_tolerance", "parameter"), limit),
        "limit_shift_error": (("limit_tolerance", "parameter"), 1e-5 + np.zeros(limit.shape)),
        "prior_not_finite_share": (("prior",), [0.0, 0.04]),
        "prior_over_1e10_share": (("prior",), [0.0, 0.3]),
        "data_difference": ((), 0.0),
        "n_observations": ((), 250.0),
    }
    curves = {
        "reference_z": (
            ("prior", "target", "index", "parameter"),
            mean[:, :, None] + sd[:, :, None] * rng.normal(size=(2, 4, n_draws, 4)),
        ),
        "observation": (("datum",), rng.gamma(4.0, 1.5, size=250)),
        "fresh_density": (("point",), np.full(30, 0.05)),
    }
    return {
        "statistics": xr.Dataset(statistics, coords={**coords, "limit_tolerance": tolerances}),
        "curves": xr.Dataset(curves, coords={**coords, "point": np.linspace(0.0, 20.0, 30)}),
    }


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Summary and curves as the study's cases would make them, from made-up draws."""
    folder = tmp_path_factory.mktemp("results")
    both = {"prior": ["strong", "weak"], "chain": [0, 1, 2]}
    strong = {"prior": ["strong"], "chain": [0, 1, 2]}
    steps = {"tolerance": [0.05, 0.1, 0.25], "step_size": [0.005, 0.01, 0.015, 0.02, 0.03]}
    chains = {"chain": [0, 1, 2]}
    step_draws = _draws({"prior": ["strong"], **steps, **chains}, 30, ("n_not_finite",))
    falling = xr.DataArray(
        [0.99, 0.95, 0.85, 0.6, 0.2], dims="step_size", coords={"step_size": steps["step_size"]}
    )
    step_draws["acceptance_probability"] = step_draws["acceptance_probability"] * 0.0 + falling
    step_draws["acceptance_probability"][{"step_size": 3, "chain": 2}] = 0.0
    own_steps = {"prior": ["strong"], "step_size": [0.3, 0.6, 0.9]}
    own_step_draws = _constrained_draws({**own_steps, **chains}, 30)
    own_step_draws["acceptance_probability"] = own_step_draws["acceptance_probability"] * 0.0 + xr.DataArray(
        [1.0, 0.95, 0.75], dims="step_size", coords={"step_size": own_steps["step_size"]}
    )
    abc_counters = ("n_outside_prior", "n_outside_tolerance")
    made = {
        "constrained_hmc": (_constrained_draws(both, 420), ["n_warm_up=20"]),
        "modified_abc": (_draws(both, 320, abc_counters), ["method=modified_abc", "n_warm_up=20"]),
        "abc_hmc_025": (_draws(strong, 330, ("n_not_finite",), 1.3), ["method=abc_hmc", "n_warm_up=30"]),
        "abc_hmc_005": (_draws(strong, 340, ("n_not_finite",), 1.2), ["method=abc_hmc", "n_warm_up=40"]),
        "no_warm_up": (_constrained_draws(strong, 20), ["n_warm_up=0"]),
        "step_sizes": (step_draws, ["method=abc_hmc", "n_warm_up=0"]),
        "constrained_steps": (own_step_draws, ["n_warm_up=0"]),
        "bisections": (
            _draws({"prior": ["strong"], "n_bisections": [12, 16, 24], "chain": [0, 1]}, 50, abc_counters),
            ["method=modified_abc", "n_warm_up=0"],
        ),
        "weak_starts": (
            _draws({"prior": ["weak"], "chain": [0, 1, 2]}, 60, abc_counters),
            ["method=modified_abc", "n_warm_up=0"],
        ),
    }
    made["no_warm_up"][0]["n_not_converged"][{"draw": slice(0, 4)}] = 1
    made["weak_starts"][0]["accepted"][{"chain": 1}] = False
    # Lengths and numbers of chains that are as published, or count as enough.
    said = {
        "modified_abc": 100_000,
        "abc_hmc_025": 30_000,
        "abc_hmc_005": 15_000,
        "constrained_hmc": 1000,
        "step_sizes": 300,
        "weak_starts": 5000,
    }
    for case, (draws, overrides) in made.items():
        settings = STUDY.settings(overrides)
        redraws = draws["accepted"].isel(draw=0, drop=True).astype(float)
        statistics = chain_statistics(draws, settings, 12.0, redraws)
        groups = {"statistics": statistics, "curves": chain_curves(draws, settings)}
        _write(folder, case, groups, settings, list(draws["z"].dims), said.get(case, settings.n_draws))
    reference = STUDY.settings(["design=reference", "n_prior_draws=100000"])
    _write(folder, "reference", _reference(), reference, ["prior"], reference.n_draws)
    paths = sorted(folder.glob("*.nc"))
    return Tables.of(tidy_table(paths, "statistics"), tidy_table(paths, "curves"))


def _write(
    folder: Path, case: str, groups: dict[str, xr.Dataset], settings, dims: list[str], n_draws: int
) -> None:
    scalars = {k: v for k, v in vars(settings).items() if isinstance(v, str | int | float)}
    batch = {name: [] for name in ("prior", "step_size", "tolerance", "n_bisections") if name in dims}
    steps = {"constrained_hmc": 0.6, "abc_hmc_025": 2.5e-3, "abc_hmc_005": 5e-4}
    about = scalars | {"batch": batch, "n_draws": n_draws, "n_chains": 20, "step_size": steps.get(case, 0.1)}
    write_result(folder / f"{case}.nc", groups, {"settings": about, "numbers": "digest"})


# --- statistics ----------------------------------------------------------------------------------------


def test_statistics_are_those_of_the_draws_after_the_warm_up() -> None:
    draws = _constrained_draws({"prior": ["strong"], "chain": [0, 1, 2]}, 420)
    draws["z"][{"draw": slice(0, 20)}] = 1e6
    draws["n_not_converged"][{"chain": 1, "draw": 3}] = 2
    draws["n_irreversible"][{"chain": 2, "draw": 100}] = 1
    settings = STUDY.settings(["n_warm_up=20"])
    redraws = draws["accepted"].isel(draw=0, drop=True).astype(float)
    found = chain_statistics(draws, settings, 12.0, redraws).isel(prior=0)
    kept = draws["z"].isel(prior=0, draw=slice(20, None))
    np.testing.assert_allclose(found["posterior_mean"], kept.mean(["chain", "draw"]))
    np.testing.assert_allclose(
        found["acceptance"], draws["accepted"].isel(prior=0, draw=slice(20, None)).mean("draw")
    )
    # Independent draws: about as many effective as there are.
    assert float(found["ess"].mean()) == pytest.approx(400.0, rel=0.15)
    np.testing.assert_allclose(found["chain_seconds"], 4.0)
    np.testing.assert_allclose(found["ess_per_second"], found["ess"] / 4.0)
    np.testing.assert_allclose(found["failed_share"], [0.0, 0.0, 1.0 / 400.0])
    np.testing.assert_allclose(found["failed_warm_up"], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(found["failed_early"], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(found["iterations_per_projection"], 3.0)
    assert set(STUDY.sweep_quantities) <= set(found.data_vars)


def test_run_time_is_shared_by_work() -> None:
    draws = _draws({"prior": ["strong"], "chain": [0, 1]}, 50, ())
    draws["n_evaluations"][{"chain": 1}] = 30
    settings = STUDY.settings(["n_warm_up=0"])
    redraws = draws["accepted"].isel(draw=0, drop=True).astype(float)
    found = chain_statistics(draws, settings, 8.0, redraws)
    np.testing.assert_allclose(found["chain_seconds"].values.ravel(), [2.0, 6.0])


def test_where_no_chain_moved_nothing_is_said_of_the_posterior() -> None:
    draws = _draws({"step_size": [0.1, 9.0], "prior": ["strong"], "chain": [0, 1]}, 50, ())
    draws["accepted"][{"step_size": 1}] = False
    draws["z"][{"step_size": 1}] = 1.0
    settings = STUDY.settings(["n_warm_up=0"])
    found = chain_statistics(draws, settings, 8.0, draws["accepted"].isel(draw=0, drop=True).astype(float))
    still = found.sel(step_size=9.0)
    for name in ("posterior_mean", "posterior_sd", "ess", "ess_per_second", "psrf", "r_hat"):
        assert bool(np.isnan(still[name]).all()), name
    assert bool(np.isfinite(found["posterior_mean"].sel(step_size=0.1)).all())
    np.testing.assert_array_equal(still["moved"], 0.0)
    np.testing.assert_array_equal(still["longest_run"], 50.0)


def test_draws_are_kept_as_arviz_expects_them() -> None:
    draws = _draws({"prior": ["strong"], "chain": [0, 1]}, 50, ())
    groups = chain_groups(draws, STUDY.settings(["n_warm_up=10"]))
    assert groups["posterior"]["z"].dims[:2] == ("chain", "draw")
    assert groups["posterior"].sizes["draw"] == 40
    assert "accepted" in groups["sample_stats"]


def test_the_limit_of_small_tolerances_is_approached_in_the_right_order() -> None:
    problem = build_problem(STUDY.settings([]))
    rng = np.random.default_rng(2)
    values = MEANS + 0.1 * SDS * rng.normal(size=(10, 16, 4))
    exact = xr.DataArray(values, dims=("draw", "walker", "parameter"))
    found = limit_statistics(problem, exact, [0.05, 0.2])
    small, large = np.abs(found["limit_shift"].values)
    assert np.all(small <= large)
    assert np.all(found["limit_shift_error"] >= 0.0)
    assert float(found["limit_weight_ess"].sel(limit_tolerance=0.05)) > 150.0


def test_reference_targets_are_named_as_the_figures_expect() -> None:
    settings = STUDY.settings(["design=reference", "tolerance=0.1"])
    assert {row.target for row in ROWS} == set(targets(settings))


# --- tiny runs -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own_data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "own.csv"
    values = np.random.default_rng(1).logistic(size=9)
    path.write_text("x\n" + "\n".join(f"{value:.3f}" for value in values))
    return path


@pytest.mark.slow
def test_modified_abc_runs_on_own_data_under_an_own_prior(tmp_path, own_data) -> None:
    result = _run(
        tmp_path,
        f"data={own_data}",
        "method=modified_abc",
        "prior=own",
        "prior_sd=2.0",
        "prior_rate=0.5",
        "tolerance=0.5",
        "step_size=0.2",
        "n_draws=60",
        "n_warm_up=20",
        "n_chains=2",
    )
    statistics = result["statistics"]
    assert statistics["prior"].values.tolist() == ["own"]
    assert statistics["posterior_mean"].dims == ("prior", "parameter")
    assert 0.0 < float(statistics["acceptance"].mean()) < 1.0
    assert result["observed_data"]["x"].size == 9
    assert result["posterior"]["z"].sizes["draw"] == 60


@pytest.mark.slow
def test_hmc_runs_with_several_tolerances_and_the_same_starts(tmp_path, own_data) -> None:
    result = _run(
        tmp_path,
        f"data={own_data}",
        "method=abc_hmc",
        "step_unit=tolerance",
        "step_size=0.05",
        "++batch.tolerance=[0.3,0.6]",
        "n_draws=12",
        "n_warm_up=3",
        "n_chains=2",
        "warm_up_step_size=1e-3",
    )
    statistics = result["statistics"]
    assert statistics["acceptance"].dims == ("prior", "tolerance", "chain")
    np.testing.assert_array_equal(statistics["tolerance"], [0.3, 0.6])
    # Starts depend on the data, the prior and the number of the chain alone.
    np.testing.assert_array_equal(statistics["start_redraws"].dims, ("prior", "chain"))


@pytest.mark.slow
def test_reference_posteriors_and_facts_of_the_prior_are_found_for_own_data(tmp_path, own_data) -> None:
    result = _run(
        tmp_path,
        f"data={own_data}",
        "design=reference",
        "++batch.prior=[strong,weak]",
        "gaussian_tolerances=[0.5]",
        "limit_tolerances=[0.2]",
        "n_draws=20",
        "n_burn_in=40",
        "n_walkers=16",
        "n_prior_draws=200",
    )
    statistics, curves = result["statistics"], result["curves"]
    assert statistics["target"].values.tolist() == ["exact", "cube_0.1", "gaussian_0.5"]
    assert statistics["reference_mean"].dims == ("prior", "target", "parameter")
    assert bool(np.isfinite(statistics["reference_mean"]).all())
    assert bool((statistics["reference_sd"] > 0.0).all())
    # A weak prior puts more of its draws where nine logistic values cannot come from, and more in far tails.
    fractions = statistics["prior_over_1e10_share"]
    assert float(fractions.sel(prior="weak")) > float(fractions.sel(prior="strong"))
    assert bool(
        ((statistics["prior_feasible_share"] > 0.0) & (statistics["prior_feasible_share"] < 1.0)).all()
    )
    assert bool(np.isnan(statistics["data_difference"]))
    assert curves["reference_z"].dims == ("prior", "target", "parameter", "index")
    assert curves["observation"].size == 9


@pytest.mark.slow
def test_chains_that_never_move_stop_the_case_and_say_what_to_change(tmp_path, own_data) -> None:
    with pytest.raises(SettingsError, match=r"no proposal of 2 chains.*step_size=500.*smaller step_size"):
        _run(
            tmp_path,
            f"data={own_data}",
            "method=abc_hmc",
            "tolerance=0.1",
            "step_size=500",
            "n_draws=10",
            "n_warm_up=0",
            "n_chains=2",
        )


def test_data_that_the_prior_cannot_generate_are_rejected_with_advice(
    tmp_path, own_data, monkeypatch
) -> None:
    monkeypatch.setattr(run, "_MOST_REDRAWS", 20)
    far = tmp_path / "far.csv"
    far.write_text("x\n" + "\n".join(str(1e12 + 1e9 * i) for i in range(9)))
    with pytest.raises(
        SettingsError, match=r"none of 20 draws from the prior \(strong: prior_sd=1.*prior=own"
    ):
        _run(tmp_path, f"data={far}", "method=modified_abc", "n_draws=10", "n_warm_up=0", "n_chains=1")


# --- figures and claims --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(STUDY.figures))
def test_every_figure_draws(name, tables) -> None:
    with use_style():
        figure = figures.DRAW[name](tables)
        assert isinstance(figure, Figure)
        figure.canvas.draw()
    marked = {"fig_4_7": 1, "fig_4_8": 16, "fig_step_size": 2}
    assert drawn_as_published(figure, "generalised_lambda") == marked.get(name, 0)
    words = [text.get_text() for axis in figure.axes for text in axis.texts]
    assert not any("not run" in text for text in words)


@pytest.mark.parametrize("name", list(STUDY.figures))
def test_a_figure_without_data_says_so(name) -> None:
    with use_style():
        figure = figures.DRAW[name](Tables.of(pd.DataFrame(), pd.DataFrame()))
        figure.canvas.draw()
    words = [text.get_text().replace("\n", " ") for axis in figure.axes for text in axis.texts]
    assert any("not run at this preset" in text for text in words)


def test_figures_and_captions_have_the_same_names() -> None:
    assert set(figures.DRAW) == set(STUDY.figures)


def test_every_claim_is_measured_and_made_up_tables_give_known_numbers(tables) -> None:
    measured = judge_study(STUDY, tables)
    by_name = measured.set_index(["claim_id", "setting"])["measured"]
    missing = by_name[by_name.isna()]
    assert missing.empty, missing.index.tolist()
    assert by_name["IM-GL-01", "observations"] == 250
    assert by_name["IM-GL-02", "posterior mean z1"] == pytest.approx(4.705, abs=0.015)
    assert by_name["IM-GL-03", "sd at 0.25 / widest of the others"] == pytest.approx(1.3 / 1.02)
    assert by_name["IM-GL-03", "sd at 0.05 / modified ABC"] == pytest.approx(1.2, rel=0.1)
    assert by_name["IM-GL-03", "sd at 0.05 / constrained HMC"] == pytest.approx(1.2, rel=0.1)
    numbers = STUDY.numbers()
    assert numbers["exact sd at 0.05 over modified ABC"](tables).value == pytest.approx(1.01 / 1.02)
    assert numbers["exact sd at 0.05 over constrained HMC"](tables).value == pytest.approx(1.01)
    assert by_name["IM-GL-18", "share of chains that stick"] == pytest.approx(1.0 / 3.0)
    assert by_name["IM-GL-18", "share of prior data not finite"] == 0.04
    assert by_name["IM-GL-19", "largest shift"] == pytest.approx(0.5)
    assert by_name["IM-GL-20", "main settings - warm-up settings"] == pytest.approx(4.0)
    assert by_name["IM-GL-21", "largest error of a mean"] < 0.2
    assert by_name["IM-ALG-03", "GL"] == pytest.approx(1e-13)
    # Constrained HMC accepts nine of ten at 0.675, HMC at 0.0125 tolerances.
    assert by_name["IM-ALG-06", "GL tolerance 0.25"] == pytest.approx(0.675 / (0.0125 * 0.25))
    assert by_name["IM-ALG-06", "GL tolerance 0.05"] == pytest.approx(0.675 / (0.0125 * 0.05))
    assert by_name["IM-ALG-07", "GL exponent"] == pytest.approx(1.0)
    # From 0.05 to 0.1 the largest shift rises by 2 (0.1^2 - 0.05^2).
    assert by_name["IM-ALG-14", "GL monotone"] == pytest.approx(2.0 * (0.1**2 - 0.05**2))
    assert by_name["IM-ALG-14", "GL order"] == pytest.approx(2.0, abs=1e-6)
    # Two of three chains accept 0.6 at twice the published step, which is aimed at, and the third nothing.
    assert by_name["IM-GL-16", "smallest where another has 0.6 to 0.9"] == 0.0
    assert numbers["smallest acceptance rate at twice the step"](tables).value == 0.0


def test_claims_without_their_cases_are_not_measured(tables) -> None:
    empty = Tables.of(tables.summary.frame.iloc[:0], tables.curves.frame.iloc[:0])
    measured = judge_study(STUDY, empty)
    assert measured["measured"].isna().all()
    assert set(measured["verdict"]) == {"not measured"}
    assert (measured["note"] != "").all()


def test_short_chains_settle_nothing_that_is_said_of_long_ones(tables) -> None:
    short = Tables.of(tables.summary.frame.assign(n_draws=50), tables.curves.frame)
    by_name = judge_study(STUDY, short).set_index(["claim_id", "setting"])
    for line in (
        ("IM-GL-05", "ABC HMC 0.05"),
        ("IM-GL-16", "smallest where another has 0.6 to 0.9"),
        ("IM-GL-18", "share of chains that stick"),
    ):
        assert by_name.loc[line, "verdict"] == "not measured"
        assert "this run had 50" in by_name.loc[line, "note"]


def test_moments_of_all_chains_are_those_of_their_draws_and_a_chain_that_stays_shows_in_their_errors(
    tables,
) -> None:
    values, _ = chain_moment(tables, "constrained_hmc", "sd")
    # 400 draws of three chains each, as the made-up chains have after the warm-up; their setting says 1000.
    assert values == pytest.approx(SDS, rel=0.1)
    frame = tables.summary.frame
    moved_away = (
        (frame["case"] == "constrained_hmc") & (frame["quantity"] == "chain_mean") & (frame["chain"] == 0)
    )
    apart = frame.assign(value=np.where(moved_away, frame["value"] + 5.0, frame["value"]))
    for moment in ("mean", "sd"):
        _, errors = chain_moment(Tables.of(apart, tables.curves.frame), "constrained_hmc", moment)
        assert (errors > 1.0).all()


# --- settings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", PRESETS)
def test_every_case_composes(preset) -> None:
    names = {case.name for case in STUDY.cases(preset)}
    assert {"constrained_hmc", "modified_abc"} <= names
    assert ({"reference", *(row.case for row in ROWS)} <= names) == (preset != "smoke")


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["++batch.n_warm_up=[1]"], "runs together only step_size"),
        (["design=reference", "++batch.tolerance=[0.1]"], "runs together only priors"),
        (["min_steps=9", "max_steps=3"], "min_steps must be at most max_steps, got 9 and 3"),
        (["n_walkers=9"], "n_walkers must be even, got 9"),
        (["step_unit=tolerance"], "needs a method with a tolerance"),
        (["++batch.n_bisections=[4,8]"], "makes no bisections"),
        (["++batch.tolerance=[0.1]"], "has no tolerance"),
        (["data=nowhere.csv"], "no such file"),
        (["method=hmc"], "method must be one of modified_abc, constrained_hmc, abc_hmc"),
    ],
)
def test_wrong_settings_are_rejected(overrides, message) -> None:
    with pytest.raises(SettingsError, match=message):
        STUDY.settings(overrides)


def test_a_data_file_with_two_columns_is_rejected(tmp_path) -> None:
    path = tmp_path / "two.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(SettingsError, match=r"two.csv: has 2 columns, needs one column of observations"):
        STUDY.settings([f"data={path}"])
