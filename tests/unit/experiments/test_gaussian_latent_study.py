"""The Gaussian latent study: tiny real runs, statistics against known answers, figures, claims, settings."""

import itertools
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.driver.chains import Chains, RunContext
from auxmc.driver.results import write_result
from auxmc.kernels.base import Kernel
from auxmc.kernels.slices.core import SliceState
from auxmc.kernels.slices.linear_slice import linear_slice
from auxmc.plots.style import use_style
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.judging.study_tables import judge_study
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.tables import Tables
from auxmc_pipeline.tidy import tidy_table
from experiments.gaussian_latent import checks, statistics, sweeps
from experiments.gaussian_latent import exact as exact
from experiments.gaussian_latent import settings as declared
from experiments.gaussian_latent.comparisons import extreme_ratio, rounding_error, with_rounding
from experiments.gaussian_latent.exact import ExactPosterior, exact_posterior
from experiments.gaussian_latent.model import gaussian_latent_model, simulate_data
from experiments.gaussian_latent.run import long_chain_draws, run

STUDY = load_study("gaussian_latent")
NO_TABLES = Tables.of(pd.DataFrame(), pd.DataFrame())
# Settings of the made-up tables: the run that claims need, and the model.
PUBLISHED_SIZES = {"n_draws": 50_000, "n_evaluations": 3_200_000, "sd_latent": 1.0, "sd_observation": 2.0}
SMALL = ["dim=2", "n_observations=3", "block_size=500"]


def context(folder: Path) -> RunContext:
    return RunContext("gaussian_latent", 5, folder / "checkpoints", "identity", "test")


def run_small(folder: Path, *overrides: str) -> dict[str, xr.Dataset]:
    settings = STUDY.settings([*SMALL, *overrides])
    assert isinstance(settings, declared.Settings)
    return run(settings, context(folder))


# Real runs.


@pytest.fixture(scope="module")
def sweep(tmp_path_factory: pytest.TempPathFactory) -> dict[str, xr.Dataset]:
    return run_small(
        tmp_path_factory.mktemp("sweep"),
        "method=apm_mi_mh",
        "n_chains=8",
        "n_draws=2000",
        "++batch.step_size=[0.3,0.9]",
    )


def test_sweep_has_named_dimensions_and_units(sweep: dict[str, xr.Dataset]) -> None:
    data = sweep["statistics"]
    assert dict(data.sizes) == {"method": 1, "n_importance": 1, "step_size": 2, "chain": 8, "coordinate": 2}
    assert data["ess_per_second"].dims == ("method", "n_importance", "step_size", "chain")
    assert data["ess"].dims == (*data["ess_per_second"].dims, "coordinate")
    assert data["ess_per_second"].attrs["units"] == "1/s"
    assert data["ess_per_evaluation"].attrs["units"] == "draws per density evaluation"
    assert list(data["coordinate"].values) == ["x1", "x2"]
    assert np.isfinite(data["ess_per_evaluation"]).all()


def test_sweep_has_acceptance_rates_beside_their_exact_values(sweep: dict[str, xr.Dataset]) -> None:
    """That the rates are these is tested in tests/statistical/test_latent_estimates.py."""
    data = sweep["statistics"]
    model = gaussian_latent_model(sweep["observed_data"]["y"].values)
    auxiliary = exact.mean_independence_acceptance(model)
    position = exact.metropolis_acceptance(np.array([0.3, 0.9]), exact.conditional_precision(model), 2)
    np.testing.assert_allclose(data["exact_acceptance_auxiliary"].values.ravel(), auxiliary, rtol=1e-12)
    np.testing.assert_allclose(data["exact_acceptance_position"].values.ravel(), position, rtol=1e-12)
    for part in ("position", "auxiliary"):
        rates = data[f"acceptance_{part}"]
        assert rates.dims == ("method", "n_importance", "step_size", "chain")
        assert ((rates > 0.0) & (rates < 1.0)).all()


def test_sweep_reproduces_the_exact_posterior(sweep: dict[str, xr.Dataset]) -> None:
    data = sweep["statistics"].squeeze(("method", "n_importance"))
    exact = exact_posterior(gaussian_latent_model(sweep["observed_data"]["y"].values))
    for error in ("mcse_mean", "mcse_mean_within"):
        assert (abs(data["posterior_mean"] - exact.mean) < 6 * data[error]).all()
    assert np.allclose(data["posterior_sd"], exact.sd, rtol=0.15)
    assert (data["r_hat"] < 1.05).all()


