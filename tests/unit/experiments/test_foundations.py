"""Foundations: every line is measured, exact lines do not depend on the seed; algorithms against closed forms."""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.judging.study_tables import claims_of
from auxmc_pipeline.tables import load_tables
from experiments.estimator_illustrations import model as gaussian_mean
from experiments.foundations import claims, run, sampling
from experiments.foundations.chains import slices
from experiments.foundations.chains.inputs import mixture_density
from experiments.foundations.evidence import sequential
from experiments.foundations.evidence.nested import expected_upper_bound_ratio
from experiments.foundations.models import machines, tape
from experiments.foundations.models.generators import geometric_brownian_motion, hyperbola, simulate_sde
from experiments.foundations.topic import Work, measurements

RECORDS = load_tables(ROOT / "published" / "paper" / "foundations" / "tables")
PUBLISHED = dict(RECORDS.rows("line", "measured")[["line", "measured"]].to_numpy())
EFFORTS = {"numbers": 1e-3, "chains": 0.01, "evidence": 1e-4, "models": 0.02}
# Simulations that take long even so.
SLOW = {"FN-EX-01", "FN-HM-09", "FN-SL-01", "FN-SL-05"}
SLOW |= {"FN-SM-01", "FN-SM-02", "FN-SM-03", "FN-SM-04"}


@functools.cache
def work(design, seed):
    return Work(seed, "foundations", EFFORTS[design])


@functools.cache
def measured(claim, seed=1):
    design = next(name for name in run.TOPICS if claim in run.claims_of(name))
    return measurements(run.claims_of(design)[claim](work(design, seed)))


def curves(design, figure):
    return run.curves_of(design)[figure](work(design, 1))


def listed():
    """Settings of every claim: lines of the table of claims, and numbers of findings."""
    topics = itertools.chain.from_iterable(run.TOPICS.values())
    found = {claim: set(settings) for module in topics for claim, settings in module.TOPIC.numbers.items()}
    for claim, setting in claims_of(load_study("foundations"))[["claim_id", "setting"]].to_numpy():
        if setting not in claims.DERIVED.get(claim, {}):
            found[claim].add(setting)
    return found


@pytest.mark.parametrize(
    "design",
    ["numbers", "evidence", *(pytest.param(name, marks=pytest.mark.slow) for name in ("chains", "models"))],
)
def test_every_line_is_measured_and_the_exact_ones_are_the_published_ones_for_every_seed(design):
    for claim in set(run.claims_of(design)) - SLOW:
        assert set(measured(claim)) == listed()[claim]
        for setting, found in measured(claim).items():
            line = f"{claim} {setting}"
            others = [measured(claim, seed)[setting].value for seed in (2, 3)]
            assert math.isfinite(found.value), line
            if found.exact:
                assert found.error == 0.0, line
                assert found.value == pytest.approx(others[0], rel=1e-12, abs=1e-15), line
                assert found.value == pytest.approx(PUBLISHED[line], rel=1e-9, abs=1e-12), line
                continue
            # A fraction of 0 or 1 may stay so, and knows how large it could be.
            assert found.error > 0.0, line
            # Few trials can agree by chance, but hardly with two others.
            alike = all(found.value == other for other in others)
            assert not alike or found.value in (0.0, 1.0), f"{line} is a constant that is not declared exact"


def test_the_build_up_of_a_slice_update_ends_in_the_other_mode():
    arrays = curves("chains", "slides_slice")
    first, grown, once, twice = arrays["bracket"].values
    assert grown[0] < -0.2 < first[0]
    lengths = [np.ptp(ends) for ends in (grown, once, twice)]
    assert lengths[0] > lengths[1] > lengths[2]
    start, height, new, _ = arrays["mark"].values
    assert twice[0] < new < 0.0 < start < twice[1]
    assert mixture_density(slices.OVERLAPPING, new) > height


def test_particles_of_the_figure_descend_from_their_ancestors():
    ancestors = curves("evidence", "slides_particle_filter")["ancestor"]
    n = ancestors.sizes["particle"]
    assert np.all(ancestors.sel(tree="none") == np.arange(n))
    resampled = ancestors.sel(tree="each step").values
    assert all(len(set(step)) < n for step in resampled)


def test_the_upper_sum_with_true_masses_is_that_of_simulated_runs():
    model, n_live = gaussian_mean.FOUR_OBSERVATIONS, 3
    sizes = {"n_live": n_live, "n_dead": 60, "n_runs": 20_000}
    rng = np.random.default_rng(4)
    found = gaussian_mean.ideal_nested_sampling(rng, ndtr, ndtri, model.sample_mean, **sizes)
    shells = -np.diff(found.masses, axis=1, prepend=1.0)
    sums = np.sum(np.exp(model.log_likelihood(found.dead) - model.log_evidence) * shells, axis=1)
    error = sums.std() / math.sqrt(sums.size)
    assert error < 0.01
    assert abs(sums.mean() - expected_upper_bound_ratio(model, n_live)) < 4.0 * error
    # A narrow likelihood has the bound of small masses.
    narrow = gaussian_mean.HUNDRED_OBSERVATIONS._replace(prior_variance=1e6)
    assert expected_upper_bound_ratio(narrow, 10) == pytest.approx(10.0 / 9.0, abs=1e-9)


