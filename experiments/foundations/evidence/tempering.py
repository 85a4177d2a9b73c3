"""Tempering on the bridge of figure 2.13: normalisers, index moves, and annealing with perfect transitions."""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp

from auxmc.diagnostics.finite_chains import stationary_distribution, transition_matrix, uniform_cells
from auxmc.kernels.tempering.simulated_tempering import propose_neighbour
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.schedules import linear_schedule
from auxmc.numerics.truncated_exponential import draw_inverse_temperature, log_base_weight, log_target_weight
from experiments.estimator_illustrations.model.perfect_annealing import annealed_moments
from experiments.foundations.evidence.path_moments import mass_below, ratio_moments
from experiments.foundations.measurements import power
from experiments.foundations.topic import Lines, Topic, Work
from experiments.tempering_illustration.model.exact_bridge import ExactPath, exact_path
from experiments.tempering_illustration.model.scalar_mixture import TWO_MODES

TOPIC = Topic()

_BASE_MEAN, _BASE_VARIANCE = -1.6, 64.0
_POINTS = np.linspace(-100.0, 100.0, 8001)
_LADDER = linear_schedule(5)
_LEFT = -2.5
_DELTA = 3.0


def _path(work: Work) -> ExactPath:
    """Bridge from N(-1.6, 64) to the mixture with two modes, both normalised."""
    target = np.asarray(jax.jit(TWO_MODES.log_density)(_POINTS))
    standard = np.square(_POINTS - _BASE_MEAN) / _BASE_VARIANCE
    return exact_path(_POINTS, target, -0.5 * (standard + np.log(2.0 * np.pi * _BASE_VARIANCE)))


@TOPIC.claim("FN-TP-01")
def normalisers(work: Work) -> Lines:
    """z(b) along the bridge."""
    values = np.exp(work.once(_path).log_normaliser(_LADDER))
    return {f"inverse temperature {b:g}": z for b, z in zip(_LADDER, values, strict=True)}


@TOPIC.claim("FN-TP-02")
def index_distributions(work: Work) -> Lines:
    """Index of simulated tempering with zero weights, and mass of the left mode at each index."""
    path = work.once(_path)
    masses = mass_below(path, _LADDER, _LEFT)
    found = {f"probability of index {k}": p for k, p in enumerate(_index_probabilities(path))}
    return found | {f"mass of the left mode at index {k}": m for k, m in enumerate(masses)}


@TOPIC.claim("FN-TP-03")
def geometric_sum(work: Work) -> Lines:
    """Two closed forms of the sum of ratio^k over k = 0 to K, less that sum."""
    ratio, last = 0.5, 2
    true = sum(ratio**k for k in range(last + 1))
    return {
        "as printed": 1.0 + ratio**last / (1.0 - ratio) - true,
        "corrected": (1.0 - ratio ** (last + 1)) / (1.0 - ratio) - true,
    }


@TOPIC.claim("FN-TP-04")
def end_correction(work: Work) -> Lines:
    """Stationary law of the random walk of the index, with the proposal ratio at both ends and without."""
    probabilities = _index_probabilities(work.once(_path))
    right = stationary_distribution(_kernel_matrix(np.log(probabilities)))
    wrong = stationary_distribution(_uncorrected_matrix(probabilities))
    found = {f"index {k} without the ratio": p for k, p in enumerate(wrong)}
    return found | {"largest error with the ratio": np.max(np.abs(right - probabilities))}


@TOPIC.claim("FN-TP-05")
def crossing(work: Work) -> Lines:
    """Expected updates of a random walk of the index to cross a flat ladder, by a linear solve."""
    updates = {}
    for last in (5, 10, 50, 100):
        inner = _kernel_matrix(np.zeros(last + 1))[:last, :last]
        updates[last] = float(np.linalg.solve(np.eye(last) - inner, np.ones(last))[0])
    return {
        "5 intervals": updates[5],
        "10 intervals": updates[10],
        "power of the number of intervals": power((50, 100), (updates[50], updates[100])),
    }


