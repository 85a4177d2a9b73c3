"""Weights, resampling, rejection: closed forms on a few numbers, exact enumeration, hulls, failures that are marked."""

import math
from functools import partial
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import integrate, special, stats

from auxmc.sampling.adaptive_rejection import (
    adaptive_rejection_sample,
    chord_bound,
    draw_from_hull,
    log_hull_mass,
    make_hull,
    tangent_bound,
)
from auxmc.sampling.importance import (
    effective_size,
    importance_draws,
    log_mean_weight,
    pareto_index,
    self_normalised_mean,
)
from auxmc.sampling.rejection import (
    Envelope,
    condition_by_rejection,
    rejection_draw,
    rejection_proposal,
    rejection_sample,
)
from auxmc.sampling.resampling import SCHEMES, sampling_importance_resampling

COMPILED = jax.jit(
    lambda logs, f: (effective_size(logs), log_mean_weight(logs), self_normalised_mean(logs, f))
)
LOG_WEIGHT_SETS = arrays.arrays(np.float64, st.just(6), elements=st.floats(-300.0, 300.0))


def test_sets_of_weights_are_treated_one_by_one():
    rng = np.random.default_rng(0)
    logs, values = jnp.asarray(rng.normal(size=(2, 3, 5))), jnp.asarray(rng.normal(size=(2, 3, 5)))
    weights = np.exp(np.asarray(logs))
    sizes, means, averages = COMPILED(logs, values)
    np.testing.assert_allclose(sizes, weights.sum(-1) ** 2 / (weights**2).sum(-1), rtol=1e-12)
    np.testing.assert_allclose(np.exp(means), weights.mean(-1), rtol=1e-12)
    np.testing.assert_allclose(averages, np.average(values, axis=-1, weights=weights), rtol=1e-12)


@settings(max_examples=60, deadline=None)
@given(LOG_WEIGHT_SETS, st.floats(-300.0, 300.0))
def test_effective_sizes_lie_between_one_and_the_number_of_draws(logs, shift):
    sizes, means, average = COMPILED(np.stack([logs, logs + shift]), np.full((2, 6), 7.0))
    assert 1.0 - 1e-12 <= float(sizes[0]) <= 6.0 * (1.0 + 1e-12)
    assert float(sizes[1]) == pytest.approx(float(sizes[0]), rel=1e-9)
    assert float(means[1]) == pytest.approx(float(means[0]) + shift, rel=1e-12, abs=1e-9)
    np.testing.assert_allclose(average, 7.0, rtol=1e-12)


def test_weights_of_zero_count_as_absent():
    sizes, log_means, _ = COMPILED(np.array([[0.0, -np.inf, 0.0], [-np.inf] * 3]), np.zeros((2, 3)))
    np.testing.assert_allclose(sizes, [2.0, 0.0])
    np.testing.assert_allclose(np.exp(log_means), [2.0 / 3.0, 0.0])


def test_weights_beyond_the_range_of_floats_are_never_exponentiated():
    logs = np.array([-1e5, -1e5 + math.log(3.0)] + [-1e5] * 18)
    assert float(log_mean_weight(logs)) == pytest.approx(-1e5 + math.log(22.0 / 20.0), abs=1e-9)
    assert effective_size(jnp.asarray(logs, jnp.float32)).dtype == jnp.float32


def test_draws_carry_the_ratio_of_the_densities():
    draws = importance_draws(KEYS[0], lambda x: -(x**2), jax.random.normal, lambda x: -0.5 * x**2, 100)
    np.testing.assert_allclose(draws.log_weights, -0.5 * np.asarray(draws.positions) ** 2, rtol=1e-12)


