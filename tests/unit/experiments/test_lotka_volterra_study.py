"""The Lotka-Volterra study: tiny real runs, statistics against known answers, figures, claims, settings."""

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from auxmc.driver.chains import RunContext
from auxmc.driver.results import write_result
from auxmc.plots.style import use_style
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.judging.study_tables import claims_of, judge_study, setting_names
from auxmc_pipeline.judging.verdicts import judge
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.tables import MissingData, Tables
from auxmc_pipeline.tidy import tidy_table
from experiments.lotka_volterra import settings as declared
from experiments.lotka_volterra.figures import DRAW
from experiments.lotka_volterra.lookup import (
    COORDINATES,
    FIGURE_ROWS,
    LOG_GENERATING,
    ROWS,
    by_chain,
    by_rate,
)
from experiments.lotka_volterra.model.exact import LogRatePosterior, exact_posterior
from experiments.lotka_volterra.model.generator import published_model
from experiments.lotka_volterra.run import run
from experiments.lotka_volterra.statistics import (
    chain_curves,
    chain_statistics,
    exact_curves,
    exact_statistics,
    iterations_to_band,
)

STUDY = load_study("lotka_volterra")
N_CHAINS, N_DRAWS, N_DISCARD = 4, 510, 10
# How far and how wide the synthetic posteriors are, in exact standard deviations.
WIDTHS = {"ss_ball": {10.0: 1.5, 100.0: 4.0}, "ss_gaussian": {10.0: 2.0}, "chmc_summaries": {0.0: 1.3}}


def run_small(folder: Path, *overrides: str) -> dict[str, xr.Dataset]:
    settings = STUDY.settings(["n_draws=20", "n_discard=5", "n_chains=2", *overrides])
    assert isinstance(settings, declared.Settings)
    return run(settings, RunContext("lotka_volterra", 5, folder / "checkpoints", "identity", "test"))


# Real runs.


def own_series(folder: Path) -> Path:
    rng = np.random.default_rng(2)
    series = np.array([30.0, 20.0]) + np.cumsum(rng.normal(size=(9, 2)), axis=0)
    path = folder / "own.csv"
    np.savetxt(path, series, delimiter=",", header="hares,lynx", comments="")
    return path


@pytest.mark.slow
def test_own_data_give_moments_failures_and_an_exact_posterior(tmp_path: Path) -> None:
    path = own_series(tmp_path)
    overrides = ["method=chmc_teacher_forced", f"data={path}", "time_step=0.5", "noise_scales=[1.5,2.0]"]
    data = run_small(tmp_path, *overrides)["statistics"].squeeze()
    assert data.sizes["chain"] == 2
    assert data["posterior_mean"].sizes["coordinate"] == data["exact_mean"].sizes["coordinate"] == 4
    assert "data_difference" not in data
    assert (data["largest_residual"] < 1e-8).all()
    for name in ("not_converged", "not_converged_reverse", "irreversible", "not_finite", "singular"):
        assert data[f"n_{name}"].sizes["chain"] == 2
    assert (data["acceptance"] > 0.5).all()


@pytest.mark.slow
def test_case_stops_with_advice_when_every_trajectory_fails(tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"none of 20 updates .* take a smaller step_size or a larger tol"
    ):
        run_small(tmp_path, "method=hmc_gaussian", "step_size=50.0")


def test_failures_count_rejection_under_both_readings(tmp_path: Path) -> None:
    result = run_small(
        tmp_path,
        "design=failures",
        "method=pm_ball",
        "n_rejection_all=20000",
        "n_rejection_summaries=20000",
        "n_normalisation=20000",
    )
    data = result["statistics"]
    all_data = data["rejection_accepted_all"].squeeze()
    assert list(data["reading"].values) == ["l2", "l2_squared"]
    # About 0.24 per cent within a distance of 1000; no draw within its root.
    assert 20 < float(all_data[0]) < 90
    assert float(all_data[1]) == 0.0
    assert 0.001 < float(data["finite_prior_fraction"]) < 0.006
    assert (data["n_accepted"].sel({"tolerance": 100.0}) == 0).all()
    assert data["data_difference"].item() < 1e-10


# Statistics.


