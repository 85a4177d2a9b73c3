"""The Lotka-Volterra study: model, exact posterior and summaries against known answers, tiny real runs."""

import math
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy import integrate

from auxmc.errors import DataError
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.chain_statistics import fraction_of_time
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.settings import SettingsError
from experiments.lotka_volterra import settings as declared
from experiments.lotka_volterra.measure import chain_statistics, iterations_to_band
from experiments.lotka_volterra.model import conditioning, generator
from experiments.lotka_volterra.model.conditioning import conditioned_model
from experiments.lotka_volterra.model.data import GENERATING_RATES, published_data, read_populations
from experiments.lotka_volterra.model.exact import exact_posterior
from experiments.lotka_volterra.model.generator import published_model
from experiments.lotka_volterra.model.rejection import n_accepted, prior_distances, simulate_prior
from experiments.lotka_volterra.model.summaries import SUMMARY_NAMES, prior_summary_scales, summary_statistics
from experiments.lotka_volterra.programs import build_problem, build_program
from experiments.lotka_volterra.run import run

STUDY = load_study("lotka_volterra")


def run_small(folder, words):
    settings = STUDY.settings(["n_draws=20", "n_discard=5", "n_chains=2", *words.split()])
    return run(settings, RunContext("lotka_volterra", 5, folder / "checkpoints", "identity", "test"))


@pytest.mark.slow
def test_own_data_give_moments_failures_and_an_exact_posterior(tmp_path):
    path, walk = tmp_path / "own.csv", np.cumsum(np.random.default_rng(2).normal(size=(9, 2)), axis=0)
    np.savetxt(path, np.array([30.0, 20.0]) + walk, delimiter=",", header="hares,lynx", comments="")
    words = f"method=chmc_teacher_forced data={path} time_step=0.5 noise_scales=[1.5,2.0]"
    data = run_small(tmp_path, words)["statistics"].squeeze()
    assert data.sizes["chain"] == 2
    assert data["posterior_mean"].sizes["coordinate"] == data["exact_mean"].sizes["coordinate"] == 4
    assert "data_difference" not in data
    assert (data["largest_residual"] < 1e-8).all()
    for name in ("not_converged", "not_converged_reverse", "irreversible", "not_finite", "singular"):
        assert data[f"n_{name}"].sizes["chain"] == 2
    assert (data["acceptance"] > 0.5).all()


@pytest.mark.slow
def test_case_stops_with_advice_when_every_trajectory_fails(tmp_path):
    message = r"none of 20 updates .* take a smaller step_size or a larger tol"
    with pytest.raises(SettingsError, match=message):
        run_small(tmp_path, "method=hmc_gaussian step_size=50.0")


@pytest.mark.slow
def test_latent_states_between_observations_leave_no_exact_posterior(tmp_path):
    found = run_small(tmp_path, "method=chmc_teacher_forced steps_per_observation=2")["statistics"]
    assert not {"exact_mean", "total_variation"} & set(found)
    assert float(found["largest_residual"].max()) < 1e-8
    assert float(found["acceptance"].min()) > 0.5


def test_failures_count_rejection_under_both_readings(tmp_path):
    sizes = "n_rejection_all=20000 n_normalisation=20000"
    data = run_small(tmp_path, f"design=failures method=pm_ball {sizes}")["statistics"]
    all_data = data["rejection_accepted_all"].squeeze()
    assert list(data["reading"].values) == ["l2", "l2_squared"]
    # About 0.24 per cent within a distance of 1000; no draw within its root.
    assert 20 < float(all_data[0]) < 90
    assert float(all_data[1]) == 0.0
    assert 0.001 < float(data["finite_prior_fraction"]) < 0.006
    # Chains start where fresh simulations are often within a distance of 100.
    assert (data["n_accepted"].sel({"tolerance": 100.0, "step_size": 0.001}) > 0).all()
    assert data["data_difference"].item() < 1e-10


def test_a_chain_with_a_gaussian_kernel_starts_from_a_fresh_simulation(tmp_path):
    """Noise that yields the data has the largest estimate there is."""
    words = "design=failures method=pm_gaussian n_normalisation=20000 n_chains=1"
    settings = STUDY.settings(words.split())
    context = RunContext("lotka_volterra", 5, tmp_path, "identity", "test")
    problem = build_problem(settings, "code", context)
    for method, is_fresh in (("pm_gaussian", True), ("pm_ball", False)):
        kernel = build_program(problem, settings, method).build(100.0, 0.05)
        state = kernel.init(problem.near_starts[0], key=jax.random.key(0))
        assert np.array_equal(state.auxiliary, problem.near_starts[0, 4:]) != is_fresh
        log_prior = -0.5 * float(np.square(state.position).sum())
        assert (float(state.log_estimate) < log_prior - 0.1) == is_fresh