OTHER = sequential.LinearGaussianStates(-0.4, 1.3, 0.2, 2.5)


@pytest.mark.parametrize("model", [sequential.TWENTY_STEPS, OTHER])
@pytest.mark.parametrize("n", [1, 2, 20])
def test_filter_and_likelihood_are_those_of_the_joint_gaussian(model, n):
    values, times, variances = sequential.SINE_OBSERVATIONS[:n], np.arange(n), [model.initial_variance]
    for _ in range(n - 1):
        variances.append(model.coefficient**2 * variances[-1] + model.state_variance)
    # Covariance of the states and of the observations.
    lags = np.abs(np.subtract.outer(times, times))
    states = np.array(variances)[np.minimum.outer(times, times)] * model.coefficient**lags
    observed = states + model.noise_variance * np.eye(n)
    found = sequential.kalman_filter(model, values)
    exact = stats.multivariate_normal.logpdf(values, np.zeros(n), observed)
    assert found.log_likelihood == pytest.approx(exact, abs=1e-10)
    gain = np.linalg.solve(observed, states[:, -1])
    assert found.mean[-1] == pytest.approx(gain @ values, abs=1e-11)
    assert found.variance[-1] == pytest.approx(states[-1, -1] - gain @ states[:, -1], abs=1e-11)


@pytest.mark.parametrize(("scheme", "fraction"), [("euler_maruyama", 0.0), ("milstein", 1.0)])
def test_steps_are_those_of_a_loop(scheme, fraction):
    noise, step = np.random.default_rng(5).normal(size=(32, 2)), 0.05
    y, states = np.array([1.0, 2.0]), []
    drift = lambda y: jnp.stack([0.5 * y[0] - y[1], jnp.sin(y[0])])
    diffusion = lambda y: 0.3 * jnp.sqrt(1.0 + y**2)
    found = simulate_sde(drift, diffusion, jnp.asarray(y), jnp.asarray(noise), step, scheme)
    for n in noise:
        root = np.sqrt(1.0 + y**2)
        s, slope = 0.3 * root, 0.3 * y / root
        m = np.array([0.5 * y[0] - y[1], np.sin(y[0])])
        y = y + step * m + np.sqrt(step) * s * n + fraction * 0.5 * step * s * slope * (n**2 - 1.0)
        states.append(y)
    np.testing.assert_allclose(found, states, rtol=1e-12)