@pytest.mark.parametrize("index", [0.3, 0.6, 0.9])
def test_the_index_of_pareto_weights_is_found(index):
    # Quantiles in place of draws: no chance in the test.
    levels = (np.arange(100_000) + 0.5) / 100_000
    found = float(pareto_index(-index * np.log(1.0 - levels)))
    assert found == pytest.approx(index, abs=0.05)
    assert float(pareto_index(-index * np.log(1.0 - levels) - 700.0)) == pytest.approx(found, abs=1e-6)


def test_bounded_weights_have_a_negative_index():
    assert float(pareto_index(np.log((np.arange(10_000) + 0.5) / 10_000))) < 0.0
    np.testing.assert_array_equal(pareto_index(np.zeros((2, 50))), [-np.inf, -np.inf])


def test_indices_of_several_sets_are_those_of_each():
    logs = np.random.default_rng(1).normal(size=(3, 200)) * np.array([[0.5], [2.0], [4.0]])
    found = pareto_index(logs)
    np.testing.assert_allclose(found, [float(pareto_index(row)) for row in logs], rtol=1e-12)
    assert found[0] < found[2]


N = 40
FRACTIONS = np.array([0.1, 0.02, 0.5, 0.08, 0.3, 0.0])
LOG_WEIGHTS = np.log(FRACTIONS, where=FRACTIONS > 0.0, out=np.full(6, -np.inf))
KEYS = jax.random.split(jax.random.key(1), 20)


@partial(jax.jit, static_argnames="scheme")
def many(scheme, log_weights):
    return jax.vmap(lambda key: SCHEMES[scheme](key, log_weights, N))(KEYS)


def counts(scheme, log_weights):
    """Counts of 20 repetitions [repetition, particle]."""
    indices = many(scheme, log_weights)
    assert indices.shape == (20, N)
    assert indices.dtype == jnp.int32
    return np.stack([np.bincount(row, minlength=6) for row in np.asarray(indices)])


@pytest.mark.parametrize(
    ("scheme", "below", "above"),
    [("multinomial", 40, 40), ("stratified", 2, 2), ("systematic", 1, 1), ("residual", 1, 1)],
)
def test_counts_sum_to_the_number_of_draws_and_stay_near_their_expectation(scheme, below, above):
    found = counts(scheme, LOG_WEIGHTS)
    assert found.shape == (20, 6)
    assert np.all(found.sum(axis=1) == N)
    excess = found - N * FRACTIONS
    assert np.all(excess > -below)
    assert np.all(excess < above)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_absent_particles_are_never_drawn_and_without_any_weight_all_count_alike(scheme):
    found = counts(scheme, np.array([-np.inf, 0.0, np.nan, -1.0, np.inf, -np.inf]))
    assert found[:, [0, 2, 4, 5]].sum() == 0
    assert np.all(found.sum(axis=1) == N)
    # One particle with all the weight is drawn always.
    assert np.all(counts(scheme, np.array([-np.inf] * 4 + [-2000.0, -np.inf]))[:, 4] == N)
    np.testing.assert_array_equal(counts(scheme, np.full(6, -np.inf)), counts(scheme, np.zeros(6)))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_constant_added_to_log_weights_changes_no_draw_nor_do_batches(scheme):
    together = many(scheme, LOG_WEIGHTS)
    for shift in (-1024.0, 512.0):
        np.testing.assert_array_equal(many(scheme, LOG_WEIGHTS + shift), together)
    np.testing.assert_array_equal(SCHEMES[scheme](KEYS[3], jnp.asarray(LOG_WEIGHTS), N), together[3])