def test_a_small_sweep_keeps_its_draws_chain_and_draw_first(sweep: dict[str, xr.Dataset]) -> None:
    posterior = sweep["posterior"]["x"]
    assert posterior.dims == ("chain", "draw", "method", "n_importance", "step_size", "coordinate")
    assert posterior.shape == (8, 2000, 1, 1, 2, 2)
    assert sweep["sample_stats"]["accepted_position"].dims[:2] == ("chain", "draw")


@pytest.mark.slow
def test_long_chains_record_curves_and_the_auxiliary_variable(tmp_path: Path) -> None:
    result = run_small(
        tmp_path,
        "design=long",
        "method=apm_ss_mh",
        "n_chains=2",
        "n_evaluations=8000",
        "step_size=0.9",
        "record_auxiliary=true",
    )
    data, curves = result["statistics"], result["curves"]
    assert data["n_iterations"].item() == 2000
    assert (data["longest_run_auxiliary"] == 1).all()
    assert (data["estimates_auxiliary"] >= 1).all()
    assert (data["n_collapsed"] == 0).all()
    assert (data["estimates_position"] == 1).all()
    score = (data["auxiliary_mean"] - data["exact_auxiliary_mean"]) / data["auxiliary_mean_error_within"]
    assert (abs(score) < 6).all()
    assert curves["trace_position"].dims == ("method", "n_importance", "step_size", "iteration")
    assert curves.sizes["iteration"] == 400
    assert curves.sizes["bin"] == curves.sizes["bin_auxiliary"] == 100
    width = float(curves["bin"][1] - curves["bin"][0])
    assert 0.99 < float(curves["histogram_position"].sum("bin").min()) * width <= 1.0 + 1e-12


