"""Topics: pseudo-random integers, transforms, inverse distribution functions, rejection."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from numpy.typing import ArrayLike
from scipy import integrate, stats

from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc.sampling.rejection import Envelope, Proposal, rejection_proposal
from auxmc_pipeline.measuring import Measurement, largest, mean, proportion_of
from experiments.foundations import measurements, sampling
from experiments.foundations.chains.inputs import SHAPE
from experiments.foundations.measurements import largest_size
from experiments.foundations.sampling import box_muller, generalised_logistic
from experiments.foundations.topic import Arrays, Lines, Topic, Work
from experiments.tempering_illustration.model import OVERLAPPING

TOPIC = Topic()

PROPOSAL_MEAN, PROPOSAL_SD, BOUND = 0.1, 0.6, 1.9
"""Proposal of PhD thesis, figure 2.3, recovered from its curves, and bound, from the sources of its drawing."""

_SHOWN = np.linspace(-2.0, 2.0, 401)  # Points of the curves that are drawn.
_WIDE = np.linspace(-4.0, 4.0, 8001)  # Points where the largest of a ratio is looked for first.
# The two proposals that figure 2.3 marks: place, and height as a fraction of the envelope.
_MARKED = {"rejected": (-0.25, 0.6), "accepted": (0.9, 0.3)}


def mixture_density(x: float | FloatArray) -> FloatArray:
    """Density of the target of figure 2.3 at points [...]."""
    # With NumPy: compiling the same for a few hundred points would take longer than all of them.
    parts = (weight * stats.norm.pdf(x, mean, sd) for weight, mean, sd in zip(*OVERLAPPING, strict=True))
    return np.asarray(sum(parts))


@partial(jax.jit, static_argnames=("n", "dim"))
def make_proposals(key: Array, n: int, dim: int) -> Proposal:
    """Independent proposals of figure 2.3 in each of some dimensions [draw]."""
    proposal = sampling.normal(PROPOSAL_MEAN, PROPOSAL_SD)
    envelope = Envelope(
        lambda x: jnp.sum(OVERLAPPING.log_density(x)),
        lambda key: sampling.draw_by_inversion(key, proposal, (dim,)),
        lambda x: jnp.sum(proposal.log_density(x)),
        dim * math.log(BOUND),
    )
    return jax.vmap(lambda one: rejection_proposal(one, envelope))(jax.random.split(key, n))


def figure_proposals(work: Work) -> Proposal:
    """Independent proposals of figure 2.3 [draw]."""
    return make_proposals(work.key("figure_2_3"), work.replicates(1_000_000, 20_000), 1)


def figure_ratio(x: FloatArray) -> FloatArray:
    """Target over proposal of figure 2.3 at points [...]."""
    return np.asarray(mixture_density(x) / stats.norm.pdf(x, PROPOSAL_MEAN, PROPOSAL_SD))


def _envelope(x: FloatArray) -> FloatArray:
    return np.asarray(BOUND * stats.norm.pdf(x, PROPOSAL_MEAN, PROPOSAL_SD))


def marked_points() -> FloatArray:
    """Place and height of the two proposals that figure 2.3 marks, with target and envelope there [point, part]."""
    x, fractions = np.array(list(_MARKED.values())).T
    return np.stack([x, fractions * _envelope(x), mixture_density(x), _envelope(x)], axis=1)


@TOPIC.figure("fig_2_3")
def rejection_curves(work: Work) -> Arrays:
    """Figure 2.3."""
    line, parts = {"x": _SHOWN}, {"point": list(_MARKED), "part": ["x", "height", "target", "envelope"]}
    return {
        "target": xr.DataArray(mixture_density(_SHOWN), line),
        "envelope": xr.DataArray(_envelope(_SHOWN), line),
        "marked": xr.DataArray(marked_points(), parts),
    }


@TOPIC.figure("slides_rejection")
def rejection_box(work: Work) -> Arrays:
    """The slides' picture of rejection: points below the envelope, and the weight below its bound."""
    line, made, n_shown = {"x": _SHOWN}, work.once(figure_proposals), 600
    height = np.exp(np.asarray(made.log_height[:n_shown]))
    points = np.stack([made.position[:n_shown, 0], height, made.accepted[:n_shown]], axis=1)
    along = {"draw": np.arange(n_shown), "part": ["x", "height", "accepted"]}
    return {
        "target": xr.DataArray(mixture_density(_SHOWN), line),
        "envelope": xr.DataArray(_envelope(_SHOWN), line),
        "weight": xr.DataArray(figure_ratio(_SHOWN), line),
        "bound": xr.DataArray(BOUND),
        "points": xr.DataArray(points, along),
    }