@pytest.mark.parametrize("scheme", ["residual", "stratified", "systematic"])
def test_equal_weights_are_drawn_once_each(scheme):
    # 49 times 1 / 49 is below 1 in floats.
    drawn = SCHEMES[scheme](KEYS[0], jnp.zeros(49), 49)
    np.testing.assert_array_equal(jnp.sort(drawn), np.arange(49))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_single_precision_weights_are_accepted(scheme):
    assert np.all(counts(scheme, LOG_WEIGHTS.astype(np.float32)).sum(axis=1) == N)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_shapes_and_numbers_out_of_range_are_rejected(scheme):
    with pytest.raises(ValueError, match=r"log_weights must be \[particle\], got shape \(2, 3\)"):
        SCHEMES[scheme](KEYS[0], jnp.zeros((2, 3)), 4)
    with pytest.raises(ValueError, match=r"must be \[particle\], got shape \(0,\)"):
        SCHEMES[scheme](KEYS[0], jnp.zeros(0), 4)
    with pytest.raises(ValueError, match="n must be a positive integer, got 0"):
        SCHEMES[scheme](KEYS[0], jnp.zeros(3), 0)


def test_resampled_points_are_those_of_their_indices():
    positions = jnp.arange(12.0).reshape(6, 2)
    drawn = sampling_importance_resampling(KEYS[0], positions, jnp.asarray(LOG_WEIGHTS), 7)
    np.testing.assert_array_equal(drawn.positions, positions[drawn.indices])
    assert drawn.positions.shape == (7, 2)


LOG_2 = float(np.log(2.0))


def triangle(log_bound=LOG_2):
    """Density 2 x on [0, 1] below twice the uniform one."""
    return Envelope(lambda x: jnp.log(2.0 * x), jax.random.uniform, lambda x: jnp.zeros_like(x), log_bound)


ENVELOPE = triangle()


def test_a_draw_is_the_first_accepted_of_its_proposals():
    keys = jax.random.split(jax.random.key(2), 25)
    drawn = jax.jit(jax.vmap(lambda key: rejection_draw(key, ENVELOPE)))(keys)
    tries = jax.vmap(lambda key: jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(20)))(keys)
    made = jax.jit(jax.vmap(jax.vmap(lambda key: rejection_proposal(key, ENVELOPE))))(tries)
    first = np.argmax(made.accepted, axis=1)
    rows = np.arange(25)
    np.testing.assert_array_equal(drawn.n_proposals, first + 1)
    np.testing.assert_array_equal(drawn.position, np.asarray(made.position)[rows, first])
    np.testing.assert_array_equal(drawn.log_height, np.asarray(made.log_height)[rows, first])
    largest = np.maximum.accumulate(made.log_ratio, axis=1)[rows, first]
    np.testing.assert_array_equal(drawn.largest_log_ratio, largest)


def test_adding_a_constant_to_target_and_bound_changes_nothing():
    key = jax.random.key(4)
    # A power of two, which rounds no log differently by more than its last digits.
    raised = triangle(LOG_2 + 700.0)._replace(log_target=lambda x: jnp.log(2.0 * x) + 700.0)
    plain, shifted = (rejection_sample(key, envelope, 50) for envelope in (ENVELOPE, raised))
    np.testing.assert_array_equal(plain.position, shifted.position)


def test_a_loop_that_ends_without_acceptance_gives_no_number():
    nothing = ENVELOPE._replace(log_target=lambda x: jnp.asarray(-jnp.inf))
    drawn = rejection_sample(jax.random.key(0), nothing, 3, max_proposals=7)
    assert not np.any(drawn.accepted)
    assert np.all(np.isnan(drawn.position))
    assert np.all(np.isnan(drawn.log_height))
    assert np.all(np.asarray(drawn.n_proposals) == 7)


def test_kept_draws_match_and_none_that_match_is_lost():
    key = jax.random.key(7)
    draw = lambda one: jax.random.uniform(one, (2,))
    found = condition_by_rejection(key, draw, lambda x: x[0] > x[1], 300)
    every = np.asarray(jax.vmap(draw)(jax.random.split(key, 300)))
    np.testing.assert_array_equal(found.draws, every[every[:, 0] > every[:, 1]])
    assert found.n_drawn == 300


def skewed(x):
    """Generalised logistic distribution of exponent 0.4."""
    return np.log(0.4) - 0.4 * x - 1.4 * np.logaddexp(0.0, -x), -0.4 + 1.4 * special.expit(-x)