def test_iterations_to_band_count_from_one() -> None:
    potential = np.full((1, 1, 2, 100), 10.0) + np.random.default_rng(1).normal(size=(1, 1, 2, 100))
    potential[0, 0, 1, :6] = 200.0
    reached = iterations_to_band(potential)
    assert reached[0, 0].tolist() == [1.0, 7.0]
    assert np.isnan(iterations_to_band(np.r_[np.full(99, np.nan), 1.0].reshape(1, 1, 1, 100))).all()


# Synthetic tables.


@cache
def exact_under(scheme: str) -> LogRatePosterior:
    return exact_posterior(published_model("text" if scheme == "text" else "code"), 200)


def made_up_draws(method: str, scheme: str, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Independent draws about the exact posterior, of the published number of tolerances and step sizes."""
    exact = exact_under(scheme)
    points = (declared.TOLERANCES[method], declared.STEP_SIZES[method])
    shape = (len(points[0]), len(points[1]), N_CHAINS, N_DRAWS)
    widths = np.array([WIDTHS.get(method, {}).get(tolerance, 1.0) for tolerance in points[0]])
    if method in declared.SUMMARY_METHODS:
        widths = widths * 5.0
    spread = widths[:, None, None, None, None] * exact.sd
    draws: dict[str, np.ndarray] = {
        "log_rates": exact.mean + spread * rng.normal(size=(*shape, 4)),
        "accepted": rng.uniform(size=shape) < 0.99,
        "n_evaluations": np.full(shape, 12),
        "n_failed": np.zeros(shape, np.int8),
    }
    if method in declared.EXACT_METHODS:
        draws |= {"residual": np.full(shape, 1e-12), "potential": rng.normal(size=shape)}
        draws |= {"n_projections": np.full(shape, 4), "n_not_converged": np.zeros(shape, np.int32)}
    if method in declared.FAILING_METHODS:
        draws["accepted"] = np.zeros(shape, bool)
        draws["log_rates"] = np.broadcast_to(exact.mean, (*shape, 4)).copy()
    return draws


def made_up_case(method: str, scheme: str, rng: np.random.Generator) -> dict[str, xr.Dataset]:
    exact = exact_under(scheme)
    values = {
        "tolerance": list(declared.TOLERANCES[method]),
        "step_size": list(declared.STEP_SIZES[method]),
        "coordinate": list(COORDINATES),
    }
    dims = ("tolerance", "step_size", "chain", "draw", "coordinate")
    made = made_up_draws(method, scheme, rng)
    draws = xr.Dataset({name: (dims[: array.ndim], array) for name, array in made.items()}, coords=values)
    seconds = {"chmc_teacher_forced": 0.1, "chmc_all": 0.1, "chmc_summaries": 0.2, "ss_ball": 0.3}
    n_chains = int(np.prod([draws.sizes[dim] for dim in dims[:3]]))
    statistics = chain_statistics(draws, method, N_DISCARD, n_chains * seconds.get(method, 1.0), exact)
    statistics["share_below_generating"] = (draws["log_rates"] < LOG_GENERATING).mean("draw")
    curves = chain_curves(draws, N_DISCARD, method)
    about: dict[str, Any] = {"method": [method], "scheme": [scheme]}
    by_scheme = {"scheme": [scheme]}
    return {
        "statistics": statistics.expand_dims(about).merge(
            exact_statistics(exact, COORDINATES)
            .assign(data_difference=1e-13, data_compared=100)
            .expand_dims(by_scheme)
        ),
        "curves": curves.expand_dims(about)
        .merge(exact_curves(exact, COORDINATES).expand_dims(by_scheme))
        .merge(
            xr.Dataset(
                {"data_prey": ("step", np.arange(51.0)), "data_predators": ("step", np.arange(51.0))},
                coords={"step": range(51)},
            )
        ),
    }


def made_up_rejection() -> xr.Dataset:
    return xr.Dataset(
        {
            "rejection_accepted_all": (("rejection_tolerance_all", "reading"), [[2400, 0]]),
            "rejection_accepted_summaries": (
                ("rejection_tolerance_summaries", "reading"),
                [[0, 0], [1000, 20]],
            ),
            "rejection_draws_all": ((), 1_000_000),
            "rejection_draws_summaries": ((), 50_000_000),
            "finite_prior_fraction": ((), 0.003),
            "finite_prior_paths_by_mean": (("larger_prior_mean",), [1000]),
        },
        coords={
            "rejection_tolerance_all": [1000.0],
            "rejection_tolerance_summaries": [1.0, 2.0],
            "reading": ["l2", "l2_squared"],
            "larger_prior_mean": [-1.0],
        },
    )


def made_up_steps() -> dict[str, xr.Dataset]:
    """Acceptance rates that fall to 0.9 at 0.4 for constrained HMC and at 0.004 for HMC."""
    parts = []
    for method, steps in (("chmc_all", [0.2, 0.4, 0.6]), ("hmc_gaussian", [0.002, 0.004, 0.006])):
        rates = np.array([[1.0], [0.9], [0.7]]) + 1e-3 * np.arange(-2, 3)[None, :]
        data = xr.Dataset(
            {
                "acceptance": (
                    ("method", "scheme", "tolerance", "step_size", "chain"),
                    rates[None, None, None],
                )
            },
            coords={"method": [method], "scheme": ["code"], "tolerance": [0.0], "step_size": steps},
        )
        parts.append(data.assign_coords(chain=range(5)))
    return {"statistics": xr.merge(parts, join="outer", compat="no_conflicts"), "curves": xr.Dataset()}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Tables:
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(4)
    paths = []

    def write(name: str, design: str, groups: dict[str, xr.Dataset]) -> None:
        settings = {"design": design, "preset": "smoke", "batch": {}, "tolerance": 0.0, "step_size": 0.0}
        settings |= {"n_draws": 500_000, "n_inner_steps": 3}
        write_result(folder / f"{name}.nc", groups, {"settings": settings, "numbers": "x"})
        paths.append(folder / f"{name}.nc")

    for case, methods, schemes in (
        ("constrained", declared.EXACT_METHODS, ("code", "text")),
        ("slices", ("ss_ball", "ss_gaussian"), ("code",)),
        ("hmc", ("hmc_gaussian",), ("code",)),
        ("summaries", declared.SUMMARY_METHODS, ("code",)),
        ("failures", declared.FAILING_METHODS, ("code",)),
    ):
        parts = [made_up_case(method, scheme, rng) for scheme in schemes for method in methods]
        groups: dict[str, Any] = {
            name: xr.combine_by_coords(
                [part[name] for part in parts], join="outer", compat="no_conflicts", data_vars="all"
            )
            for name in ("statistics", "curves")
        }
        if case == "failures":
            groups["statistics"] = groups["statistics"].merge(made_up_rejection())
        write(case, "failures" if case == "failures" else "chains", groups)
    write("step_sizes", "step_sizes", made_up_steps())
    return Tables.of(tidy_table(paths, "statistics"), tidy_table(paths, "curves"))


def texts_of(figure: Any) -> str:
    return " ".join(text.get_text() for axis in figure.axes for text in axis.texts)


@pytest.mark.parametrize("name", sorted(DRAW))
def test_figures_draw_from_the_tables(name: str, tables: Tables) -> None:
    with use_style():
        figure = DRAW[name](tables)
        figure.canvas.draw()
    assert "not run" not in texts_of(figure)


@pytest.mark.parametrize("name", sorted(DRAW))
def test_figures_without_data_say_so_on_their_face(name: str) -> None:
    with use_style():
        figure = DRAW[name](Tables.of(pd.DataFrame(), pd.DataFrame()))
        figure.canvas.draw()
    assert "not run" in texts_of(figure)


def test_marginal_columns_fraction_their_axes(tables: Tables) -> None:
    with use_style():
        figure = DRAW["fig_4_11"](tables)
    panels = np.array(figure.axes).reshape(6, 4)
    for column in panels.T:
        assert len({axis.get_xlim() for axis in column}) == len({axis.get_ylim() for axis in column}) == 1


def test_figures_have_captions() -> None:
    assert set(DRAW) == set(STUDY.figures)


def test_rows_are_of_their_own_method_and_say_what_is_missing(tables: Tables) -> None:
    assert by_chain(tables, "ess", "all").shape == (4, N_CHAINS)
    assert by_chain(tables, "acceptance", "all").shape == (N_CHAINS,)
    expected = exact_posterior(published_model()).mean
    np.testing.assert_allclose(by_rate(tables, "posterior_mean", "teacher_forced"), expected, atol=0.01)
    summary, curves = tables.summary.frame, tables.curves.frame
    without = Tables.of(summary[summary["method"] != "chmc_all"], curves)
    with pytest.raises(MissingData, match=r"Cons. HMC \(all\), scheme code: not run at this preset"):
        by_rate(without, "posterior_mean", "all")
    with pytest.raises(MissingData, match=r"Cons. HMC \(sum.\), scheme code: not run at this preset"):
        by_rate(Tables.of(summary[summary["method"] != "chmc_summaries"], curves), "psrf", "summaries")


# Claims.


@pytest.fixture(scope="module")
def judged(tables: Tables) -> pd.DataFrame:
    return judge_study(STUDY, tables).set_index(["claim_id", "setting"])


def judged_alone(tables: Tables, *ids: str) -> pd.DataFrame:
    """Some claims of the study, judged; all of them take long."""
    claims, measures = claims_of(STUDY), STUDY.measures()
    lines = claims[claims["claim_id"].isin(ids)]
    found = judge(lines, {one: measures[one] for one in ids}, tables, setting_names(STUDY))
    return found.set_index(["claim_id", "setting"])


def test_every_claim_is_measured(judged: pd.DataFrame) -> None:
    missing = judged[judged["measured"].isna()]
    assert missing.empty, missing["note"].to_string()


def test_claims_without_data_are_not_measured_and_say_why() -> None:
    judged = judge_study(STUDY, Tables.of(pd.DataFrame(), pd.DataFrame()))
    assert set(judged["verdict"]) == {"not measured"}
    assert judged["measured"].isna().all()
    assert judged["note"].str.contains("not run at this preset").all()


def test_claims_are_those_of_the_specification() -> None:
    numbers = [i for i in range(1, 25) if i not in (15, 16)]
    assert set(STUDY.measures()) == {f"IM-LV-{i:02d}" for i in numbers} | {
        f"IM-ALG-{i:02d}" for i in (2, 3, 6)
    }


def test_measured_claims_of_known_tables(judged: pd.DataFrame) -> None:
    measured, verdict = judged["measured"], judged["verdict"]
    assert measured["IM-LV-02", "distance"] == 2400.0
    assert verdict["IM-LV-02", "distance"] == "not reproduced"
    assert verdict["IM-LV-02", "squared distance"] == "reproduced"
    assert measured["IM-LV-06", "squared distance"] == 20.0
    assert measured["IM-LV-03", "ball 100"] == 0.0
    assert np.isinf(measured["IM-LV-04", "ball 1000"])  # no chain moves: no run ends
    assert verdict["IM-LV-04", "ball 1000"] == "reproduced"
    assert measured["IM-ALG-06", "LV tolerance 10"] == pytest.approx(100.0, rel=0.01)
    assert verdict["IM-ALG-06", "LV tolerance 10"] == "reproduced"
    assert measured["IM-ALG-02", "LV, all data"] == 0.0
    assert measured["IM-LV-22", "prior mean -1"] == pytest.approx(1.0 / 3.0)
    assert measured["IM-LV-12", "log z1"] == pytest.approx(1.3, rel=0.1)
    assert measured["IM-LV-13", "ball 100 widest"] == pytest.approx(2.0, rel=0.1)
    assert measured["IM-LV-13", "wider than exact"] == pytest.approx(1.0, rel=0.1)  # HMC
    assert measured["IM-LV-13", "narrower than summary ABC"] == pytest.approx(0.8, rel=0.1)
    assert measured["IM-LV-14", "nearest to exact"] > 0.0  # HMC is nearer
    assert measured["IM-LV-18", "all over summaries"] == pytest.approx(2.0, rel=0.15)
    assert measured["IM-LV-19", "others"] == pytest.approx(3.0, rel=0.15)
    # Twelve evaluations an iteration, and the derivatives of two sub-steps in two thirds of a step.
    runs = 12.0 + 16.0 * (2.0 + 4.0 * 2.0 / 3.0)
    per_run = measured["IM-LV-19", "ball 100, per run of the generator"]
    assert per_run == pytest.approx(12.0 / runs, rel=0.1)
    assert measured["IM-LV-21", "text oracle"] > 0.8
    assert measured["IM-LV-21", "code oracle"] < 0.15
    assert verdict["IM-LV-17", "Cons. HMC (all), log z1"] == "timing"


def test_stochastic_values_have_an_error_and_exact_ones_none(judged: pd.DataFrame) -> None:
    exact = judged["exact"].astype(bool)
    assert list(judged.index[exact]) == [("IM-LV-01", "largest difference")]
    known = judged["monte_carlo_error"] > 0.0
    unknown = judged.index[~known & ~exact & np.isfinite(judged["measured"])]
    # All made-up chains agree in these extremes and times, which says nothing about others.
    assert {claim for claim, _ in unknown} <= {"IM-ALG-03", "IM-LV-17", "IM-LV-23"}


def test_factors_of_chains_that_agree_are_surer_than_of_those_that_do_not(tables: Tables) -> None:
    shifted = tables.summary.frame.copy()
    rng = np.random.default_rng(3)
    rows = (shifted["quantity"] == "psrf_without_chain") & (shifted["method"] == "ss_ball")
    shifted.loc[rows, "value"] += rng.normal(size=rows.sum())
    found = [
        judged_alone(one, "IM-LV-24")["verdict"]["IM-LV-24", "ball 100"]
        for one in (tables, Tables.of(shifted, tables.curves.frame))
    ]
    assert found == ["reproduced", "inconclusive"]


def test_short_runs_decide_nothing_about_long_ones(tables: Tables) -> None:
    short = tables.summary.frame.assign(n_draws=20_000)
    ids = ("IM-LV-03", "IM-LV-04", "IM-LV-08", "IM-LV-10")
    judged = judged_alone(Tables.of(short, tables.curves.frame), *ids)
    verdict, note = judged["verdict"], judged["note"]
    assert verdict["IM-LV-03", "ball 100"] == verdict["IM-LV-08", "raw"] == "not measured"
    assert note["IM-LV-04", "ball 1000"] == "needs n_draws >= 100000, this run had 20000"
    assert verdict["IM-LV-10", "mean log z1"] == "reproduced"


def test_errors_of_means_come_from_between_chains_where_noise_may_stay() -> None:
    # Each chain stays near a place of its own: within them the mean looks far surer than it is.
    rng = np.random.default_rng(6)
    places = np.array([-1.0, -0.5, 0.5, 1.0])
    rates = places[None, None, :, None, None] + 0.1 * rng.normal(size=(1, 1, N_CHAINS, N_DRAWS, 4))
    dims = ("tolerance", "step_size", "chain", "draw")
    shape = rates.shape[:-1]
    draws = xr.Dataset(
        {
            "log_rates": ((*dims, "coordinate"), rates),
            "accepted": (dims, np.ones(shape, bool)),
            "n_evaluations": (dims, np.ones(shape, int)),
            "n_failed": (dims, np.zeros(shape, int)),
        },
        coords={"tolerance": [1.0], "step_size": [0.5], "coordinate": list(COORDINATES)},
    )
    within, between = (
        float(chain_statistics(draws, method, 0, 1.0, exact_under("code"))["mcse_mean"].squeeze()[0])
        for method in ("chmc_all", "pm_summaries")
    )
    assert within < 0.05
    assert between == pytest.approx(1.66 * 0.456, rel=0.05)


def test_the_time_of_a_chain_follows_its_runs_of_the_generator() -> None:
    """Slices at tolerance 10 take more of them than at 100: they must not be given the time of an average chain."""
    rng = np.random.default_rng(8)
    made = made_up_draws("ss_ball", "code", rng)
    dims = ("tolerance", "step_size", "chain", "draw", "coordinate")
    draws = xr.Dataset(
        {name: (dims[: array.ndim], array) for name, array in made.items()},
        coords={"tolerance": [10.0, 100.0], "coordinate": list(COORDINATES)},
    )
    draws["n_evaluations"] = draws["n_evaluations"] * xr.DataArray([2, 1], dims="tolerance")
    found = chain_statistics(draws, "ss_ball", N_DISCARD, 3.0 * N_CHAINS, exact_under("code"))
    np.testing.assert_allclose(found["chain_seconds"].isel(step_size=0), [[2.0] * N_CHAINS, [1.0] * N_CHAINS])
    xr.testing.assert_allclose(found["ess_per_second"] * found["chain_seconds"], found["ess"])


def test_no_accepted_draw_of_too_few_is_inconclusive(tables: Tables) -> None:
    few = tables.summary.frame.copy()
    few.loc[few["quantity"] == "rejection_draws_summaries", "value"] = 5e6
    judged = judged_alone(Tables.of(few, tables.curves.frame), "IM-LV-07")
    assert judged["verdict"]["IM-LV-07", "distance"] == "inconclusive"


# Settings.


@pytest.mark.parametrize("preset", ["smoke", "quick", "paper"])
def test_cases_compose_and_cover_all_figures(preset: str) -> None:
    names = {case.name for case in STUDY.cases(preset)}
    assert names == {"constrained", "dense", "step_sizes", "slices", "hmc", "summaries", "failures"}


def test_the_paper_preset_is_that_of_the_thesis() -> None:
    cases = {case.name: case.settings for case in STUDY.cases("paper")}
    lengths = {name: (case.n_chains, case.n_draws, case.n_discard) for name, case in cases.items()}  # type: ignore[attr-defined]
    assert lengths["constrained"] == (10, 1000, 10)
    # Lengths as published, of more than the ten chains.
    assert lengths["slices"] == (30, 60_000, 30_000)
    assert lengths["hmc"] == (10, 10_000, 5_000)
    assert lengths["summaries"] == (10, 500_000, 250_000)
    assert cases["failures"].n_draws == 100_000
    constrained = cases["constrained"]
    assert isinstance(constrained, declared.Settings)
    assert declared.step_range(constrained, "chmc_all") == (4, 8)
    assert declared.step_sizes(constrained, "chmc_all") == (0.25,)
    assert constrained.n_inner_steps == 3
    assert declared.tolerances(constrained, "ss_ball") == (10.0, 100.0)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["tolerance=1.0"], "conditions exactly"),
        (["method=ss_ball", "step_size=0.1"], "nothing to tune"),
        (["method=ss_ball", "n_steps=[1,2]"], "makes no integrator steps"),
        (["n_steps=[5,4]"], "two integers, fewest and most"),
        (["n_steps=[5]"], "two integers, fewest and most"),
        (["n_draws=100", "n_discard=95"], "at least 10 of the n_draws=100"),
        (["method=pm_summaries", "n_draws=5000", "n_discard=1000"], "n_batches \\* batch_size"),
        (
            ["design=step_sizes", "method=ss_ball"],
            "design=step_sizes runs the methods chmc_all, hmc_gaussian",
        ),
        (["design=failures"], "design=failures runs the methods pm_ball, pm_gaussian"),
        (["++batch.n_chains=[1,2]"], "batch.n_chains: this study runs together only method, scheme"),
        (["noise_scales=[1.0]"], "noise_scales must be two numbers"),
        (["initial_state=[1.0]"], "initial_state must be two numbers"),
        (["data=/nowhere/series.csv"], "no such file"),
    ],
)
def test_contradictory_settings_are_rejected(overrides: list[str], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        STUDY.settings(overrides)


def test_own_data_without_initial_state_need_a_row_more(tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text("r,f\n" + "1.0,2.0\n" * 4)
    STUDY.settings([f"data={path}", "initial_state=[1.0,2.0]"])
    with pytest.raises(SettingsError, match="has 4 rows of data, needs at least 5"):
        STUDY.settings([f"data={path}"])
    with pytest.raises(SettingsError, match="leave data empty"):
        STUDY.settings([f"data={path}", "initial_state=[1.0,2.0]", "design=failures", "method=pm_ball"])


def test_colours_of_rows_in_a_figure_differ() -> None:
    colours = [ROWS[row].colour for row in FIGURE_ROWS]
    assert len(set(colours)) == len(colours)