def smallest_period(sequence: ArrayLike) -> int:
    """The smallest k with x_(i + k) = x_i throughout [draw]; the length if the sequence never repeats.

    >>> smallest_period([0, 1, 1, 0, 1, 1, 0])
    3
    """
    values = np.asarray(sequence)
    for period in range(1, values.size):
        if np.array_equal(values[period:], values[:-period]):
            return period
    return int(values.size)


_MODULUS, _N_BITS = 128, 7


def _states(n: int) -> IntegerArray:
    """States of the linear congruential generator of PhD thesis, figure 2.1 [draw], the seed first."""
    states = [37]
    while len(states) < n:
        states.append((37 * states[-1] + 61) % _MODULUS)
    return np.array(states)


def _bits(n: int) -> IntegerArray:
    """Bits of each state, the least significant in row 0 [bit, draw]."""
    return (_states(n)[None, :] >> np.arange(_N_BITS)[:, None]) & 1


@TOPIC.claim("FN-RNG-01")
def visits(work: Work) -> Lines:
    """States that the generator visits, and the first ones."""
    states = _states(_MODULUS)
    return {"distinct states": np.unique(states).size} | {f"state {i + 1}": states[i] for i in range(1, 8)}


@TOPIC.claim("FN-RNG-02")
def bit_periods(work: Work) -> Lines:
    """Two turns of the generator, since a period of one turn shows in no less."""
    return {f"bit {j}": smallest_period(row) for j, row in enumerate(_bits(2 * _MODULUS))}


@TOPIC.figure("fig_2_1")
def bit_raster(work: Work) -> Arrays:
    """Figure 2.1."""
    along = {"bit": np.arange(_N_BITS), "state": np.arange(_MODULUS)}
    return {"bits": xr.DataArray(_bits(_MODULUS).astype(float), along)}


@TOPIC.claim("FN-DS-01")
def box_muller_jacobian(work: Work) -> Lines:
    """Determinant of the map of Box and Muller."""
    uniforms = _points_away_from_the_edge()
    image, jacobians = jax.jit(jax.vmap(lambda u: (box_muller(u), jax.jacfwd(box_muller)(u))))(uniforms)
    sizes = np.abs(np.linalg.det(np.asarray(jacobians)))
    normals = stats.norm.pdf(np.asarray(image)).prod(axis=-1)
    return {"its inverse against the normal densities": largest_size(1.0 / sizes / normals - 1.0)}


@TOPIC.claim("FN-DS-10")
def drafted_map(work: Work) -> Lines:
    """Mean square of sqrt(-2 log u) cos(2 pi u), the first component of the map of the draft."""
    square, _ = integrate.quad(lambda u: -2.0 * math.log(u) * math.cos(2.0 * math.pi * u) ** 2, 0.0, 1.0)
    return {"as printed": square}


@TOPIC.claim("FN-DS-02", numbers=["corrected"])
def box_muller_inverses(work: Work) -> Lines:
    """The inverse map, corrected and as printed."""
    uniforms = _points_away_from_the_edge()
    image = jax.jit(box_muller)(uniforms)
    image, back = np.asarray(image), np.asarray(jax.jit(sampling.inverse_box_muller)(image))
    printed = np.arctan(image[:, 0] / image[:, 1]) / (2.0 * math.pi)
    return {"corrected": largest_size(back - uniforms), "as printed": largest_size(printed - uniforms[:, 1])}


def _points_away_from_the_edge() -> FloatArray:
    return 0.01 + 0.98 * measurements.points_of_cube(1000, 2)