def normal(x):
    return stats.norm.logpdf(x), -x


def gamma(x):
    return stats.gamma.logpdf(x, 3.0), 2.0 / x - 1.0


TARGETS = {
    "skewed": (skewed, [-3.0, 1.0, 6.0], -np.inf, np.linspace(-12.0, 40.0, 4001)),
    "normal": (normal, [-1.0, 1.5], -np.inf, np.linspace(-8.0, 8.0, 4001)),
    "gamma": (gamma, [1.0, 2.5, 6.0], 0.0, np.linspace(1e-9, 60.0, 8001)),
}


@pytest.mark.parametrize("name", TARGETS)
def test_the_hulls_enclose_the_log_density(name):
    density, start, lower, x = TARGETS[name]
    hull = make_hull(density, start, lower)
    exact = density(x)[0]
    assert np.all(tangent_bound(hull, x) >= exact - 1e-10)
    assert np.all(chord_bound(hull, x) <= exact + 1e-10)
    np.testing.assert_allclose(tangent_bound(hull, start), density(np.array(start))[0], rtol=1e-14)


@pytest.mark.parametrize("name", TARGETS)
def test_the_mass_of_the_hull_is_its_integral_and_falls_towards_that_of_the_density(name):
    density, start, lower, _ = TARGETS[name]
    masses = []
    # Each set of tangents holds the one before.
    more = [*start, *np.linspace(start[0], start[-1], 9)]
    wide = np.linspace(3.0 * start[0] if lower < 0.0 else 0.2 * start[0], 3.0 * start[-1], 80)
    for points in (start, more, [*more, *wide]):
        hull = make_hull(density, points, lower)
        ends = np.clip(hull.ends, hull.points[0] - 150.0, hull.points[-1] + 150.0)
        density_of_hull = lambda x, hull=hull: float(np.exp(tangent_bound(hull, x)))
        pieces = [integrate.quad(density_of_hull, a, b, epsabs=1e-12)[0] for a, b in pairwise(ends)]
        masses.append(float(np.exp(log_hull_mass(hull))))
        assert masses[-1] == pytest.approx(sum(pieces), rel=1e-8)
    assert masses[0] > masses[1] > masses[2] > 1.0
    assert masses[2] < 1.02


def test_flat_and_nearly_flat_pieces_are_drawn_evenly():
    for slope in (0.0, 1e-14, -1e-14):
        hull = make_hull(lambda x, s=slope: (s * x, np.full_like(x, s)), [0.3], 0.0, 1.0)
        u = np.linspace(0.0, 0.999, 50)
        x = np.sort(draw_from_hull(hull, np.stack([u, u], axis=1)))
        np.testing.assert_allclose(x, u if x[0] < 1e-9 else np.sort(1.0 - u), atol=1e-9)
        assert log_hull_mass(hull) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("name", TARGETS)
def test_proposals_are_soon_accepted_nearly_always(name):
    density, start, lower, _ = TARGETS[name]
    drawn = adaptive_rejection_sample(density, start, 20_000, np.random.default_rng(1), lower)
    assert drawn.positions.shape == (20_000,)
    assert drawn.n_proposals < 20_600
    assert drawn.n_evaluations < 1500
    assert drawn.hull.points.size <= 64
    assert np.exp(log_hull_mass(drawn.hull)) < 1.02


@pytest.mark.parametrize("shift", [-1e6, 1e6])
def test_log_densities_far_from_zero_neither_overflow_nor_change_the_draws(shift):
    rng = lambda: np.random.default_rng(2)
    moved = adaptive_rejection_sample(lambda x: (normal(x)[0] + shift, normal(x)[1]), [-1.0, 1.5], 300, rng())
    plain = adaptive_rejection_sample(normal, [-1.0, 1.5], 300, rng())
    np.testing.assert_allclose(moved.positions, plain.positions, rtol=1e-6)