@TOPIC.claim("FN-TP-06")
def conditional_temperature(work: Work) -> Lines:
    """Law of the inverse temperature given a difference of log densities of 3."""
    # Between 0 and 1 the quantile function is smooth: Gauss-Legendre quadrature of it gives the mean to rounding.
    nodes, weights = np.polynomial.legendre.leggauss(60)
    uniforms = np.append(0.5 * (nodes + 1.0), 0.5)
    quantiles = np.asarray(jax.jit(draw_inverse_temperature)(uniforms, np.full(uniforms.size, _DELTA)))
    return {
        "mean": 0.5 * weights @ quantiles[:-1],
        "median": quantiles[-1],
        "weight of the base": np.exp(log_base_weight(_DELTA)),
        "weight of the target": np.exp(log_target_weight(_DELTA)),
    }


@TOPIC.claim("FN-TP-07")
def perfect_annealing(work: Work) -> Lines:
    """Moments of log weights with transitions that draw from their targets, K equal steps."""
    path = work.once(_path)
    found = {}
    for n in (5, 50, 500):
        ladder = linear_schedule(n)
        moments = annealed_moments(ladder, *ratio_moments(path, ladder))
        found[f"mean log weight, {n} steps"] = moments.forward_mean
        found[f"variance of the log weight, {n} steps"] = moments.forward_variance
    return found


@TOPIC.claim("FN-TP-08")
def divergences(work: Work) -> Lines:
    """Divergences of the ends, and effective sizes of the weights of continuous tempering."""
    path = work.once(_path)
    delta = path.log_base - path.log_target
    log_target, log_base = (np.asarray(jax.jit(f)(delta)) for f in (log_target_weight, log_base_weight))
    # The law of x is the base over its weight: the integral of exp(-b delta) over b is exp(-log w_0).
    log_distribution = path.log_base - log_base
    log_distribution -= logsumexp(log_distribution)

    def fraction(log_weights: FloatArray) -> float:
        return float(
            np.exp(
                2.0 * logsumexp(log_distribution + log_weights)
                - logsumexp(log_distribution + 2.0 * log_weights)
            )
        )

    return {
        "divergence of the target from the base": path.divergence_target_base(),
        "divergence of the base from the target": path.divergence_base_target(),
        "effective share of the weights of the target": fraction(log_target),
        "effective share of the weights of the base": fraction(log_base),
    }


def _index_probabilities(path: ExactPath) -> FloatArray:
    log_z = path.log_normaliser(_LADDER)
    return np.asarray(np.exp(log_z - logsumexp(log_z)))


def _kernel_matrix(logits: FloatArray) -> FloatArray:
    """Transition matrix of the kernel's own index move, its two uniform numbers integrated over."""
    n = logits.size
    # Acceptance compares with ratios of neighbours, doubled or halved at the ends.
    ratios = np.exp(np.diff(logits))
    heights = np.outer(np.concatenate([ratios, 1.0 / ratios]), [0.5, 1.0, 2.0])
    points, volumes = uniform_cells([[0.5], np.minimum(heights, 1.0)])
    index = jnp.arange(n, dtype=jnp.int32)
    move = jax.jit(jax.vmap(jax.vmap(propose_neighbour, (None, None, 0)), (0, None, None)))
    return transition_matrix(np.asarray(move(jnp.asarray(points), jnp.asarray(logits), index)), volumes)


def _uncorrected_matrix(probabilities: FloatArray) -> FloatArray:
    """The same move with an acceptance that forgets that both ends have one neighbour only."""
    n = probabilities.size
    matrix = np.zeros((n, n))
    for k in range(n):
        neighbours = [j for j in (k - 1, k + 1) if 0 <= j < n]
        for j in neighbours:
            matrix[k, j] = min(1.0, probabilities[j] / probabilities[k]) / len(neighbours)
        matrix[k, k] = 1.0 - matrix[k].sum()
    return matrix