@pytest.mark.slow
def test_own_data_give_moments_and_errors_for_each_coordinate(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(1.0, 2.0, (6, 2))
    path = tmp_path / "own.csv"
    np.savetxt(path, rows, delimiter=",", header="first,second", comments="")
    result = run_small(tmp_path, f"data={path}", "n_chains=2", "n_draws=200")
    data = result["statistics"]
    for name in ("posterior_mean", "posterior_sd", "mcse_mean", "r_hat", "bulk_ess", "tail_ess"):
        assert data[name].sizes["coordinate"] == 2, name
    assert np.allclose(result["observed_data"]["y"], rows)
    assert "x_generating" not in result["observed_data"]
    assert "posterior" in result


def test_results_become_rows_with_the_settings_of_their_chains(
    sweep: dict[str, xr.Dataset], tmp_path: Path
) -> None:
    path = tmp_path / "case.nc"
    about = {"settings": {"design": "sweep", "step_size": 0.425, "method": "pm_mh"}, "numbers": "x"}
    write_result(path, sweep, about)
    table = tidy_table([path], "statistics")
    tables = Tables.of(table.assign(dataset="calibrated"), pd.DataFrame())
    grid = sweeps.grid_of(tables, "ess", "apm_mi_mh", 1)
    assert grid.points.tolist() == [0.3, 0.9]
    assert grid.values.shape == (2, 8)


# Iterations and statistics.


@pytest.mark.parametrize(
    ("method", "n_importance", "expected"),
    [("pm_mh", 1, 3_200_000), ("pm_mh", 8, 400_000), ("apm_mi_mh", 32, 50_000), ("apm_ss_mh", 1, 800_000)],
)
def test_long_chains_spend_equal_numbers_of_evaluations(
    method: str, n_importance: int, expected: int
) -> None:
    settings = STUDY.settings(["design=long", "n_evaluations=3200000"])
    assert isinstance(settings, declared.Settings)
    assert long_chain_draws(settings, method, n_importance) == expected


def independent_chains(n_draws: int, mean: float = 0.3, sd: float = 0.5) -> Chains:
    shape = (2, 3, n_draws)
    rng = np.random.default_rng(2)
    draws = {
        "position": rng.normal(mean, sd, (*shape, 2)),
        "auxiliary": rng.normal(size=shape),
        "accepted_position": np.ones(shape, bool),
        "accepted_auxiliary": np.zeros(shape, bool),
        "n_estimates_position": np.full(shape, 3, np.int16),
        "n_estimates_auxiliary": np.full(shape, 2, np.int16),
        "n_collapsed": np.zeros(shape, np.int8),
        "n_failures": np.ones(shape, np.int8),
        "not_finite": np.zeros(shape, bool),
    }
    return Chains(draws, {"step_size": np.array([0.1, 0.2])}, compile_s=1.0, run_s=12.0)


def test_statistics_of_independent_draws() -> None:
    data = statistics.chain_statistics(statistics.recorded(independent_chains(5000)), 2.0, n_importance=4)
    assert np.allclose(data["ess"], 5000, rtol=0.3)
    assert np.allclose(data["ess_per_evaluation"], data["ess"].mean("coordinate") / (5000 * 5 * 4))
    assert np.allclose(data["ess_per_second"], data["ess"].mean("coordinate") / 2.0)
    assert (data["evaluations_per_iteration"] == 20).all()
    assert (data["acceptance_position"] == 1).all()
    assert (data["longest_run_position"] == 1).all()
    assert (data["longest_run_auxiliary"] == 5000).all()
    assert (data["n_failures"] == 5000).all()
    assert (data["n_not_finite"] == 0).all()
    assert np.allclose(data["mcse_mean_within"], 0.5 / np.sqrt(15000), rtol=0.2)
    between = data["chain_mean"].std("chain", ddof=1) / np.sqrt(3.0) * few_replicates(3)
    np.testing.assert_allclose(data["mcse_mean"], between)


def test_errors_between_many_chains_of_independent_draws_are_those_of_the_draws() -> None:
    draws = np.random.default_rng(4).normal(0.3, 0.5, (1, 200, 500, 2))
    chains = independent_chains(500)
    made = {name: np.repeat(array[:1, :1], 200, axis=1) for name, array in chains.draws.items()}
    long = statistics.recorded(Chains(made | {"position": draws}, {"step_size": np.array([0.1])}, 1.0, 1.0))
    data = statistics.chain_statistics(long, 1.0, 1).merge(
        statistics.position_statistics(long, ExactPosterior(np.array([0.3, 0.3]), 0.5))
    )
    np.testing.assert_allclose(data["mcse_mean"], 0.5 / np.sqrt(100_000), rtol=0.2)
    np.testing.assert_allclose(data["mcse_sd"], 0.5 / np.sqrt(200_000), rtol=0.2)
    np.testing.assert_allclose(data["mcse_sd"], data["mcse_sd_within"], rtol=0.2)
    one = statistics.chain_statistics(long.isel(chain=[0]), 1.0, 1)
    assert np.isnan(one["mcse_mean"]).all()


@pytest.mark.slow
def test_errors_cover_where_chains_hold_their_auxiliary_variables(tmp_path: Path) -> None:
    """Data of the size and the seed at which long chains were fifteen errors from within them off."""
    settings = ("design=long", "seed=2", "n_observations=10", "dim=10", "n_chains=4", "n_evaluations=30000")
    data = run_small(tmp_path, *settings, "step_size=0.425")["statistics"].squeeze()
    miss = abs(data["posterior_mean"] - data["exact_mean"])
    assert (miss / data["mcse_mean_within"]).max() > 4.0
    assert (miss < 3.0 * data["mcse_mean"]).all()


def test_histogram_error_is_small_for_the_exact_distribution_and_large_for_another() -> None:
    draws = statistics.recorded(independent_chains(20000))
    right = statistics.position_statistics(draws, ExactPosterior(np.array([0.3, 0.3]), 0.5))
    wrong = statistics.position_statistics(draws, ExactPosterior(np.array([0.8, 0.8]), 0.5))
    assert (right["total_variation"] < 0.04).all()
    assert (wrong["total_variation"] > 0.3).all()


# Checks.


def test_theory_constants_are_the_published_ones() -> None:
    constants = checks.theory_constants()
    assert constants.random_walk_acceptance == pytest.approx(0.2338, abs=5e-5)
    assert constants.pseudo_marginal_acceptance == pytest.approx(0.07001, abs=5e-6)
    assert constants.pseudo_marginal_variance == pytest.approx(3.283, abs=5e-4)
    assert constants.compromise_sd == pytest.approx(1.2, abs=0.05)


@pytest.mark.slow
def test_reflective_slice_passes_and_a_line_that_ends_at_the_wall_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert checks._reflective_chi_square(context(tmp_path), 4000)[1] > 1e-3

    def clipped(log_density: object, dim: int) -> Kernel:
        def pulled(point: jax.Array) -> jax.Array:
            return log_density(jnp.clip(point, 0.0, 1.0))  # type: ignore[operator]

        kernel = linear_slice(pulled, 1.0, dim)

        def apply(noise: object, state: SliceState) -> tuple[SliceState, object]:
            state, info = kernel.apply(noise, state)
            return SliceState(jnp.clip(state.position, 0.0, 1.0), state.log_density), info

        return Kernel(kernel.init, kernel.draw, apply)

    monkeypatch.setattr(checks, "reflective_slice", clipped)
    assert checks._reflective_chi_square(context(tmp_path), 4000)[1] < 1e-6


def test_pseudo_marginal_metropolis_is_metropolis_on_the_joint_space(tmp_path: Path) -> None:
    model = gaussian_latent_model(simulate_data(3, n_observations=3, dim=2).observations)
    assert checks._identity_difference(context(tmp_path), model) == 0.0


def test_noise_of_the_estimate_agrees_with_its_closed_form(tmp_path: Path) -> None:
    data = simulate_data(3)
    model = gaussian_latent_model(data.observations)
    found = checks.estimator_noise(context(tmp_path), {"calibrated": (model, data.position)}, [1], 4000)
    sd, error = (found["statistics"][f"sd_log_estimate{part}"].item() for part in ("", "_error"))
    assert abs(sd - np.sqrt((200 + 4 * 157) / 64)) < 5 * error
    assert 0.0 < error < 0.1


# Tables for figures and claims.


def sweep_rows(method: str, n_importance: int, dataset: str, rng: np.random.Generator) -> list[xr.Dataset]:
    axis = declared.scale_name(method)
    points = np.arange(0.025, 1.01, 0.1) if axis == "step_size" else np.arange(1.0, 10.1, 0.5)
    shape = (points.size, 4)
    scale = points[:, None] / points.max()
    variables = {
        "ess_per_second": 1e3 * scale * (1.05 - scale),
        "ess_per_evaluation": 1e-3 * scale * (1.05 - scale) / n_importance,
        "acceptance_position": np.exp(-3.0 * scale),
        "acceptance_auxiliary": np.full_like(scale, 0.05 * n_importance**0.4),
        "estimates_auxiliary": np.full_like(scale, 4.0),
        "estimates_position": np.full_like(scale, 2.0),
        "longest_run_position": np.full_like(scale, 1.0 + 30.0 / n_importance),
        "longest_run_auxiliary": np.ones_like(scale),
        "evaluations_per_iteration": np.full_like(
            scale, n_importance * (1.0 + 2.0 * (method == "apm_ss_mh"))
        ),
    }
    data = xr.Dataset(
        {
            name: ((axis, "chain"), value * rng.uniform(0.99, 1.01, shape))
            for name, value in variables.items()
        },
        coords={axis: points, "chain": range(4)},
    )
    # Slice updates always move.
    for name, part in (("acceptance_auxiliary", "apm_ss"), ("acceptance_position", "_ss")):
        if method.startswith(part) or method.endswith(part):
            data[name] = xr.ones_like(data[name])
    data["exact_acceptance_position"] = ((axis,), np.exp(-3.0 * scale[:, 0]))
    data["exact_acceptance_auxiliary"] = 0.05
    data["n_iterations"] = 1000.0
    about = {"method": method, "n_importance": n_importance, "dataset": dataset, "design": "sweep"}
    case = {"apm_mi_ss": "apm_slice", "apm_ss_ss": "apm_slice"}.get(method, method)
    case = "as_stated" if dataset == "as_stated" else "two_samples" if n_importance == 2 else case
    return [data.assign_attrs(about=about, case=case)]


def melted(data: xr.Dataset, **about: object) -> pd.DataFrame:
    parts = []
    for name, array in data.data_vars.items():
        frame = (
            array.rename("value").to_dataframe().reset_index()
            if array.ndim
            else pd.DataFrame({"value": [float(array)]})
        )
        parts.append(frame.assign(quantity=name))
    table = pd.concat(parts, ignore_index=True)
    for name, value in about.items():
        if name not in table:
            table[name] = value
    return table.assign(preset="quick", unit="", **PUBLISHED_SIZES)


def made_up_checks() -> dict[str, xr.Dataset]:
    coords = {"dataset": ["calibrated", "as_stated"], "n_importance": [1, 8, 32]}
    bins = np.linspace(-19.75, 19.75, 80)
    constants = {f"theory_{name}": value for name, value in checks.theory_constants()._asdict().items()}
    return {
        "statistics": xr.Dataset(
            {
                "sd_log_estimate": (tuple(coords), np.array([[3.6, 1.8, 1.2], [5.9, 3.2, 2.4]])),
                "sd_log_estimate_error": (tuple(coords), np.full((2, 3), 0.01)),
                "reflective_p_value": 0.4,
                "identity_largest_difference": 0.0,
                **constants,
            },
            coords=coords,
        ),
        "curves": xr.Dataset(
            {
                "density_log_estimate": (
                    (*coords, "bin_log_estimate"),
                    np.tile(np.exp(-(bins**2) / 20), (2, 3, 1)),
                )
            },
            coords={**coords, "bin_log_estimate": bins},
        ),
    }


@pytest.fixture(scope="module")
def tables() -> Tables:
    rng = np.random.default_rng(4)
    summary, curves = [], []
    cells = itertools.product(("pm_mh", "apm_mi_mh"), (1, 2, 8, 32), ("calibrated", "as_stated"))
    for method, size, dataset in [*cells, *((m, 1, "calibrated") for m in declared.METHODS[2:])]:
        for data in sweep_rows(method, size, dataset, rng):
            summary.append(melted(data, **data.attrs["about"], case=data.attrs["case"]))
    steps = {"pm_mh": {1: 0.55, 8: 0.375, 32: 0.4}, "apm_mi_mh": dict.fromkeys((1, 8, 32), 0.425)}
    long_cases = [
        (m, s, f"long_{m}" if m == "apm_mi_mh" else f"long_{m}_{s}") for m in steps for s in (1, 8, 32)
    ]
    long_cases += [("apm_mi_mh", 1, "auxiliary"), ("apm_ss_mh", 1, "auxiliary")]
    for method, size, case in long_cases:
        step = steps.get(method, {1: 0.425})[size]
        chains = independent_chains(400 + 10 * size)
        chains = chains._replace(
            draws={name: array[:1] for name, array in chains.draws.items()},
            axes={"step_size": np.array([step])},
        )
        draws = statistics.recorded(chains)
        posterior = ExactPosterior(np.array([0.3, 0.3]), 0.5)
        marginal = statistics.AuxiliaryMarginal(0.0, 1.0, 1.0, 0.0, 1.0)
        about = {
            "method": method,
            "n_importance": size,
            "dataset": "calibrated",
            "design": "long",
            "case": case,
        }
        data = statistics.chain_statistics(draws, 12.0 / chains.n_lanes, size).merge(
            statistics.position_statistics(draws, posterior)
        )
        # Chains differ in how long they stick.
        data["longest_run_window"] = data["longest_run_window"] * (1.0 + 10.0 * data["chain"])
        summary.append(melted(data.merge(statistics.auxiliary_statistics(draws, marginal, size)), **about))
        drawn = statistics.position_curves(draws, posterior).merge(
            statistics.auxiliary_curves(draws, marginal)
        )
        curves.append(melted(drawn, **about))
    about = {"design": "checks", "case": "checks"}
    made = made_up_checks()
    summary.append(melted(made["statistics"], **about))
    curves.append(melted(made["curves"], **about))
    curves.append(melted(checks._illustration(context(Path("unused"))), **about))
    return Tables.of(pd.concat(summary, ignore_index=True), pd.concat(curves, ignore_index=True))


def texts_of(figure: object) -> str:
    texts = " ".join(text.get_text() for axis in figure.axes for text in axis.texts)  # type: ignore[attr-defined]
    return texts.replace("\n", " ")


@pytest.mark.parametrize("name", sorted(STUDY.figures))
def test_figures_draw_from_the_tables(name: str, tables: Tables) -> None:
    with use_style():
        figure = STUDY.drawings()[name](tables)
        figure.canvas.draw()
    assert "not run" not in texts_of(figure)


@pytest.mark.parametrize("name", sorted(set(STUDY.figures) - {"fig_3_1"}))
def test_figures_without_data_say_so_on_their_face(name: str) -> None:
    with use_style():
        figure = STUDY.drawings()[name](NO_TABLES)
        figure.canvas.draw()
    assert "not run" in texts_of(figure)


def test_figures_have_captions() -> None:
    assert set(STUDY.drawings()) == set(STUDY.figures)
    assert all("chain" in text for name, text in STUDY.figures.items() if name != "fig_3_1")


@pytest.fixture(scope="module")
def judged(tables: Tables) -> pd.DataFrame:
    return judge_study(STUDY, tables)


def test_every_claim_is_measured(judged: pd.DataFrame) -> None:
    missing = judged[judged["measured"].isna()]
    assert missing.empty, missing[["claim_id", "setting", "note"]].to_string()


def test_claims_without_data_are_not_measured_and_say_why() -> None:
    judged = judge_study(STUDY, NO_TABLES)
    assert set(judged["verdict"]) == {"not measured"}
    assert judged["measured"].isna().all()
    assert judged["note"].str.contains("not run at this preset").all()


def test_claims_are_those_of_the_specification() -> None:
    expected = {f"PM-G{i:02d}" for i in range(1, 30)} | {"PM-T01", "PM-T04", "PM-T05", "PM-T06"}
    assert set(STUDY.measures()) == expected


def test_measured_claims_of_known_tables(judged: pd.DataFrame) -> None:
    measured = judged.set_index(["claim_id", "setting"])["measured"]
    assert measured["PM-G03", "N = 1 over N = 8"] == pytest.approx(8.0, rel=0.02)
    assert measured["PM-G08", "N = 8 per estimator call"] == pytest.approx(1.0, rel=0.04)
    assert measured["PM-G16", "N = 1"] == pytest.approx(1.0, rel=0.02)
    assert measured["PM-G14", "N = 1 target"] == pytest.approx(-np.log(0.234) / 3.0 * 0.925, abs=0.02)
    assert measured["PM-G17", "N = 32 per evaluation"] == pytest.approx(32.0, rel=0.04)
    assert measured["PM-G19", "median"] == pytest.approx(1.0, rel=0.02)
    assert measured["PM-G19", "evaluations per iteration"] == pytest.approx(3.0, rel=0.02)
    assert measured["PM-G26", "u over x"] == pytest.approx(2.0, rel=0.02)
    assert measured["PM-G29", "x in slice updates"] == 0.0
    assert measured["PM-T01", "pseudo-marginal noise sd"] == pytest.approx(1.812, abs=1e-3)
    # The printed denominator has N = 1 in place of M = 10: here the posterior has standard deviation 0.5.
    assert measured["PM-G02", "as printed"] == pytest.approx(0.5 / np.sqrt(5.0 / 6.0), rel=0.05)
    assert measured["PM-G02", "N = 8 corrected"] == pytest.approx(1.0, rel=0.05)


def test_every_line_has_an_error_or_is_exact(judged: pd.DataFrame) -> None:
    known = judged["exact"] | (judged["monte_carlo_error"] > 0.0)
    assert known.all(), judged.loc[~known, ["claim_id", "setting", "measured"]].to_string()
    assert set(judged.loc[judged["exact"], "claim_id"]) == {"PM-G02", "PM-G21", "PM-T01", "PM-T06"}


def test_short_chains_do_not_judge_statements_about_long_ones(tables: Tables) -> None:
    short = Tables.of(*(table.frame.assign(n_draws=100, n_evaluations=12_800) for table in tables))
    judged = judge_study(STUDY, short).set_index(["claim_id", "setting"])
    assert judged.loc[("PM-G06", "N = 1"), "note"] == "needs n_draws >= 50000, this run had 100"
    assert judged.loc[("PM-G18", "N = 32"), "note"] == "needs n_evaluations >= 640000, this run had 12800"
    for line in (("PM-G03", "N = 1 over N = 8"), ("PM-G19", "largest"), ("PM-G20", "ESS per iteration")):
        assert judged.loc[line, "verdict"] == "not measured"
    # That slice updates always move, and the size of their work, hold for any length.
    assert judged.loc[("PM-G26", "u over x"), "verdict"] == "reproduced"


def test_the_extreme_of_a_ratio_knows_that_another_point_might_be_it() -> None:
    rng = np.random.default_rng(3)
    means, spread = np.array([2.0, 2.05, 3.0, 3.0]), np.array([0.1, 0.1, 0.1, 0.5])
    rows = [
        pd.DataFrame(
            {
                "quantity": "q",
                "design": "sweep",
                "dataset": "calibrated",
                "method": method,
                "n_importance": 1,
                "step_size": np.repeat(np.arange(4.0), 10),
                "chain": np.tile(np.arange(10), 4),
                "value": values.ravel(),
            }
        )
        for method, values in {
            "pm_mh": means[:, None] + spread[:, None] * rng.standard_normal((4, 10)),
            "apm_mi_mh": np.ones((4, 10)) + 0.01 * rng.standard_normal((4, 10)),
        }.items()
    ]
    made = Tables.of(pd.concat(rows), pd.DataFrame())
    least, most = (
        extreme_ratio(extreme, "q", ("pm_mh", 1), ("apm_mi_mh", 1), made)
        for extreme in (np.argmin, np.argmax)
    )
    assert least.value == pytest.approx(2.0, abs=0.1)
    assert 0.01 < least.error < 0.1
    assert most.value == pytest.approx(3.0, abs=0.4)
    assert most.error > least.error


def test_a_best_step_is_never_known_better_than_its_grid() -> None:
    points = np.array([0.1, 0.2, 0.3, 0.4])
    grid = sweeps.Grid(points, np.array([[1.0, 1.1], [9.0, 9.1], [1.0, 1.2], [0.0, 0.1]]))
    found = with_rounding(Measurement(0.2, np.nan), rounding_error(grid), grid)
    assert found.error == pytest.approx(0.1 / np.sqrt(12.0))
    assert np.isnan(
        with_rounding(found._replace(error=np.nan), 0.1, sweeps.Grid(points, grid.values[:, :1])).error
    )
    assert np.isnan(sweeps.Grid(points, grid.values[:, :1]).standard_error).all()


# Settings.


@pytest.mark.parametrize("preset", ["smoke", "quick", "paper"])
def test_cases_compose_and_cover_all_figures(preset: str) -> None:
    names = {case.name for case in STUDY.cases(preset)}
    assert names == {
        "pm_mh",
        "apm_mi_mh",
        "apm_ss_mh",
        "apm_slice",
        "long_pm_mh_1",
        "long_pm_mh_8",
        "long_pm_mh_32",
        "long_apm_mi_mh",
        "auxiliary",
        "as_stated",
        "two_samples",
        "checks",
    }


def test_the_paper_preset_is_that_of_the_thesis() -> None:
    cases = {case.name: case.settings for case in STUDY.cases("paper")}
    assert cases["pm_mh"].n_draws == 50_000
    assert cases["apm_mi_mh"].n_draws == cases["apm_slice"].n_draws == 20_000
    assert np.allclose(cases["pm_mh"].batch["step_size"], np.arange(1, 41) * 0.025)
    assert np.allclose(cases["apm_slice"].batch["bracket_width"], np.arange(1, 51) * 0.2)
    assert all(cases[name].n_chains == 10 for name in ("pm_mh", "apm_mi_mh", "apm_ss_mh", "apm_slice"))


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["++batch.bracket_width=[1.0,2.0]"], "tuned by step_size"),
        (["method=apm_ss_ss", "++batch.step_size=[0.1]"], "tuned by bracket_width"),
        (["++batch.method=[pm_mh,apm_mi_ss]"], "cannot run in one case"),
        (["++batch.dim=[2,3]"], "batch.dim"),
        (["record_auxiliary=true"], "design=long"),
    ],
)
def test_contradictory_settings_are_rejected(overrides: list[str], words: str) -> None:
    with pytest.raises(SettingsError, match=words):
        STUDY.settings(overrides)
