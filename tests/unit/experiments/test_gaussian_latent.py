"""The Gaussian latent study: data, estimator, tiny real runs, statistics against known answers."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy import integrate, stats

from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.driver.results import write_result
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.chains import Chains, RunContext
from auxmc_pipeline.measuring import Measurement
from auxmc_pipeline.tables import MissingData, Tables, tabulate
from experiments.gaussian_latent import checks, claims, exact, measure, sweeps
from experiments.gaussian_latent import model as glv
from experiments.gaussian_latent.model import gaussian_latent_model, simulate_data
from experiments.gaussian_latent.problem import Distribution, Known
from experiments.gaussian_latent.run import long_chain_draws, run

STUDY = load_study("gaussian_latent")
SLOW = pytest.mark.slow
SMALL = ["dim=2", "n_observations=3", "block_size=500"]


def context(folder):
    return RunContext("gaussian_latent", 5, folder / "checkpoints", "identity", "test")


def run_small(folder, words):
    return run(STUDY.settings([*SMALL, *words.split()]), context(folder))


def model_of(sweep):
    return glv.GaussianLatentModel(sweep["observed_data"]["y"].values, 1.0, 2.0)


def normal(mean, sd):
    frozen = stats.norm(mean, sd)
    return Known(position=[Distribution(mean, sd, frozen.pdf, frozen.cdf)] * 2)


@pytest.fixture(scope="module")
def sweep(tmp_path_factory):
    words = "method=apm_mi_mh n_chains=8 n_draws=2000 ++batch.step_size=[0.3,0.9]"
    return run_small(tmp_path_factory.mktemp("sweep"), words)


def test_sweep_has_acceptance_rates_beside_their_exact_values(sweep):
    """That the rates are these is tested in tests/statistical/test_latent_estimates.py."""
    data = sweep["statistics"]
    model = model_of(sweep)
    auxiliary = exact.mean_independence_acceptance(model)
    position = exact.metropolis_acceptance(np.array([0.3, 0.9]), exact.conditional_precision(model), 2)
    np.testing.assert_allclose(data["exact_acceptance_auxiliary"].values.ravel(), auxiliary, rtol=1e-12)
    np.testing.assert_allclose(data["exact_acceptance_position"].values.ravel(), position, rtol=1e-12)
    for part in ("position", "auxiliary"):
        rates = data[f"acceptance_{part}"]
        assert rates.dims == ("method", "n_importance", "step_size", "chain")
        assert ((rates > 0.0) & (rates < 1.0)).all()


def test_sweep_reproduces_the_exact_posterior(sweep):
    data = sweep["statistics"].squeeze(("method", "n_importance"))
    posterior = exact.exact_posterior(model_of(sweep))
    for error in ("mcse_mean", "mcse_mean_within"):
        assert (abs(data["posterior_mean"] - posterior.mean) < 6 * data[error]).all()
    assert np.allclose(data["posterior_sd"], posterior.sd, rtol=0.15)
    assert (data["r_hat"] < 1.05).all()


@pytest.mark.parametrize(
    ("method", "steps"),
    [
        ("cpm_mh", "++batch.auxiliary_step=[0.3] ++batch.step_size=[0.9]"),
        pytest.param("apm_rw_mh", "++batch.auxiliary_step=[0.5] ++batch.step_size=[0.9]", marks=SLOW),
        pytest.param("pm_hmc", "++batch.step_size=[0.4]", marks=SLOW),
    ],
)
def test_rivals_reproduce_the_exact_posterior_and_record_their_errors(tmp_path, method, steps):
    words = f"method={method} n_chains=8 n_draws=3000 record_accuracy=true {steps}"
    data = run_small(tmp_path, words)["statistics"].squeeze()
    np.testing.assert_array_less(abs(data["posterior_mean"] - data["exact_mean"]) / data["mcse_mean"], 6.0)
    np.testing.assert_allclose(data["posterior_sd"], data["exact_sd"], rtol=0.15)
    squared = ((data["chain_mean"] - data["exact_mean"]) / data["exact_sd"]) ** 2
    evaluations = data["evaluations_per_iteration"] * 3000
    expected = squared.mean("coordinate") * evaluations
    np.testing.assert_allclose(data["work_normalised_error"], expected, rtol=1e-10)
    assert float(data["sd_log_estimate"]) > 0.5


def test_methods_with_and_without_a_step_size_of_u_share_a_case(tmp_path):
    steps = "++batch.auxiliary_step=[0.1,0.5] ++batch.step_size=[0.9]"
    data = run_small(tmp_path, f"n_chains=2 n_draws=50 ++batch.method=[apm_mi_mh,apm_cn_mh] {steps}")
    known = data["statistics"]["ess_per_evaluation"].notnull().all("chain").squeeze()
    assert known["method"].values.tolist() == ["apm_cn_mh", "apm_mi_mh"]
    assert known.values.tolist() == [[True, True], [True, False]]


def test_results_become_tables_with_a_column_for_each_quantity(sweep, tmp_path):
    path = tmp_path / "apm_mi_mh.nc"
    about = {"settings": {"step_size": 0.425, "method": "apm_mi_mh", "n_importance": 1}, "numbers": "x"}
    write_result(path, sweep, about)
    tables = Tables(tabulate([path]))
    found = sweeps.sweep_of(tables, "ess_per_evaluation", ("apm_mi_mh", 1))
    assert found["point"].values.tolist() == [0.3, 0.9]
    expected = sweep["statistics"]["ess_per_evaluation"].squeeze(("method", "n_importance"))
    np.testing.assert_array_equal(found.T, expected)
    assert len(tables["chain_coordinate"]) == 2 * 8 * 2


@pytest.mark.parametrize(
    ("unknown", "missing"),
    [
        ("position", {"total_variation", "exact_mean", "exact_sd"}),
        ("acceptance_position", {"exact_acceptance_position"}),
    ],
)
def test_a_model_without_exact_answers_runs_and_records_none(tmp_path, monkeypatch, unknown, missing):
    known = exact.known
    monkeypatch.setattr(exact, "known", lambda model: known(model)._replace(**{unknown: None}))
    words = "design=long n_chains=2 n_evaluations=240 step_size=0.9 ++batch.n_importance=[1,2]"
    result = run_small(tmp_path, words)
    assert not missing & set(result["statistics"])
    assert ("exact_density_position" in result["curves"]) == (unknown != "position")
    assert np.isfinite(result["curves"]["histogram_position"]).all()
    # Chains of unequal length share no axis of iterations with their histograms.
    assert result["statistics"]["n_iterations"].values.ravel().tolist() == [120, 60]
    assert "iteration" not in result["curves"]["histogram_position"].dims


@pytest.mark.parametrize(
    ("method", "n_importance", "expected"),
    [("pm_mh", 1, 3_200_000), ("pm_mh", 8, 400_000), ("apm_mi_mh", 32, 50_000), ("apm_ss_mh", 1, 800_000)],
)
def test_long_chains_spend_equal_numbers_of_evaluations(method, n_importance, expected):
    settings = STUDY.settings(["design=long", "n_evaluations=3200000"])
    assert long_chain_draws(settings, method, n_importance) == expected


def independent_chains(n_draws):
    shape = (2, 3, n_draws)
    rng = np.random.default_rng(2)
    draws = {
        "position": rng.normal(0.3, 0.5, (*shape, 2)),
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


def test_statistics_of_independent_draws():
    data = measure.chain_statistics(measure.recorded(independent_chains(5000)), 2.0, n_importance=4)
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


def test_errors_between_many_chains_of_independent_draws_are_those_of_the_draws():
    draws = np.random.default_rng(4).normal(0.3, 0.5, (1, 200, 500, 2))
    made = {name: np.repeat(a[:1, :1], 200, axis=1) for name, a in independent_chains(500).draws.items()}
    long = measure.recorded(Chains(made | {"position": draws}, {"step_size": np.array([0.1])}, 1.0, 1.0))
    positions = measure.position_statistics(long, normal(0.3, 0.5), np.zeros(2))
    data = measure.chain_statistics(long, 1.0, 1).merge(positions)
    np.testing.assert_allclose(data["mcse_mean"], 0.5 / np.sqrt(100_000), rtol=0.2)
    np.testing.assert_allclose(data["mcse_sd"], 0.5 / np.sqrt(200_000), rtol=0.2)
    np.testing.assert_allclose(data["mcse_sd"], data["mcse_sd_within"], rtol=0.2)
    one = measure.chain_statistics(long.isel(chain=[0]), 1.0, 1)
    assert np.isnan(one["mcse_mean"]).all()


@pytest.mark.slow
def test_errors_cover_where_chains_hold_their_auxiliary_variables(tmp_path):
    """Data of the size and the seed at which long chains were fifteen errors from within them off."""
    words = "design=long seed=2 n_observations=10 dim=10 n_chains=4 n_evaluations=30000 step_size=0.425"
    data = run_small(tmp_path, words)["statistics"].squeeze()
    miss = abs(data["posterior_mean"] - data["exact_mean"])
    assert (miss / data["mcse_mean_within"]).max() > 4.0
    assert (miss < 3.0 * data["mcse_mean"]).all()


def test_histogram_error_is_small_for_the_exact_distribution_and_large_for_another():
    draws = measure.recorded(independent_chains(20000))
    right, wrong = (measure.position_statistics(draws, normal(m, 0.5), np.zeros(2)) for m in (0.3, 0.8))
    assert (right["total_variation"] < 0.04).all()
    assert (wrong["total_variation"] > 0.3).all()


def test_theory_constants_are_the_published_ones():
    constants = checks.theory_constants()
    assert constants["random_walk_acceptance"] == pytest.approx(0.2338, abs=5e-5)
    assert constants["pseudo_marginal_acceptance"] == pytest.approx(0.07001, abs=5e-6)
    assert constants["pseudo_marginal_variance"] == pytest.approx(3.283, abs=5e-4)
    assert constants["compromise_sd"] == pytest.approx(1.2, abs=0.05)


def test_pseudo_marginal_metropolis_is_metropolis_on_the_joint_space(tmp_path):
    estimate = glv.problem(STUDY.settings(SMALL)).estimator(1, True)
    assert checks.identity_difference(context(tmp_path), estimate, 2) == 0.0


def test_noise_of_the_estimate_agrees_with_its_closed_form(tmp_path):
    points = {"calibrated": glv.problem(STUDY.settings([*SMALL, "dim=10", "n_observations=10", "seed=3"]))}
    found = checks.estimator_noise(context(tmp_path), points, [1], 4000)["statistics"]
    sd, error = (found[f"sd_log_estimate{part}"].item() for part in ("", "_error"))
    assert abs(sd - np.sqrt((200 + 4 * 157) / 64)) < 5 * error
    assert 0.0 < error < 0.1
    assert found["exact_fraction_above_1e5"].item() < found["exact_fraction_above_1e4"].item() < 1.0


def test_smoothed_curves_are_means_over_five_points_and_fewer_at_the_ends():
    curve = np.zeros(12)
    curve[[0, 6]] = 3.0, 5.0
    np.testing.assert_allclose(sweeps.smoothed(curve), [1.0, 0.75, 0.6, 0.0, *[1.0] * 5, 0.0, 0.0, 0.0])


def test_the_error_of_a_best_step_is_unknown_with_one_chain():
    sweep = xr.DataArray([[1.0, 9.0, 1.0]], {"point": [0.1, 0.2, 0.3]}, ("chain", "point"))
    assert np.isnan(sweeps.with_rounding(Measurement(0.2, np.nan), 0.1, sweep).error)


DATA = simulate_data(1)
MODEL = gaussian_latent_model(DATA.observations)
SMALL_MODEL = gaussian_latent_model([[0.3, -1.0], [1.2, 0.4], [-0.5, 0.8]], sd_latent=0.7, sd_observation=1.5)


def test_calibrated_data_are_the_plain_draw_with_scaled_residuals():
    plain = simulate_data(1, "as_stated")
    np.testing.assert_array_equal(plain.position, DATA.position)
    ratio = (plain.observations - plain.position) / (DATA.observations - DATA.position)
    np.testing.assert_allclose(ratio, ratio[0, 0], rtol=1e-12)
    assert ratio[0, 0] > 1.3
    # For other sizes, in proportion.
    other = simulate_data(5, n_observations=4, dim=3, sd_latent=0.5, sd_observation=1.0)
    residuals = np.sum((other.observations - other.position) ** 2)
    assert residuals == pytest.approx(157.0 / 500.0 * 12.0 * 1.25, rel=1e-12)
    np.testing.assert_array_equal(simulate_data(1).observations, DATA.observations)
    assert np.all(simulate_data(2).observations != DATA.observations)


def test_estimate_with_many_importance_samples_is_the_direct_formula():
    density = glv.estimator(SMALL_MODEL, 5)
    auxiliary = np.random.default_rng(0).standard_normal((5, 3, 2))
    position = np.array([0.1, 0.9])
    latent = position + SMALL_MODEL.sd_latent * auxiliary
    terms = np.prod(stats.norm.pdf(SMALL_MODEL.observations, latent, SMALL_MODEL.sd_observation), axis=(1, 2))
    expected = math.log(np.prod(stats.norm.pdf(position)) * terms.mean())
    value = density.log_estimate(density.prepare(jnp.asarray(position)), jnp.asarray(auxiliary))
    assert float(value) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n_importance", [1, 8])
def test_lumped_statistics_of_given_auxiliaries_give_the_same_estimate_at_every_position(n_importance):
    full, lumped = glv.estimator(MODEL, n_importance), glv.lumped_estimator(MODEL, n_importance)
    auxiliary = full.draw_auxiliary(jax.random.key(5))
    points = jnp.asarray(MODEL.observations)[None] - MODEL.sd_latent * auxiliary
    centre = points.mean(axis=1)
    scatter = jnp.sum(jnp.square(points - centre[:, None, :]), axis=(1, 2))
    statistics = jnp.concatenate([centre, scatter[:, None]], axis=1)
    assert statistics.shape == jax.eval_shape(lumped.draw_auxiliary, jax.random.key(5)).shape
    for position in jax.random.normal(jax.random.key(1), (5, MODEL.dim)):
        value = full.log_estimate(full.prepare(position), auxiliary)
        found = lumped.log_estimate(lumped.prepare(position), statistics)
        np.testing.assert_allclose(found, value, rtol=1e-12)


def _condition_on_observations(model, component):
    """Mean and covariance of (x, u[0], .., u[M-1]) of one component given y, by brute-force linear algebra."""
    n = model.n_observations
    mixing = np.hstack([np.ones((n, 1)), model.sd_latent * np.eye(n)])
    covariance = mixing @ mixing.T + model.sd_observation**2 * np.eye(n)
    gain = np.linalg.solve(covariance, mixing).T
    return gain @ model.observations[:, component], np.eye(n + 1) - gain @ mixing


def test_posterior_is_the_conditional_of_the_joint_gaussian():
    for case in (MODEL, SMALL_MODEL):
        posterior = exact.exact_posterior(case)
        for component in range(case.dim):
            mean, covariance = _condition_on_observations(case, component)
            assert posterior.mean[component] == pytest.approx(mean[0], rel=1e-10)
            assert posterior.sd == pytest.approx(math.sqrt(covariance[0, 0]), rel=1e-10)
    assert exact.exact_posterior(MODEL).sd == pytest.approx(math.sqrt(1.0 / 3.0), rel=1e-12)


def test_auxiliary_marginal_of_one_sample_is_the_conditional_of_the_joint_gaussian():
    for case in (MODEL, SMALL_MODEL):
        for observation in range(case.n_observations):
            mean, covariance = _condition_on_observations(case, 1)
            marginal = exact.auxiliary_marginal(case, 1, observation, 1)
            assert marginal.mean == pytest.approx(mean[1 + observation], rel=1e-9, abs=1e-12)
            assert marginal.sd**2 == pytest.approx(covariance[1 + observation, 1 + observation], rel=1e-10)
    marginal = exact.auxiliary_marginal(MODEL, 1)
    assert marginal.sd**2 == pytest.approx(0.81333, abs=5e-6)
    assert marginal.sd == pytest.approx(0.90185, abs=5e-6)


def test_auxiliary_marginal_of_two_samples_is_what_quadrature_finds():
    """Given y, (u1, u2) has a density proportional to rho(u1) rho(u2) (N(y; sigma u1, v) + N(y; sigma u2, v))."""
    model = gaussian_latent_model([[1.7]], sd_latent=0.9, sd_observation=0.6)
    grid = np.linspace(-9.0, 9.0, 1201)
    estimate = stats.norm.pdf(1.7, 0.9 * grid, math.hypot(1.0, 0.6))
    joint = stats.norm.pdf(grid)[:, None] * stats.norm.pdf(grid) * (estimate[:, None] + estimate)
    density = joint.sum(axis=1) / joint.sum() / (grid[1] - grid[0])
    marginal = exact.auxiliary_marginal(model, 2)
    np.testing.assert_allclose(marginal.density(grid), density, atol=1e-10)
    weights = density * (grid[1] - grid[0])
    assert marginal.mean == pytest.approx(weights @ grid, rel=1e-9)
    assert marginal.sd == pytest.approx(math.sqrt(weights @ (grid - marginal.mean) ** 2), rel=1e-9)
    np.testing.assert_allclose(marginal.cumulative(grid), np.cumsum(weights) - 0.5 * weights, atol=2e-5)


def test_metropolis_acceptance_has_the_tabulated_values_and_limits():
    assert exact.conditional_precision(MODEL) == 3.5
    scales = np.array([0.025, 0.1, 0.2, 0.4, 0.425, 0.42819, 0.6, 0.8, 1.0])
    rates = [0.9425, 0.7734, 0.5672, 0.2641, 0.2373, 0.234, 0.1063, 0.0395, 0.0143]
    np.testing.assert_allclose(exact.metropolis_acceptance(scales, 3.5, 10), rates, atol=5e-5)
    wider = exact.metropolis_acceptance(np.array([0.425, 0.4625]), 3.0, 10)
    np.testing.assert_allclose(wider, [0.2715, 0.234], atol=5e-5)
    assert exact.metropolis_acceptance(0.0, 3.5, 10) == 1.0


def test_independence_acceptance_explains_the_published_rate_by_calibrated_data_only():
    assert 0.013 < exact.mean_independence_acceptance(MODEL) < 0.040
    plain = gaussian_latent_model(simulate_data(1, "as_stated").observations)
    assert exact.mean_independence_acceptance(plain) < 0.005


def test_independence_acceptance_is_defined_where_all_residuals_are_zero():
    model = gaussian_latent_model(np.ones((2, 2)))
    # Chi-squared distributions with 4 degrees of freedom, one shrunk by 0.8: an integral of elementary functions.
    expected, _ = integrate.quad(lambda q: stats.chi2.pdf(q, 4) * stats.chi2.cdf(0.8 * q, 4), 0.0, 100.0)
    assert exact.independence_acceptance(model, 0.0) == pytest.approx(2.0 * expected, rel=1e-9)


@pytest.mark.parametrize("shape", [(3, 2), (1, 2), (4, 1)])
def test_weights_of_auxiliary_variables_are_what_exact_draws_have(shape):
    """Mean and shares from draws of u given y, with weights from densities of all observations together."""
    case = gaussian_latent_model(np.random.default_rng(6).normal(0.5, 1.5, shape), 0.7, 1.5)
    n, dim = shape
    rng = np.random.default_rng(7)
    within = case.sd_observation**2 * np.eye(n) + 1.0
    log_weights = np.zeros(200_000)
    for component in range(dim):
        y = case.observations[:, component]
        mean, covariance = _condition_on_observations(case, component)
        u = rng.multivariate_normal(mean[1:], covariance[1:, 1:], log_weights.size)
        log_weights += stats.multivariate_normal(cov=within).logpdf(y - case.sd_latent * u)
        log_weights -= stats.multivariate_normal(cov=within + case.sd_latent**2 * np.eye(n)).logpdf(y)
    weights = np.exp(log_weights)
    error = weights.std() / math.sqrt(weights.size)
    assert exact.mean_marginal_weight(case) == pytest.approx(weights.mean(), abs=5.0 * error)
    for weight in np.quantile(weights, [0.1, 0.5, 0.9, 0.99]):
        fraction = float(np.mean(weights > weight))
        assert exact.holding_fraction(case, weight) == pytest.approx(fraction, abs=0.006)
    assert exact.holding_fraction(case, 1e-12) == pytest.approx(1.0, abs=1e-9)


def test_time_of_long_chains_is_spent_in_heavy_weights():
    """Weights above w hold at most 1 / w of fresh auxiliary variables, but far more of the stationary ones."""
    rate = exact.mean_independence_acceptance(MODEL)
    assert exact.mean_marginal_weight(MODEL) > 10.0 / rate
    assert exact.holding_fraction(MODEL, 1e4) > 0.01
    # Beyond the largest weight, that of latent variables equal to the observations.
    assert exact.holding_fraction(MODEL, 1e15) == 0.0


def test_statistics_over_data_sets():
    cases = [f"pm_mh_small_steps__seed-{seed}" for seed in (1, 2)]
    rows = [
        {"case": case, "n_importance": 1, "step_size": step, "chain": chain, "acceptance_position": rate}
        for case, rates in zip(cases, ([0.1, 0.3, 0.4], [0.2, 0.2, 0.2]), strict=True)
        for step, rate in zip((0.025, 0.05, 0.075), rates, strict=True)
        for chain in (0, 1)
    ]
    tables = Tables({"settings": pd.DataFrame({"case": [*cases, "pm_mh"]}), "chain": pd.DataFrame(rows)})
    np.testing.assert_allclose(claims.log_rises(tables, 1), [np.log(3.5), 0.0], atol=1e-12)
    # Largest rates 0.4 and 0.2; figure 3.3a has 0.02356.
    assert claims.tail_of_drawn(claims.largest_rates(tables, 1), "PM-G07", 1).value == pytest.approx(
        stats.norm.sf(0.27644 / np.sqrt(0.02))
    )
    rows[0]["acceptance_position"], rows[1]["acceptance_position"] = 0.05, 0.15
    tables = Tables({"settings": tables["settings"], "chain": pd.DataFrame(rows)})
    # Variance 0.005 of two chains about 0.1: the mean of the logs of such means is 0.125 too small.
    assert claims.log_rises(tables, 1)[0] == pytest.approx(np.log(3.5) - 0.125)


def test_a_drawn_value_is_ordinary_among_data_sets():
    values = np.tile([0.0216, 0.0224], 32)
    spread = values.std(ddof=1)
    for half_unit, score in ((0.0026, 0.0004 / spread), (0.0022, 0.0008 / spread)):
        found = claims.tail_of_drawn(values, "PM-G11", 1, half_unit)
        assert found.value == pytest.approx(stats.norm.sf(score))
        # Two errors reach to the tail at the farther end of the score towards the edge.
        error = np.sqrt(1.0 / 64 + score**2 / 126) * few_replicates(64)
        side = 1.0 if found.value > 0.025 else -1.0
        end = stats.norm.sf(score + side * 2.0 * error)
        assert found.value - side * 2.0 * found.error == pytest.approx(end)
    assert claims.tail_of_drawn(values, "PM-G11", 1, 0.01).value == 0.5


def test_a_good_range_is_interpolated_and_ends_with_the_grid():
    points = np.arange(5.0)
    curve = np.array([0.8, 1.0, 0.95, 0.7, 0.1])
    assert claims.good_range(points, curve) == pytest.approx((0.5, 2.2))
    assert claims.good_range(points[1:3], curve[1:3]) == (1.0, 2.0)
    with pytest.raises(MissingData, match="all chains are stuck"):
        claims.good_range(points, np.zeros(5))


def test_acceptance_ratios_are_of_the_same_step_sizes():
    rows = [(f"pm_mh_peaks__{i}", "pm_mh", step, 0.1 * i) for i in (1, 2) for step in (0.35, 0.4)]
    rows += [("apm_mi_mh", "apm_mi_mh", step, rate) for step, rate in ((0.1, 0.9), (0.35, 0.4), (0.4, 0.2))]
    chain = pd.DataFrame(rows, columns=["case", "method", "step_size", "acceptance_position"])
    tables = Tables({"settings": chain[["case"]][:4:2], "chain": chain.assign(n_importance=8, chain=0)})
    assert claims.acceptance_ratio(tables, 8)[:2] == pytest.approx((2.25, np.sqrt(1.5 * 1.125)))