def test_iterations_to_band_count_from_one():
    potential = np.full((1, 1, 2, 100), 10.0) + np.random.default_rng(1).normal(size=(1, 1, 2, 100))
    potential[0, 0, 1, :6] = 200.0
    reached = iterations_to_band(potential)
    assert reached[0, 0].tolist() == [1.0, 7.0]
    assert np.isnan(iterations_to_band(np.r_[np.full(99, np.nan), 1.0].reshape(1, 1, 1, 100))).all()


def recorded_draws(rates, tolerances, n_evaluations):
    """Draws of log rates [tolerance, step_size, chain, draw, coordinate], all accepted."""
    dims, shape = ("tolerance", "step_size", "chain", "draw"), rates.shape[:-1]
    made = {
        "log_rates": ((*dims, "coordinate"), rates),
        "accepted": (dims, np.ones(shape, bool)),
        "n_evaluations": (dims, np.broadcast_to(n_evaluations, shape)),
        "n_failed": (dims, np.zeros(shape, int)),
    }
    coords = {"tolerance": tolerances, "step_size": [0.5], "coordinate": list(declared.COORDINATES)}
    return xr.Dataset(made, coords)


def test_errors_of_means_come_from_between_chains_where_noise_may_stay():
    # Each chain stays near a place of its own: within them the mean looks far surer than it is.
    rng = np.random.default_rng(6)
    places = np.array([-1.0, -0.5, 0.5, 1.0])
    rates = places[None, None, :, None, None] + 0.1 * rng.normal(size=(1, 1, 4, 510, 4))
    draws, exact = recorded_draws(rates, [1.0], np.array(1)), exact_posterior(published_model("code"), 200)
    within, between = (
        float(chain_statistics(draws, method, 0, xr.DataArray(1.0), exact)["mcse_mean"].squeeze()[0])
        for method in ("chmc_all", "pm_summaries")
    )
    assert within < 0.05
    assert between == pytest.approx(1.66 * 0.456, rel=0.05)


def test_the_time_of_a_chain_follows_its_runs_of_the_generator():
    """Slices at tolerance 10 take more of them than at 100: they must not be given the time of an average chain."""
    exact = exact_posterior(published_model("code"), 200)
    rates = exact.mean + exact.sd * np.random.default_rng(8).normal(size=(2, 1, 4, 510, 4))
    draws = recorded_draws(rates, [10.0, 100.0], np.array([24, 12])[:, None, None, None])
    seconds = fraction_of_time(12.0, draws["n_evaluations"].sum("draw"))
    np.testing.assert_allclose(seconds.isel(step_size=0), [[2.0] * 4, [1.0] * 4])
    found = chain_statistics(draws, "ss_ball", 10, seconds, exact)
    xr.testing.assert_allclose(found["ess_per_second"] * found["chain_seconds"], found["ess"])


def test_methods_have_the_step_sizes_and_tolerances_of_the_thesis():
    constrained = next(case.settings for case in STUDY.cases("paper") if case.name == "constrained")
    assert declared.step_range(constrained, "chmc_all") == (4, 8)
    assert declared.step_sizes(constrained, "chmc_all") == (0.25,)
    assert declared.tolerances(constrained, "ss_ball") == (10.0, 100.0)


def test_own_data_without_initial_state_need_a_row_more(tmp_path):
    path = tmp_path / "short.csv"
    path.write_text("r,f\n" + "1.0,2.0\n" * 4)
    STUDY.settings([f"data={path}", "initial_state=[1.0,2.0]"])
    with pytest.raises(SettingsError, match="has 4 rows of data, needs at least 5"):
        STUDY.settings([f"data={path}"])
    with pytest.raises(SettingsError, match="leave data empty"):
        STUDY.settings([f"data={path}", "initial_state=[1.0,2.0]", "design=failures", "method=pm_ball"])


SCHEMES = get_args(generator.Scheme)
FORMS = get_args(conditioning.ConstraintForm)
LOG_GENERATING = np.log(GENERATING_RATES)


