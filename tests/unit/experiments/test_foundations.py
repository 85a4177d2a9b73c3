"""Foundations: every line is measured, exact lines do not depend on the seed; algorithms against closed forms."""

import csv
import functools
import math
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import ndtr, ndtri

from auxmc.numerics.random import standard_normal
from auxmc_pipeline.catalogue import ROOT
from auxmc_pipeline.tables import load_tables
from experiments.estimator_illustrations.model import FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS
from experiments.foundations import run, sampling
from experiments.foundations.chains import slices
from experiments.foundations.chains.inputs import mixture_density
from experiments.foundations.evidence import sequential
from experiments.foundations.evidence.nested import (
    expected_nested_ratio,
    expected_upper_bound_ratio,
    ideal_nested_sampling,
)
from experiments.foundations.models import tape
from experiments.foundations.models.generators import (
    Branch,
    fibre_integral,
    geometric_brownian_motion,
    hyperbola_branches,
    simulate_sde,
)
from experiments.foundations.models.machines import (
    LAYER_DATA,
    RestrictedBoltzmann,
    block_gibbs_matrices,
    contrastive_divergence,
    expected_contrastive_divergence,
    layer_states,
    likelihood_gradient,
    log_likelihood,
    log_normaliser,
    log_weights_visible,
    three_by_two,
    visible_transition,
)
from experiments.foundations.numbers.sampling import smallest_period
from experiments.foundations.sampling import (
    Distribution,
    box_muller,
    draw_by_inversion,
    inverse_box_muller,
    transformed_log_density,
    uniform_from_bits,
)
from experiments.foundations.topic import Work, measurements