@TOPIC.claim("FN-DS-04")
def skewed_draws(work: Work) -> Lines:
    """Draws by inversion of a skewed distribution."""
    skewed, n = generalised_logistic(SHAPE), work.replicates(100_000, 1000)
    drawn = jax.jit(lambda key: sampling.draw_by_inversion(key, skewed, (n,)))(work.key("skewed"))
    levels = 1.0 - (1.0 + np.exp(np.asarray(drawn))) ** -SHAPE
    return {"distance of the sample's law": measurements.distance_from_distribution(levels)}


@TOPIC.claim("FN-DS-05")
def figure_acceptance(work: Work) -> Lines:
    """The bound and the acceptance of figure 2.3, also of its target times 0.75, under the same bound."""
    made = work.once(figure_proposals)
    below = np.exp(np.asarray(made.log_height)) <= 0.75 * mixture_density(np.asarray(made.position[:, 0]))
    return {
        "largest target over proposal": measurements.highest_value(figure_ratio, _WIDE, 0.01),
        "acceptance rate": proportion_of(np.asarray(made.accepted)),
        "acceptance rate, target times 0.75": proportion_of(below),
    }


@TOPIC.claim("FN-DS-06")
def marked_proposals(work: Work) -> Lines:
    """A proposal is accepted if its height is at most the target."""
    _, height, target, _ = marked_points().T
    return {f"{name} decision": below for name, below in zip(_MARKED, height <= target, strict=True)}


@TOPIC.claim("FN-DS-07")
def acceptance_in_many_dimensions(work: Work) -> Lines:
    """Slope of the log acceptance rate of the same against the number of dimensions."""
    dims, n = np.array([1, 2, 4, 6, 8, 10]), work.replicates(500_000, 20_000)
    made = (make_proposals(work.key("product", int(dim)), n, int(dim)).accepted for dim in dims)
    rates = np.array([np.mean(accepted) for accepted in made])
    pulls = (dims - dims.mean()) / np.sum((dims - dims.mean()) ** 2)
    # The delta method: the log of a proportion has the variance (1 - rate) / (n rate).
    error = math.sqrt(float(pulls**2 @ ((1.0 - rates) / (n * rates))))
    return {"slope of the log acceptance rate": Measurement(float(pulls @ np.log(rates)), error)}


@TOPIC.claim("FN-DS-09")
def covariance_of_draws(work: Work) -> Lines:
    """Covariances of draws by the symmetric root of a covariance, in units of both standard deviations."""
    half = measurements.normal_points(5, 5)
    covariance = half @ half.T + np.eye(5)
    values, vectors = np.linalg.eigh(covariance)
    normals = work.rng("covariance").normal(size=(work.replicates(250_000, 20_000), 5))
    unit = np.sqrt(np.diag(covariance))
    drawn = normals @ (vectors * np.sqrt(values)) @ vectors.T / unit
    wanted = covariance / np.outer(unit, unit)
    pairs = list(zip(*np.tril_indices(5), strict=True))
    errors = [mean(drawn[:, i] * drawn[:, j]) - wanted[i, j] for i, j in pairs]
    sizes, names = [abs(error.value) for error in errors], [f"{i + 1}, {j + 1}" for i, j in pairs]
    return {"covariance of draws, largest error": largest(sizes, [error.error for error in errors], names)}


@TOPIC.figure("fig_2_2")
def grid_image(work: Work) -> Arrays:
    """Figure 2.2."""
    line = 0.0455 + 0.909 * np.arange(12) / 11
    grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    along = {"first": np.arange(12), "second": np.arange(12), "axis": [1, 2]}
    normal_grid = np.asarray(jax.jit(box_muller)(grid))
    return {"uniform": xr.DataArray(grid, along), "normal": xr.DataArray(normal_grid, along)}


@TOPIC.figure("slides_inverse_cdf")
def quantile_map(work: Work) -> Arrays:
    """The slides' picture of inversion, for the skewed distribution of figure 2.12."""
    distribution = generalised_logistic(SHAPE)
    x = np.linspace(-6.0, 12.0, 361)
    levels = (np.arange(20) + 0.5) / 20
    log_density, function, quantiles = (
        np.asarray(jax.jit(compute)(at)) for compute, at in zip(distribution, (x, x, levels), strict=True)
    )
    line = {"x": x}
    return {
        "function": xr.DataArray(function, line),
        "density": xr.DataArray(np.exp(log_density), line),
        "quantile": xr.DataArray(quantiles, {"level": levels}),
    }
