"""Draws without a chain against their distributions; wrong versions must fail.

They come from our random numbers, transforms, inversion, rejection, hulls, weights and resampling.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, special, stats

from auxmc.numerics import random
from auxmc.sampling.adaptive_rejection import adaptive_rejection_sample, log_hull_mass
from auxmc.sampling.importance import importance_draws
from auxmc.sampling.rejection import Envelope, rejection_proposal, rejection_sample
from auxmc.sampling.resampling import SCHEMES
from experiments.foundations.sampling import draw_by_inversion, normal
from experiments.tempering_illustration.model import OVERLAPPING
from tests.statistical import levels

N = 100_000
PROPOSAL = normal(0.1, 0.6)
BOUND = 1.9
ENVELOPE = Envelope(
    OVERLAPPING.log_density,
    lambda key: draw_by_inversion(key, PROPOSAL, ()),
    PROPOSAL.log_density,
    float(np.log(BOUND)),
)


def mixture(function, x):
    """Density or distribution function of the target, from that of a normal distribution."""
    return np.sum([w * function(x, m, s) for w, m, s in zip(*OVERLAPPING, strict=True)], axis=0)


def test_proposals_decisions_and_heights_have_their_joint_distribution():
    made = levels.draw_many(lambda key: rejection_proposal(key, ENVELOPE), "rejection/proposals", N)
    levels.assert_uniform(stats.norm.cdf(made.position, 0.1, 0.6), label="proposals")
    # Given x a decision is Bernoulli with the ratio as its probability: standardised, and times functions of x.
    ratio = np.exp(made.log_ratio)
    decisions = np.where(ratio > 0.05, (made.accepted - ratio) / np.sqrt(ratio * (1.0 - ratio)), 0.0)
    functions = np.hstack([np.ones((N, 1)), levels.legendre(stats.norm.cdf(made.position, 0.1, 0.6), 3)])
    levels.assert_standard_mean(decisions[:, None] * functions, label="decisions given x")
    x = made.position[made.accepted]
    fraction = np.exp(made.log_height[made.accepted]) / mixture(stats.norm.pdf, x)
    levels.assert_uniform(fraction, detects=0.03, label="height over target")


def test_rejection_draws_are_exact_and_do_not_depend_on_the_number_of_proposals():
    drawn = rejection_sample(levels.key_for("rejection"), ENVELOPE, N)
    assert np.all(drawn.accepted)
    transform = mixture(stats.norm.cdf, np.asarray(drawn.position))
    levels.assert_uniform(transform, label="draws")
    # The number of proposals is geometric with success probability 1 / 1.9.
    excess = (np.asarray(drawn.n_proposals) - BOUND) / np.sqrt(BOUND * (BOUND - 1.0))
    functions = np.hstack([np.ones((N, 1)), levels.legendre(transform, 3)])
    levels.assert_standard_mean(np.clip(excess, -20.0, 20.0)[:, None] * functions, label="tries")


def skewed(x):
    return -0.4 * x - 1.4 * np.logaddexp(0.0, -x), -0.4 + 1.4 * special.expit(-x)


ADAPTIVE = {
    "skewed": (skewed, [-2.0, 4.0], -np.inf, lambda x: 1.0 - (1.0 + np.exp(x)) ** -0.4),
    "normal": (lambda x: (-0.5 * x**2, -x), [-1.0, 1.0], -np.inf, stats.norm.cdf),
    "gamma": (lambda x: (2.0 * np.log(x) - x, 2.0 / x - 1.0), [1.0, 5.0], 0.0, stats.gamma(3.0).cdf),
}


@pytest.mark.parametrize("max_tangents", [2, 4])
@pytest.mark.parametrize("name", ADAPTIVE)
def test_adaptive_rejection_draws_are_exact(name, max_tangents):
    """With two tangents the hull stays as it starts, so that many proposals are rejected; with four it has grown."""
    density, start, lower, cdf = ADAPTIVE[name]
    rng = levels.rng_for(f"adaptive/{name}/{max_tangents}")
    drawn = adaptive_rejection_sample(density, start, N, rng, lower, max_tangents=max_tangents)
    if max_tangents == len(start):
        area, _ = integrate.quad(lambda x: np.exp(density(np.array(x))[0]), lower, np.inf)
        assert np.exp(log_hull_mass(drawn.hull)) > 1.2 * area, "a wrong decision would not show"
    assert len(drawn.hull.points) == max_tangents
    levels.assert_uniform(cdf(drawn.positions), label="draws")


def test_mean_weights_estimate_the_normaliser_and_products_the_unnormalised_mean():
    # Weights of 0.75 times the mixture under N(0.1, 0.8^2) are below 1.42; their variances are from quadrature.
    proposal = normal(0.1, 0.8)
    drawn = importance_draws(
        levels.key_for("importance"),
        lambda x: jnp.log(0.75) + OVERLAPPING.log_density(x),
        lambda key: draw_by_inversion(key, proposal, ()),
        proposal.log_density,
        N,
    )
    x, w = np.asarray(drawn.positions), np.exp(np.asarray(drawn.log_weights))
    grid = np.linspace(-8.0, 8.0, 16_001)
    q = stats.norm.pdf(grid, 0.1, 0.8)
    weight = 0.75 * mixture(stats.norm.pdf, grid) / q
    step = grid[1] - grid[0]
    columns = []
    for at_grid, at_draws in ((weight, w), (weight * grid, w * x)):
        mean = np.sum(q * at_grid) * step
        columns.append((at_draws - mean) / np.sqrt(np.sum(q * (at_grid - mean) ** 2) * step))
    levels.assert_standard_mean(np.stack(columns, axis=1), label="mean weight and weighted mean")


FRACTIONS = np.array([0.07, 0.28, 0.41, 0.24])


def check_counts(scheme, weights):
    """Expected counts of five draws are proportional to the fractions."""
    log_weights = jnp.log(jnp.asarray(weights))
    indices = levels.draw_many(
        lambda key: SCHEMES[scheme](key, log_weights, 5), f"resampling/{scheme}", 20_000
    )
    counts = np.sum(indices[:, :, None] == np.arange(4), axis=1)
    # No scheme's counts vary more than independent ones: their standard deviation is at least the true one.
    sds = np.sqrt(5 * FRACTIONS * (1.0 - FRACTIONS))
    levels.assert_standard_mean((counts - 5 * FRACTIONS) / sds, detects=0.07, label="counts")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_expected_counts_are_proportional_to_the_weights(scheme):
    check_counts(scheme, FRACTIONS)


# --- mutants -----------------------------------------------------------------------------------------------


def test_an_envelope_that_is_too_low_changes_the_distribution():
    low = ENVELOPE._replace(log_bound=float(np.log(1.6)))
    made = levels.draw_many(lambda key: rejection_proposal(key, low), "mutant/bound", 2 * N)
    assert made.log_ratio.max() > 0.1
    with levels.expecting_failure("draws"):
        levels.assert_uniform(mixture(stats.norm.cdf, made.position[made.accepted]), label="draws")


def test_resampling_in_proportion_to_flattened_weights_is_found():
    with levels.expecting_failure("counts"):
        check_counts("systematic", FRACTIONS**0.9)


# --- random numbers of our own making -----------------------------------------------------------------

N_PLACES = 10


def test_every_place_of_a_small_draw_is_normal_and_unrelated_to_the_others():
    values = levels.draw_many(lambda key: random.standard_normal(key, (N_PLACES,)), "normal/places", N)
    uniforms = stats.norm.cdf(values)
    functions = [levels.legendre(uniforms[:, place]) for place in range(N_PLACES)]
    levels.assert_uniform(uniforms.ravel(), detects=0.01, label="all places")
    levels.assert_standard_mean(np.concatenate(functions, axis=1), label="each place")
    # The two numbers of a pair share their radius: only the right angle makes their sizes independent.
    pairs = [functions[i][:, :2] * functions[j][:, :2] for i in range(N_PLACES) for j in range(i)]
    levels.assert_standard_mean(np.concatenate(pairs, axis=1), label="pairs of places")


def test_the_tail_beyond_four_standard_deviations_has_the_right_probability():
    draw = jax.jit(lambda key: random.standard_normal(key, (200_000, 20)))
    beyond = np.any(np.abs(np.asarray(draw(levels.key_for("normal/tail")))) > 4.0, axis=1)
    # Twenty numbers at a time. The interval is narrower than the probability itself: a tail that is missing or
    # twice as heavy is found.
    expected = float(1.0 - (1.0 - 2.0 * stats.norm.sf(4.0)) ** 20)
    levels.assert_bounded_mean(beyond, 0.0, 1.0, expected, detects=0.0012, label="tail")


@pytest.mark.parametrize("degrees", [1, 2, 3, 10, 89])
def test_chi_square_numbers_follow_their_distribution(degrees):
    values = np.asarray(random.chi_square(levels.key_for(f"chi square/{degrees}"), degrees, (N,)))
    uniforms = stats.chi2.cdf(values, degrees)
    levels.assert_uniform(uniforms, label=f"{degrees} degrees")
    levels.assert_standard_mean(levels.legendre(uniforms), label=f"{degrees} degrees, Legendre")


# --- row numbers ---------------------------------------------------------------------------------------


def spread(rows, n_rows, name):
    """Row numbers with a uniform number added to each, divided by their number: uniform on (0, 1)."""
    return (rows + levels.rng_for(f"{name}/fresh").random(rows.shape)) / n_rows


def unrelated(first, second, n_cells):
    """Standardised functions of independent pairs of uniforms [pair, function].

    Products of Legendre polynomials see a relation on the scale of the whole range, meetings in one of many
    cells, and in cells that lie as many places apart as there are cells in a seventh, one on a small scale.
    """
    products = levels.legendre(first, 6)[:, :, None] * levels.legendre(second, 6)[:, None, :]
    cells = [np.floor(u * n_cells).astype(int) for u in (first, second)]
    fraction = 1.0 / n_cells
    shifts = np.array([0, 1, n_cells // 7, n_cells - 1])
    met = (cells[0][:, None] + shifts) % n_cells == cells[1][:, None]
    meetings = (met - fraction) / np.sqrt(fraction * (1.0 - fraction))
    return np.concatenate([products.reshape(len(first), -1), meetings], axis=1)


@pytest.mark.parametrize("n_rows", [7, 500, 100_003])
def test_row_numbers_are_uniform_and_neighbours_unrelated(n_rows):
    name = f"rows/{n_rows}"
    drawn = np.asarray(random.row_numbers(levels.key_for(name), (400, 500), jnp.int32(n_rows)))
    assert 0 <= drawn.min() <= drawn.max() < n_rows
    uniforms = spread(drawn, n_rows, name)
    levels.assert_uniform(uniforms.ravel(), label="distribution")
    levels.assert_standard_mean(levels.legendre(uniforms.ravel(), 6), label="Legendre")
    # Pairs that do not overlap: next to each other, two apart, and of one batch and the next.
    halves = uniforms.reshape(400, 125, 2, 2)
    for first, second, label in (
        (uniforms[:, ::2], uniforms[:, 1::2], "neighbours"),
        (halves[:, :, 0], halves[:, :, 1], "two apart"),
        (uniforms[::2], uniforms[1::2], "batches"),
    ):
        levels.assert_standard_mean(unrelated(first.ravel(), second.ravel(), 49), label=label)


def test_row_numbers_of_other_keys_are_unrelated():
    """Keys that differ in one bit only, as folded ones may, must not give sequences that go together."""
    words = np.asarray(jax.random.key_data(levels.key_for("rows/keys")))

    def drawn(changed, name):
        key = jax.random.wrap_key_data(jnp.asarray(changed, jnp.uint32))
        rows = np.asarray(random.row_numbers(key, (N,), jnp.int32(40)))
        return spread(rows, 40, f"rows/keys/{name}")

    base = drawn(words, "base")
    for word in (0, 1):
        for bit in (0, 31):
            changed = words.copy()
            changed[word] ^= np.uint32(1 << bit)
            found = unrelated(base, drawn(changed, f"{word}/{bit}"), 40)
            levels.assert_standard_mean(found, label=f"word {word}, bit {bit}")


def test_numbers_that_repeat_are_found_out():
    hashed = np.asarray(random._mix(jnp.arange(2 * N, dtype=jnp.uint32) >> 4))
    uniforms = (hashed + 0.5) / 2.0**32
    with levels.expecting_failure("repeated"):
        levels.assert_standard_mean(unrelated(uniforms[::2], uniforms[1::2], 40), label="repeated")