RECORDS = load_tables(ROOT / "published" / "paper" / "foundations" / "tables")
PUBLISHED = dict(RECORDS.rows("line", "measured")[["line", "measured"]].to_numpy())
EFFORTS = {"numbers": 1e-3, "chains": 0.01, "evidence": 1e-4, "models": 0.02}
# Simulations that take long even so.
SLOW = {"FN-IS-03", "FN-EX-01", "FN-HM-09", "FN-SL-05"}
SLOW |= {"FN-SM-01", "FN-SM-02", "FN-SM-03", "FN-SM-04", "FN-SM-05"}


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
    found = {
        claim: set(settings)
        for topics in run.TOPICS.values()
        for module in topics
        for claim, settings in module.TOPIC.numbers.items()
    }
    with Path(run.__file__).with_name("claims.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["claim_id"]].add(row["setting"])
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
                assert found.value == others[0], line
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


@pytest.mark.parametrize("n_live", [2, 10, 1000])
@pytest.mark.parametrize("model", [FOUR_OBSERVATIONS, HUNDRED_OBSERVATIONS._replace(prior_variance=9.0)])
def test_one_less_one_over_the_live_points_is_unbiased(n_live, model):
    assert expected_nested_ratio(model, n_live, 1.0 - 1.0 / n_live) == pytest.approx(1.0, abs=1e-10)


def test_the_upper_sum_with_true_masses_is_that_of_simulated_runs():
    model, n_live = FOUR_OBSERVATIONS, 3
    found = ideal_nested_sampling(
        np.random.default_rng(4), ndtr, ndtri, model.sample_mean, n_live=n_live, n_dead=60, n_runs=20_000
    )
    shells = -np.diff(found.masses, axis=1, prepend=1.0)
    sums = np.sum(np.exp(model.log_likelihood(found.dead) - model.log_evidence) * shells, axis=1)
    error = sums.std() / math.sqrt(sums.size)
    assert error < 0.01
    assert abs(sums.mean() - expected_upper_bound_ratio(model, n_live)) < 4.0 * error


def test_a_narrow_likelihood_has_the_bound_of_small_masses():
    narrow = HUNDRED_OBSERVATIONS._replace(prior_variance=1e6)
    assert expected_upper_bound_ratio(narrow, 10) == pytest.approx(10.0 / 9.0, abs=1e-9)


CENTRE = 2.0


def runs(n_live=6, n_dead=40, n_runs=300):
    rng = np.random.default_rng(n_live)
    return ideal_nested_sampling(rng, ndtr, ndtri, CENTRE, n_live=n_live, n_dead=n_dead, n_runs=n_runs)


def test_points_die_from_the_outside_and_live_ones_are_inside():
    found = runs()
    distances = np.abs(found.dead - CENTRE)
    assert np.all(np.diff(distances, axis=1) <= 0.0)
    assert np.all(np.abs(found.live - CENTRE) <= distances[:, -1:])
    assert found.dead.shape == found.masses.shape == (300, 40)
    assert found.live.shape == (300, 6)


def test_masses_are_those_of_the_prior_inside_the_contour():
    found = runs()
    distances = np.abs(found.dead - CENTRE)
    np.testing.assert_allclose(found.masses, ndtr(CENTRE + distances) - ndtr(CENTRE - distances), atol=1e-14)
    assert np.all(np.diff(found.masses, axis=1) <= 0.0)
    assert np.all((found.masses > 0.0) & (found.masses <= 1.0))


OTHER = sequential.LinearGaussianStates(-0.4, 1.3, 0.2, 2.5)


def joint(model, n):
    """Covariance of the states and of the observations."""
    variances = [model.initial_variance]
    for _ in range(n - 1):
        variances.append(model.coefficient**2 * variances[-1] + model.state_variance)
    first, second = (
        np.minimum.outer(np.arange(n), np.arange(n)),
        np.abs(np.subtract.outer(np.arange(n), np.arange(n))),
    )
    states = np.array(variances)[first] * model.coefficient**second
    return states, states + model.noise_variance * np.eye(n)


@pytest.mark.parametrize("model", [sequential.TWENTY_STEPS, OTHER])
@pytest.mark.parametrize("n", [1, 2, 20])
def test_filter_and_likelihood_are_those_of_the_joint_gaussian(model, n):
    values = sequential.SINE_OBSERVATIONS[:n]
    states, observed = joint(model, n)
    found = sequential.kalman_filter(model, values)
    exact = stats.multivariate_normal.logpdf(values, np.zeros(n), observed)
    assert found.log_likelihood == pytest.approx(exact, abs=1e-10)
    gain = np.linalg.solve(observed, states[:, -1])
    assert found.mean[-1] == pytest.approx(gain @ values, abs=1e-11)
    assert found.variance[-1] == pytest.approx(states[-1, -1] - gain @ states[:, -1], abs=1e-11)


def test_emissions_are_normal_densities_below_their_largest():
    states = jnp.linspace(-3.0, 3.0, 7)
    found = OTHER.log_emission(jnp.asarray(0.4), states)
    np.testing.assert_allclose(found, stats.norm.logpdf(0.4, states, math.sqrt(0.2)), rtol=1e-13)
    assert float(found.max()) <= OTHER.log_largest_likelihood(1)
    assert OTHER.log_largest_likelihood(3) == pytest.approx(3.0 * stats.norm.logpdf(0.0, 0.0, math.sqrt(0.2)))


def test_states_are_maps_of_standard_normal_numbers():
    key = jax.random.key(0)
    normal = np.asarray(standard_normal(key, (5,)))
    states = OTHER.draw_initial(key, 5)
    np.testing.assert_allclose(states, math.sqrt(2.5) * normal, rtol=1e-14)
    np.testing.assert_allclose(
        OTHER.draw_next(key, states), -0.4 * np.asarray(states) + math.sqrt(1.3) * normal, rtol=1e-13
    )


NOISE = np.random.default_rng(5).normal(size=(32, 2))
START = jnp.array([1.0, 2.0])
STEP = 0.05


def drift(y):
    return jnp.stack([0.5 * y[0] - y[1], jnp.sin(y[0])])


def diffusion(y):
    return 0.3 * jnp.sqrt(1.0 + y**2)


def loop(fraction_of_correction):
    y, states = np.array([1.0, 2.0]), []
    for n in NOISE:
        root = np.sqrt(1.0 + y**2)
        s, slope = 0.3 * root, 0.3 * y / root
        m = np.array([0.5 * y[0] - y[1], np.sin(y[0])])
        correction = fraction_of_correction * 0.5 * STEP * s * slope * (n**2 - 1.0)
        y = y + STEP * m + np.sqrt(STEP) * s * n + correction
        states.append(y)
    return np.array(states)


@pytest.mark.parametrize(("scheme", "fraction"), [("euler_maruyama", 0.0), ("milstein", 1.0)])
def test_steps_are_those_of_a_loop(scheme, fraction):
    found = simulate_sde(drift, diffusion, START, jnp.asarray(NOISE), STEP, scheme)
    np.testing.assert_allclose(found, loop(fraction), rtol=1e-12)


def test_the_exact_path_solves_in_the_limit():
    # Noise refined by halving: Milstein's error falls about fourfold where steps are four times as many.
    fine = np.random.default_rng(11).normal(size=(512, 1))
    errors = []
    for n_steps in (32, 128, 512):
        noise = jnp.asarray(fine.reshape(n_steps, -1).sum(axis=1, keepdims=True) / np.sqrt(512 // n_steps))
        exact = geometric_brownian_motion(jnp.ones(1), 0.5, 0.4, noise, 1.0 / n_steps)
        path = simulate_sde(
            lambda y: 0.5 * y, lambda y: 0.4 * y, jnp.ones(1), noise, 1.0 / n_steps, "milstein"
        )
        errors.append(float(jnp.max(jnp.abs(path - exact))))
    assert errors[0] > 2.0 * errors[1] > 4.0 * errors[2]
    assert errors[2] < 2e-3


def test_points_lie_on_the_fibre_and_move_at_their_speed():
    for branch in hyperbola_branches():
        t = np.linspace(-1.0, 1.0, 7)
        np.testing.assert_allclose(np.square(branch.points(t)) @ [1.0, -1.0], 1.0, rtol=1e-13)
        slopes = (branch.points(t + 1e-6) - branch.points(t - 1e-6)) / 2e-6
        np.testing.assert_allclose(np.linalg.norm(slopes, axis=1), branch.speeds(t), rtol=1e-8)


def test_an_integrand_that_has_not_vanished_at_the_ends_is_rejected():
    first = hyperbola_branches()[0]
    short = Branch(first.points, first.speeds, (-1, 1))
    with pytest.raises(ValueError, match=r"does not vanish at the ends \(-1, 1\)"):
        fibre_integral(lambda u: np.ones(len(u)), lambda u: np.ones(len(u)), [short])


@pytest.mark.parametrize(
    ("sequence", "period"),
    [([7], 1), ([1, 1, 1], 1), ([1, 2, 3], 3), ([1, 2, 1, 2, 1], 2), ([0, 0, 1, 0, 0], 3)],
)
def test_periods_of_short_sequences(sequence, period):
    assert smallest_period(sequence) == period


WIDTHS = [(jnp.float32, 32, 24), (jnp.float64, 64, 53)]


def patterns(width):
    numbers = sorted({p for k in range(width) for p in (0, 2**k - 1, 2**k, 2**width - 2**k, 2**width - 1)})
    return jnp.asarray(np.array(numbers, f"uint{width}"))


@pytest.mark.parametrize(("dtype", "width", "digits"), WIDTHS)
def test_floats_are_multiples_of_their_resolution_below_one(dtype, width, digits):
    uniforms = uniform_from_bits(patterns(width), dtype)
    assert uniforms.dtype == dtype
    values = np.asarray(uniforms, np.float64)
    assert values.min() == 0.0
    assert values.max() == 1.0 - 2.0**-digits
    assert np.all(np.diff(values) >= 0.0)
    np.testing.assert_array_equal(values * 2.0**digits % 1.0, 0.0)


def log_normal_distribution(u):
    return jnp.sum(-0.5 * u**2 - 0.5 * math.log(2.0 * math.pi))


def test_a_transformed_normal_is_lognormal():
    log_density = transformed_log_density(log_normal_distribution, jnp.log)
    x = jnp.geomspace(0.01, 30.0, 50)[:, None]
    np.testing.assert_allclose(
        jax.jit(jax.vmap(log_density))(x), stats.lognorm.logpdf(x[:, 0], 1.0), rtol=1e-12
    )


def test_the_inverse_transform_gives_the_density_back():
    there = transformed_log_density(
        log_normal_distribution, lambda x: jnp.stack([jnp.arcsinh(x[0]), x[1] - x[0] ** 2])
    )
    back = transformed_log_density(there, lambda u: jnp.stack([jnp.sinh(u[0]), u[1] + jnp.sinh(u[0]) ** 2]))
    points = jnp.asarray(np.random.default_rng(3).normal(size=(20, 2)))
    np.testing.assert_allclose(
        jax.jit(jax.vmap(back))(points), jax.vmap(log_normal_distribution)(points), rtol=1e-12
    )


def test_box_muller_at_quarter_turns():
    u = jnp.array([[math.exp(-2.0), turn] for turn in (0.0, 0.25, 0.5, 0.75)])
    np.testing.assert_allclose(box_muller(u), [[2, 0], [0, 2], [-2, 0], [0, -2]], atol=1e-15)


def test_the_inverse_holds_in_all_quadrants_and_stays_below_a_turn():
    line = jnp.linspace(0.02, 0.98, 25)
    u = jnp.stack(jnp.meshgrid(line, line), axis=-1)
    np.testing.assert_allclose(jax.jit(lambda v: inverse_box_muller(box_muller(v)))(u), u, atol=1e-14)
    assert float(inverse_box_muller(jnp.array([1.0, -1e-300]))[1]) == 0.0


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_precision_is_kept_and_the_largest_uniform_number_gives_a_finite_normal_one(dtype):
    largest = 1.0 - 0.5 * jnp.finfo(dtype).eps
    u = 1.0 - jnp.asarray([0.0, largest], dtype)
    numbers = jax.jit(box_muller)(jnp.stack([u, jnp.zeros(2, dtype)], axis=-1))
    assert numbers.dtype == dtype
    assert bool(jnp.all(jnp.isfinite(numbers)))
    digits = 24 if dtype == jnp.float32 else 53
    assert float(numbers[1, 0]) == pytest.approx(math.sqrt(2.0 * digits * math.log(2.0)), rel=1e-6)


DISTRIBUTIONS = {
    "normal": (sampling.normal(1.5, 0.3), stats.norm(1.5, 0.3)),
    "exponential": (sampling.exponential(2.5), stats.expon(scale=0.4)),
    "generalised logistic": (sampling.generalised_logistic(0.4), None),
}
NAMES = list(DISTRIBUTIONS)


@partial(jax.jit, static_argnames="name")
def there_and_back(name, u):
    distribution, _ = DISTRIBUTIONS[name]
    return distribution.distribution_function(distribution.quantile(u))


@pytest.mark.parametrize("name", NAMES)
def test_the_distribution_function_undoes_the_quantile(name):
    small = np.geomspace(1e-12, 0.5, 200)
    u = np.concatenate([small, 1.0 - small])
    np.testing.assert_allclose(there_and_back(name, u), u, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_small_probabilities_keep_their_digits(name):
    u = np.geomspace(1e-300, 1e-3, 400)
    assert np.max(np.abs(np.log(np.asarray(there_and_back(name, u)) / u))) < 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_the_slope_of_the_distribution_function_is_the_density(name):
    distribution, _ = DISTRIBUTIONS[name]

    @jax.jit
    def both(u):
        x = distribution.quantile(u)
        return jax.vmap(jax.grad(distribution.distribution_function))(x), jnp.exp(distribution.log_density(x))

    slope, density = both(jnp.linspace(0.02, 0.98, 25))
    np.testing.assert_allclose(slope, density, rtol=1e-10)


@pytest.mark.parametrize("name", [name for name, (_, known) in DISTRIBUTIONS.items() if known is not None])
def test_distributions_are_those_of_scipy(name):
    distribution, known = DISTRIBUTIONS[name]
    x = np.concatenate([[-2.0, 0.0], known.ppf(np.linspace(0.01, 0.99, 30))])
    np.testing.assert_allclose(jax.jit(distribution.log_density)(x), known.logpdf(x), rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(jax.jit(distribution.distribution_function)(x), known.cdf(x), atol=1e-13)


def test_the_generalised_logistic_distribution_of_exponent_one_is_logistic():
    x = np.linspace(-30.0, 30.0, 61)
    one = sampling.generalised_logistic(1.0)
    np.testing.assert_allclose(one.log_density(x), stats.logistic.logpdf(x), rtol=1e-12)
    np.testing.assert_allclose(one.distribution_function(x), stats.logistic.cdf(x), rtol=1e-12)


def test_draws_are_quantiles_and_repeatable():
    distribution = sampling.exponential(2.0)
    draw = jax.jit(lambda key: draw_by_inversion(key, distribution, (1000,)))
    first = draw(jax.random.key(5))
    assert first.dtype == jnp.float64
    assert bool(jnp.all(first > 0.0))
    np.testing.assert_array_equal(first, draw(jax.random.key(5)))


def test_no_uniform_number_of_the_draws_is_zero_or_one():
    seen = []
    identity = Distribution(lambda x: x, lambda x: x, lambda u: seen.append(u) or u)
    draw_by_inversion(jax.random.key(6), identity, (100_000,))
    (u,) = (np.asarray(values) for values in seen)
    assert 0.0 < u.min() < 1e-3
    assert 1.0 - 1e-3 < u.max() < 1.0
    np.testing.assert_array_equal(u * 2.0**53 % 2.0, 1.0)


MACHINE = three_by_two()
BIGGER = RestrictedBoltzmann(
    np.random.default_rng(2).normal(size=(4, 3)), np.array([0.3, -0.2, 0.1, 1.0]), np.array([0.5, -1.0, 0.0])
)
MACHINES = pytest.mark.parametrize("machine", [MACHINE, BIGGER], ids=["three by two", "four by three"])


def joint_states(machine):
    """Probabilities of all joint states [visible state, hidden state], written out."""
    v, h = layer_states(len(machine.visible_biases)), layer_states(len(machine.hidden_biases))
    logs = np.array(
        [
            [a @ machine.weights @ b - machine.visible_biases @ a - machine.hidden_biases @ b for b in h]
            for a in v
        ]
    )
    weights = np.exp(logs)
    return weights / weights.sum()


@MACHINES
def test_sums_are_those_over_joint_states(machine):
    states = layer_states(len(machine.visible_biases))
    distribution = np.exp(log_weights_visible(machine, states) - log_normaliser(machine))
    np.testing.assert_allclose(distribution, joint_states(machine).sum(axis=1), rtol=1e-12)


@MACHINES
def test_the_gradient_is_that_of_automatic_differentiation(machine):
    n_visible = len(machine.visible_biases)
    data = layer_states(n_visible)[[1, 2, 2, 5]]

    def mean_log_likelihood(m):
        def log_weight(v):
            fields = jax.nn.softplus(v @ m.weights - m.hidden_biases[None, :])
            return jnp.sum(fields, axis=-1) - v @ m.visible_biases

        return jnp.mean(log_weight(jnp.asarray(data))) - jax.nn.logsumexp(
            log_weight(jnp.asarray(layer_states(n_visible)))
        )

    assert log_likelihood(machine, data) == pytest.approx(float(mean_log_likelihood(machine)), rel=1e-12)
    expected = jax.jit(jax.grad(mean_log_likelihood))(jax.tree.map(jnp.asarray, machine))
    for found, wanted in zip(likelihood_gradient(machine, data), expected, strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-13)


@MACHINES
def test_the_rows_of_the_matrices_are_conditional_distributions(machine):
    p = joint_states(machine)
    up, down = block_gibbs_matrices(machine)
    np.testing.assert_allclose(up, p / p.sum(axis=1, keepdims=True), rtol=1e-12)
    np.testing.assert_allclose(down, (p / p.sum(axis=0)).T, rtol=1e-12)


def test_divergence_tends_to_the_gradient_at_the_mixing_rate():
    gradient = likelihood_gradient(MACHINE, LAYER_DATA).weights
    errors = [
        np.abs(expected_contrastive_divergence(MACHINE, LAYER_DATA, k).weights - gradient).max()
        for k in (8, 9, 10)
    ]
    rate = np.sort(np.abs(np.linalg.eigvals(visible_transition(MACHINE))))[-2]
    assert errors[2] < 1e-7
    np.testing.assert_allclose([errors[1] / errors[0], errors[2] / errors[1]], rate, rtol=1e-3)


def test_divergence_at_the_distribution_of_the_machine_is_zero():
    # Data with the machine's own proportions: every sweep leaves them as they are.
    machine = RestrictedBoltzmann(np.zeros((2, 1)), np.zeros(2), np.array([0.4]))
    found = expected_contrastive_divergence(machine, layer_states(2), 3)
    for part in found:
        np.testing.assert_allclose(part, 0.0, atol=1e-15)


def test_one_estimate_uses_probabilities_of_the_hidden_layer():
    rng = np.random.default_rng(0)
    # A machine that cannot leave its state: large fields fix both layers.
    machine = RestrictedBoltzmann(np.array([[400.0]]), np.array([200.0]), np.array([200.0]))
    found = contrastive_divergence(machine, [[1.0], [0.0]], 3, rng)
    np.testing.assert_allclose(found.weights, 0.0, atol=1e-12)
    one = contrastive_divergence(MACHINE, [[1.0, 0.0, 1.0]], 1, rng).weights
    assert np.all(np.abs(one) < 1.0)
    assert len(np.unique(one)) > 2


POINT = np.array([0.7, 1.3, -0.4])


def mixed(x, y, z):
    """Every operation, variables used twice, constants on the right."""
    shared = (x * y + 2.0).log()
    return [shared / y - z.sin(), (z - x * 0.5).half_square() + shared.exp(), shared * shared]


def mixed_in_jax(u):
    x, y, z = u
    shared = jnp.log(x * y + 2.0)
    return jnp.stack([shared / y - jnp.sin(z), 0.5 * (z - 0.5 * x) ** 2 + jnp.exp(shared), shared**2])


GRAPH = tape.record(mixed, 3)


def gradient_cost(graph, inputs):
    """Operations of a value, and of a value and its gradient."""
    arithmetic = tape.Arithmetic()
    values = tape.evaluate(graph, inputs, arithmetic)
    forward = arithmetic.n_operations
    tape.reverse_sweep(graph, values, [1.0] * len(graph.outputs), arithmetic)
    return forward, arithmetic.n_operations


@pytest.mark.parametrize("by", [tape.jacobian_by_rows, tape.jacobian_by_columns])
def test_jacobians_are_those_of_jax(by):
    expected = jax.jacobian(mixed_in_jax)(jnp.asarray(POINT))
    np.testing.assert_allclose(by(GRAPH, POINT, tape.Arithmetic()), expected, rtol=1e-13, atol=1e-14)


def test_sweeps_with_several_seeds_are_products_with_the_jacobian():
    seeds, jacobian = [0.3, -1.0, 2.0], tape.jacobian_by_rows(GRAPH, POINT, tape.Arithmetic())
    values = tape.evaluate(GRAPH, POINT, tape.Arithmetic())
    bars = tape.reverse_sweep(GRAPH, values, seeds, tape.Arithmetic())
    np.testing.assert_allclose(bars[:3], np.array(seeds) @ jacobian, rtol=1e-13)
    slopes = tape.forward_sweep(GRAPH, values, seeds, tape.Arithmetic())
    np.testing.assert_allclose([slopes[i] for i in GRAPH.outputs], jacobian @ np.array(seeds), rtol=1e-13)


def test_counts_are_those_of_a_chain_written_by_hand():
    # y = exp(x) x: two operations; backwards a product for each of the factors, one for exp, one sum.
    graph = tape.record(lambda x: x.exp() * x, 1)
    assert gradient_cost(graph, np.array([0.2])) == (2, 6)


def test_an_input_that_is_not_used_has_derivative_zero():
    graph = tape.record(lambda x, y: x * 2.0, 2)
    values = tape.evaluate(graph, [3.0, 4.0], tape.Arithmetic())
    assert tape.reverse_sweep(graph, values, [1.0], tape.Arithmetic())[:2] == [2.0, 0.0]


def test_messages_of_the_tape():
    with pytest.raises(ValueError, match="n_inputs must be at least 1, got 0"):
        tape.record(lambda: [], 0)
    with pytest.raises(ValueError, match="must return variables of the graph, got"):
        tape.record(lambda x: [3.0], 1)
    with pytest.raises(ValueError, match=r"has 3 inputs, got values of shape \[2\]"):
        tape.evaluate(GRAPH, [1.0, 2.0], tape.Arithmetic())