def own_model(scheme="code"):
    """A short series with every constant away from its default."""
    series = np.array([30.0, 20.0]) + np.cumsum(np.random.default_rng(8).normal(size=(7, 2)), axis=0)
    constants = {"time_step": 0.5, "noise_scales": (0.8, 1.3), "prior_mean": -3.0, "prior_sd": 0.7}
    return generator.lotka_volterra_model(series, scheme, initial_state=(29.0, 21.0), **constants)


def _reference_path(model, inputs):
    """The recursion as the specification writes it, one step at a time."""
    z1, z2, z3, z4 = np.exp(model.prior_mean + model.prior_sd * inputs[:4])
    prey, predators = model.initial_state
    path = []
    for prey_noise, predator_noise in inputs[4:].reshape(-1, 2):
        new_prey = prey + model.time_step * (z1 * prey - z2 * prey * predators)
        new_prey += math.sqrt(model.time_step) * model.noise_scales[0] * prey_noise
        food = new_prey if model.scheme == "code" else prey
        predators += model.time_step * (z4 * food * predators - z3 * predators)
        predators += math.sqrt(model.time_step) * model.noise_scales[1] * predator_noise
        prey = new_prey
        path.append((prey, predators))
    return np.array(path)


def _posterior_like_inputs(model, seed=0):
    """A point on the manifold: rates near those that generated the data, or near the prior mean for own data."""
    rng = np.random.default_rng(seed)
    is_published = model.n_steps == 50
    centre = LOG_GENERATING if is_published else np.full(4, -4.5)
    rate_inputs = jnp.asarray((centre - model.prior_mean) / model.prior_sd + 0.02 * rng.normal(size=4))
    return jnp.concatenate([rate_inputs, generator.noise_inputs(model, rate_inputs)])


def constraint_at(conditioned, inputs):
    """Constraint at a point, its derivative and Jacobian, and half the log-determinant of the latter."""

    @jax.jit
    def at(inputs):
        jacobian = conditioned.jacobian(inputs)
        matrix = jax.vmap(jacobian.times, out_axes=1)(jnp.eye(inputs.size))
        derivative = jax.jacfwd(conditioned.constraint)(inputs)
        return conditioned.constraint(inputs), derivative, matrix, jacobian.half_log_determinant

    return map(np.asarray, at(inputs))


def test_published_data_have_the_published_digits():
    data = published_data()
    assert data.shape == (50, 2)
    # Read off the published series of prey and predators at steps 1, 2 and 50.
    published = [
        (90.4714351637325, 102.856167821667),
        (81.564990606312, 105.790169896667),
        (50.3637230919427, 104.320389099381),
    ]
    np.testing.assert_allclose(data[[0, 1, 49]], published, rtol=0, atol=1e-11)
    assert data[:, 0].min() > 0.0
    # They come from the scheme of the code and not from that of the text.
    noise = np.random.RandomState(1234).normal(size=100)
    inputs = jnp.asarray(np.concatenate([LOG_GENERATING + 2.0, noise]))
    far = {scheme: np.abs(generator.residuals(published_model(scheme), inputs)).max() for scheme in SCHEMES}
    assert far["code"] < 1e-10
    assert 40.0 < far["text"] < 42.0


@pytest.mark.parametrize("scheme", SCHEMES)
def test_simulation_follows_the_recursion_of_its_scheme(scheme):
    model = own_model(scheme)
    inputs = np.random.default_rng(1).normal(size=model.n_inputs)
    found = generator.simulate(model, jnp.asarray(inputs))
    np.testing.assert_allclose(found, _reference_path(model, inputs), rtol=1e-12)