def test_the_exact_path_solves_in_the_limit():
    # Noise refined by halving: Milstein's error falls about fourfold where steps are four times as many.
    fine = np.random.default_rng(11).normal(size=(512, 1))
    errors = []
    for n_steps in (32, 128, 512):
        noise = jnp.asarray(fine.reshape(n_steps, -1).sum(axis=1, keepdims=True) / np.sqrt(512 // n_steps))
        start, step = jnp.ones(1), 1.0 / n_steps
        exact = geometric_brownian_motion(start, 0.5, 0.4, noise, step)
        path = simulate_sde(lambda y: 0.5 * y, lambda y: 0.4 * y, start, noise, step, "milstein")
        errors.append(float(jnp.max(jnp.abs(path - exact))))
    assert errors[0] > 2.0 * errors[1] > 4.0 * errors[2]
    assert errors[2] < 2e-3


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_points_lie_on_the_fibre(sign):
    points = hyperbola(sign, np.linspace(-1.0, 1.0, 7))
    np.testing.assert_allclose(np.square(points) @ [1.0, -1.0], 1.0, rtol=1e-13)
    assert np.all(np.sign(points[:, 0]) == sign)


def test_a_transformed_normal_is_lognormal():
    log_density = sampling.transformed_log_density(lambda u: jnp.sum(jax.scipy.stats.norm.logpdf(u)), jnp.log)
    x = jnp.geomspace(0.01, 30.0, 50)
    found = jax.jit(jax.vmap(log_density))(x[:, None])
    np.testing.assert_allclose(found, stats.lognorm.logpdf(x, 1.0), rtol=1e-12)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_precision_is_kept_and_the_largest_uniform_number_gives_a_finite_normal_one(dtype):
    largest = 1.0 - 0.5 * jnp.finfo(dtype).eps
    u = 1.0 - jnp.asarray([0.0, largest], dtype)
    numbers = jax.jit(sampling.box_muller)(jnp.stack([u, jnp.zeros(2, dtype)], axis=-1))
    assert numbers.dtype == dtype
    assert bool(jnp.all(jnp.isfinite(numbers)))
    digits = 24 if dtype == jnp.float32 else 53
    assert float(numbers[1, 0]) == pytest.approx(math.sqrt(2.0 * digits * math.log(2.0)), rel=1e-6)


DISTRIBUTIONS = {
    "normal": (sampling.normal(1.5, 0.3), stats.norm(1.5, 0.3)),
    "generalised logistic": (sampling.generalised_logistic(0.4), None),
}


@pytest.mark.parametrize(("distribution", "known"), DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_distribution_functions_undo_quantiles_and_have_the_density_as_slope(distribution, known):
    small = np.geomspace(1e-12, 0.5, 200)
    tiny = np.geomspace(1e-300, 1e-3, 400)

    @jax.jit
    def evaluate(u, x):
        points = distribution.quantile(u)
        slopes = jax.vmap(jax.grad(distribution.distribution_function))(points)
        there = slopes, jnp.exp(distribution.log_density(points)), distribution.distribution_function(points)
        return *there, distribution.log_density(x), distribution.distribution_function(x)

    inside = np.linspace(0.02, 0.98, 25)
    u = np.concatenate([small, 1.0 - small, tiny, inside])
    x = np.zeros(1) if known is None else np.r_[-2.0, 0.0, known.ppf(np.linspace(0.01, 0.99, 30))]
    slopes, densities, back, log_densities, probabilities = map(np.asarray, evaluate(u, x))
    np.testing.assert_allclose(back, u, atol=1e-12)
    # Small probabilities keep their digits.
    assert np.max(np.abs(np.log(back[400:800] / tiny))) < 1e-9
    np.testing.assert_allclose(slopes[-25:], densities[-25:], rtol=1e-10)
    if known is not None:
        np.testing.assert_allclose(log_densities, known.logpdf(x), rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(probabilities, known.cdf(x), atol=1e-13)


def test_no_uniform_number_of_the_draws_is_zero_or_one():
    seen = []
    identity = sampling.Distribution(lambda x: x, lambda x: x, lambda u: seen.append(u) or u)
    sampling.draw_by_inversion(jax.random.key(6), identity, (100_000,))
    (u,) = (np.asarray(values) for values in seen)
    assert 0.0 < u.min() < 1e-3
    assert 1.0 - 1e-3 < u.max() < 1.0
    np.testing.assert_array_equal(u * 2.0**53 % 2.0, 1.0)


MACHINE = machines.three_by_two()
BIGGER = machines.RestrictedBoltzmann(
    np.random.default_rng(2).normal(size=(4, 3)), np.array([0.3, -0.2, 0.1, 1.0]), np.array([0.5, -1.0, 0.0])
)


@pytest.mark.parametrize("machine", [MACHINE, BIGGER], ids=["three by two", "four by three"])
def test_the_gradient_is_that_of_automatic_differentiation(machine):
    n_visible = len(machine.visible_biases)
    data = machines.layer_states(n_visible)[[1, 2, 2, 5]]

    def mean_log_likelihood(m):
        def log_weight(v):
            fields = jax.nn.softplus(v @ m.weights - m.hidden_biases[None, :])
            return jnp.sum(fields, axis=-1) - v @ m.visible_biases

        log_total = jax.nn.logsumexp(log_weight(jnp.asarray(machines.layer_states(n_visible))))
        return jnp.mean(log_weight(jnp.asarray(data))) - log_total

    expected = jax.jit(jax.grad(mean_log_likelihood))(jax.tree.map(jnp.asarray, machine))
    found = machines.expected_contrastive_divergence(machine, data, None)
    jax.tree.map(functools.partial(np.testing.assert_allclose, atol=1e-13), found, expected)


def mixed(x, y, z):
    """Every operation, variables used twice, constants on the right."""
    shared = (x * y + 2.0).log()
    return [shared / y - z.sin(), (z - x * 0.5).half_square() + shared.exp(), shared * shared]


def mixed_in_jax(u):
    x, y, z = u
    shared = jnp.log(x * y + 2.0)
    return jnp.stack([shared / y - jnp.sin(z), 0.5 * (z - 0.5 * x) ** 2 + jnp.exp(shared), shared**2])


@pytest.mark.parametrize("by", [tape.jacobian_by_rows, tape.jacobian_by_columns])
def test_jacobians_are_those_of_jax(by):
    point = np.array([0.7, 1.3, -0.4])
    expected = jax.jacobian(mixed_in_jax)(jnp.asarray(point))
    np.testing.assert_allclose(by(tape.record(mixed, 3), point), expected, rtol=1e-13, atol=1e-14)


def test_an_input_that_is_not_used_has_derivative_zero():
    graph = tape.record(lambda x, y: x * 2.0, 2)
    values = tape.evaluate(graph, [3.0, 4.0])
    assert tape.reverse_sweep(graph, values, [1.0])[:2] == [2.0, 0.0]