def test_overflow_is_quiet_and_not_finite_from_its_step_on():
    model = published_model()
    path = np.asarray(generator.simulate(model, jnp.zeros(model.n_inputs).at[3].set(3.0)))
    finite = np.isfinite(path).all(axis=1)
    assert finite[0]
    assert not finite[-1]
    assert np.all(np.diff(finite.astype(int)) <= 0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scheme", ["code", pytest.param("text", marks=pytest.mark.slow)])
@pytest.mark.parametrize("own", [pytest.param(False, marks=pytest.mark.slow), True], ids=["published", "own"])
def test_structured_jacobian_is_the_derivative_of_the_constraint(form, scheme, own):
    model = own_model(scheme) if own else published_model(scheme)
    conditioned, inputs = conditioned_model(model, form), _posterior_like_inputs(model)
    constraint, exact, jacobian, half_log_determinant = constraint_at(conditioned, inputs)
    assert np.abs(constraint).max() < 1e-9
    if form == "summaries" and own:
        # Eight steps leave some summaries nearly dependent; the matrix is dense all the same.
        assert np.linalg.matrix_rank(exact) == 9
    np.testing.assert_allclose(jacobian, exact, atol=1e-9 * np.abs(exact).max())
    assert half_log_determinant == pytest.approx(0.5 * np.linalg.slogdet(exact @ exact.T)[1], rel=1e-8)


def test_one_step_an_observation_is_the_published_model():
    model = published_model()
    finer = generator.with_finer_steps(model, 1)
    np.testing.assert_array_equal(finer.observations, model.observations)
    assert finer._replace(observations=model.observations) == model
    inputs = _posterior_like_inputs(model)
    plain, sparse = (
        jax.jit(lambda u, conditioned=conditioned: conditioned.jacobian(u).half_log_determinant)(inputs)
        for conditioned in (conditioned_model(model), conditioning.sparsely_conditioned_model(finer, 1))
    )
    assert float(sparse) == pytest.approx(float(plain), rel=1e-10)
    with pytest.raises(ValueError, match="steps_per_observation must be positive, got 0"):
        generator.with_finer_steps(model, 0)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_sparse_constraint_has_the_manifold_and_the_determinant_of_the_simulator(scheme):
    model = own_model(scheme)
    finer = generator.with_finer_steps(model, 3)
    conditioned = conditioning.sparsely_conditioned_model(finer, 3)
    inputs = _posterior_like_inputs(finer)
    simulate = lambda u: generator.simulate(finer, u)[2::3].reshape(-1)
    simulated, plain = jax.jit(lambda u: (simulate(u), jax.jacfwd(simulate)(u)))(inputs)
    constraint, *_, half_log_determinant = constraint_at(conditioned, inputs)
    assert np.abs(constraint).max() < 1e-9
    np.testing.assert_allclose(simulated, model.observations.ravel(), atol=1e-9)
    assert half_log_determinant == pytest.approx(0.5 * np.linalg.slogdet(plain @ plain.T)[1], rel=1e-8)
    # Off the manifold too the Jacobian is the derivative of the constraint.
    away = inputs + 0.1 * jnp.asarray(np.random.default_rng(3).normal(size=finer.n_inputs))
    _, derivative, jacobian, _ = constraint_at(conditioned, away)
    np.testing.assert_allclose(jacobian, derivative, atol=1e-9)


def test_teacher_forced_jacobian_is_exact_off_the_manifold_too():
    model = published_model()
    inputs = jnp.asarray(np.random.default_rng(3).normal(size=model.n_inputs))
    constraint, derivative, jacobian, _ = constraint_at(conditioned_model(model, "teacher_forced"), inputs)
    np.testing.assert_allclose(jacobian, derivative, rtol=1e-9, atol=1e-9)
    assert np.isfinite(constraint).all()
    assert not np.isfinite(conditioned_model(model, "generator").constraint(inputs)).all()


@pytest.mark.parametrize("form", ["teacher_forced", "generator"])
def test_potential_and_surface_element_give_the_ordinary_posterior(form):
    """Chart identity: exp(-phi) times the area of the manifold over u1 is the posterior density of u1."""
    model = published_model()
    conditioned = conditioned_model(model, form)
    posterior = exact_posterior(model)

    @jax.jit
    @jax.vmap
    def both(u1):
        inputs = jnp.concatenate([u1, generator.noise_inputs(model, u1)])
        slope = jax.jacfwd(lambda u: generator.noise_inputs(model, u))(u1)
        area = 0.5 * jnp.linalg.slogdet(jnp.eye(4) + slope.T @ slope)[1]
        potential = conditioned.jacobian(inputs).half_log_determinant - conditioned.log_prior(inputs)
        return area - potential, -0.5 * jnp.sum(jnp.square(inputs))

    log_rates = posterior.mean + posterior.sd * np.random.default_rng(4).normal(size=(5, 4))
    charts, ordinary = both(jnp.asarray(log_rates + 2.0))
    np.testing.assert_allclose(np.diff(charts), np.diff(ordinary), atol=1e-8)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_exact_posterior_agrees_with_quadrature(scheme):
    """Quadrature of the density of (log z3, log z4), written from the recursion of the model, not from its design."""
    model = published_model(scheme)
    posterior = exact_posterior(model)
    nodes, weights = np.polynomial.legendre.leggauss(160)
    axes = posterior.mean[2:, None] + 7.0 * posterior.sd[2:, None] * nodes
    z3, z4 = np.exp(axes[0])[:, None, None], np.exp(axes[1])[None, :, None]
    path = np.concatenate([[model.initial_state], model.observations])
    food = path[1:, 0] if scheme == "code" else path[:-1, 0]
    mean = path[:-1, 1] + z4 * food * path[:-1, 1] - z3 * path[:-1, 1]
    log_prior = -0.5 * np.add.outer((axes[0] + 2.0) ** 2, (axes[1] + 2.0) ** 2)
    log_density = log_prior - 0.5 * np.sum((path[1:, 1] - mean) ** 2, axis=2)
    table = np.exp(log_density - log_density.max()) * np.outer(weights, weights)
    table /= table.sum()
    for rate, (axis, marginal) in enumerate(zip(axes, (table.sum(axis=1), table.sum(axis=0)), strict=True)):
        mean = marginal @ axis
        sd = math.sqrt(marginal @ (axis - mean) ** 2)
        assert posterior.mean[2 + rate] == pytest.approx(mean, abs=1e-6)
        assert posterior.sd[2 + rate] == pytest.approx(sd, rel=1e-5)


def test_exact_posterior_has_the_published_moments_only_under_the_code_scheme():
    code, text = (exact_posterior(published_model(scheme)) for scheme in ("code", "text"))
    np.testing.assert_allclose(code.mean, [-0.905, -5.298, -2.926, -6.892], atol=1e-3)
    np.testing.assert_allclose(code.sd, [0.0312, 0.0290, 0.0698, 0.0615], atol=1e-4)
    assert abs(text.mean[3] - code.mean[3]) / code.sd[3] > 1.0
    np.testing.assert_allclose(text.mean[:2], code.mean[:2], atol=1e-12)


def test_densities_integrate_to_one_and_to_the_distribution():
    posterior = exact_posterior(own_model())
    for rate in range(4):
        density, points = posterior.density[rate], posterior.points[rate]
        below = integrate.cumulative_trapezoid(density, points, initial=0.0)
        assert below[-1] == pytest.approx(1.0, abs=1e-9)
        np.testing.assert_allclose(posterior.cumulative(points, rate), below, atol=1e-4)


def test_uninformative_data_leave_the_prior():
    # No predators and no prey: the means of the increments do not depend on the rates.
    constants = {"initial_state": (0.0, 0.0), "prior_mean": -1.0, "prior_sd": 0.5}
    posterior = exact_posterior(generator.lotka_volterra_model(np.zeros((5, 2)), **constants))
    np.testing.assert_allclose(posterior.mean, -1.0, atol=1e-6)
    np.testing.assert_allclose(posterior.sd, 0.5, rtol=1e-5)


@pytest.mark.parametrize(("convention", "ddof"), [("population", 0), ("sample", 1)])
def test_summaries_are_those_of_numpy(convention, ddof):
    data = published_data()
    values = summary_statistics(data, convention)
    assert values.shape == (len(SUMMARY_NAMES),)
    variances = data.var(axis=0, ddof=ddof)
    a, b = ((data - data.mean(axis=0)) / np.sqrt(variances)).T
    expected = [
        *data.mean(axis=0),
        *(np.log1p(variances) if ddof else np.log(variances)),
        *(np.sum(x[:-lag] * x[lag:]) / (len(x) - (ddof or lag)) for x in (a, b) for lag in (1, 2)),
        np.corrcoef(data, rowvar=False)[0, 1],
    ]
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_summaries_of_jax_and_numpy_agree_and_batch():
    paths = np.random.default_rng(5).normal(size=(3, 4, 10, 2))
    batched = summary_statistics(paths)
    assert batched.shape == (3, 4, 9)
    single = jax.vmap(jax.vmap(summary_statistics))(jnp.asarray(paths))
    np.testing.assert_allclose(single, batched, rtol=1e-10)


@pytest.mark.parametrize(("limited", "lowest"), [("size", -1e5), ("above", -1e300)])
def test_summary_scales_are_standard_deviations_of_kept_draws(limited, lowest):
    model = published_model()
    scales = prior_summary_scales(model, np.random.default_rng(7), 100_000, limited=limited)
    drawn = simulate_prior(model, np.random.default_rng(7), 100_000, lowest=lowest)
    np.testing.assert_allclose(scales.scales, summary_statistics(drawn.paths).std(axis=0), rtol=1e-12)
    assert scales.n_kept == len(drawn.paths) > 0
    assert (drawn.paths.min() < -1e5) == (limited == "above")
    assert drawn.paths.max() <= 1e5


@pytest.mark.parametrize("scheme", SCHEMES)
def test_batched_simulator_makes_the_paths_of_the_plain_one(scheme):
    """Without noise a path is a function of its rates, so that kept paths and rates can be compared."""
    noisy = own_model(scheme)
    model = noisy._replace(noise_scales=(1e-12, 1e-12))
    drawn = simulate_prior(model, np.random.default_rng(9), 5000)
    assert 0 < len(drawn.paths) < 5000
    for rate_inputs, path in zip(drawn.rate_inputs[:20], drawn.paths[:20], strict=True):
        expected = _reference_path(model, np.concatenate([rate_inputs, np.zeros(2 * model.n_steps)]))
        np.testing.assert_allclose(path, expected, rtol=1e-6, atol=1e-6)
    assert np.abs(drawn.paths).max() <= 1e5


def test_rejection_reads_the_tolerance_as_distance_or_squared_distance():
    rng = np.random.default_rng(12)
    distances = prior_distances(own_model(), rng, 3000, lambda paths: np.abs(paths[:, 0, 0] - 30.0))
    within, within_root = (int(np.sum(distances <= bound)) for bound in (2.0, math.sqrt(2.0)))
    assert n_accepted(distances, 2.0) == within > n_accepted(distances, 2.0, "l2_squared") == within_root > 0
    with pytest.raises(ValueError, match="l2, l2_squared, got 'l1'"):
        n_accepted(distances, 2.0, "l1")
    # A distance that is not a number is never accepted.
    assert n_accepted(prior_distances(own_model(), rng, 100, lambda x: np.full(len(x), np.nan)), 1e300) == 0


def built(shape=(6, 2), last=1.0, **options):
    """A model of a series of ones, but for its last number."""
    series = np.ones(shape)
    series[-1, -1] = last
    return generator.lotka_volterra_model(series, **options)


def test_first_row_can_be_the_initial_state():
    data = np.arange(12.0).reshape(6, 2)
    model = generator.lotka_volterra_model(data, initial_state=None)
    assert model.initial_state == (0.0, 1.0)
    np.testing.assert_array_equal(model.observations, data[1:])


def test_a_file_with_a_column_of_times_is_rejected(tmp_path):
    path = tmp_path / "series.csv"
    path.write_text("t,r,f\n" + "0,1,2\n" * 5)
    with pytest.raises(DataError, match="expected 2 columns, prey and predators, got 3"):
        read_populations(path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: conditioned_model(published_model(), "forced"),
            "teacher_forced, generator, summaries, got 'forced'",
        ),
        (lambda: exact_posterior(published_model(), 10), "n_points must be at least 50, got 10"),
        (lambda: summary_statistics(np.zeros((5, 3))), r"\[..., step, 2\], got shape \(5, 3\)"),
        (lambda: summary_statistics(np.zeros((5, 2)), "other"), "got 'other'"),
        (lambda: prior_summary_scales(published_model(), np.random.default_rng(0), 3), "draw more"),
        (
            lambda: simulate_prior(own_model(), np.random.default_rng(0), 0),
            "n_draws must be a positive integer, got 0",
        ),
        (lambda: built((6, 3)), r"matrix \[step, 2\] of prey and predators, got shape \(6, 3\)"),
        (lambda: built((3, 2)), "at least 4 rows after the initial state, got 3"),
        (lambda: built((4, 2), initial_state=None), "at least 4 rows after the initial state, got 3"),
        (lambda: built(initial_state=(1.0,)), "two finite numbers, prey and predators"),
        (lambda: built(initial_state=(1.0, math.nan)), "two finite numbers, prey and predators"),
        (lambda: built(time_step=0.0), "time_step must be positive and finite, got 0.0"),
        (lambda: built(noise_scales=(1.0, -1.0)), "noise_scales must be positive and finite, got -1.0"),
        (lambda: built(noise_scales=(1.0,)), "noise_scales must be two numbers"),
        (lambda: built(prior_sd=math.inf), "prior_sd must be positive and finite, got inf"),
        (lambda: built(prior_mean=math.nan), "prior_mean must be finite, got nan"),
        (lambda: built(scheme="euler"), "scheme must be one of code, text, got 'euler'"),
        (lambda: built(last=math.inf), r"inf at row 5, column 1 \(predators"),
    ],
)
def test_wrong_arguments_are_rejected(call, message):
    with pytest.raises(ValueError, match=message):
        call()
