"""Topics: pseudo-random integers and uniform floats, transforms, inverse distribution functions, rejection."""

import math
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from numpy.typing import ArrayLike
from scipy import stats

from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc.sampling.rejection import Envelope, Proposal, rejection_proposal
from auxmc_pipeline.measuring import Measurement, proportion_of
from experiments.foundations.chains.inputs import SHAPE
from experiments.foundations.measurements import (
    distance_from_distribution,
    highest_point,
    largest_size,
    normal_points,
    points_of_cube,
)
from experiments.foundations.sampling import (
    box_muller,
    draw_by_inversion,
    exponential,
    generalised_logistic,
    inverse_box_muller,
    normal,
    symmetric_root,
    uniform_from_bits,
)
from experiments.foundations.topic import Arrays, Lines, Topic, Work
from experiments.tempering_illustration.model import OVERLAPPING

TOPIC = Topic()

PROPOSAL_MEAN, PROPOSAL_SD, BOUND = 0.1, 0.6, 1.9
"""Proposal and bound of PhD thesis, figure 2.3, from the sources of its drawing."""

TAIL = 4.0
"""Where the tail of the slides' example begins."""

# Points of the curves that are drawn.
_SHOWN = np.linspace(-2.0, 2.0, 401)
# The two proposals that figure 2.3 marks: place, and height as a fraction of the envelope.
_MARKED = {"rejected": (-0.25, 0.6), "accepted": (0.9, 0.3)}


def mixture_density(x: float | FloatArray) -> FloatArray:
    """Density of the target of figure 2.3 at points [...]."""
    # With NumPy: compiling the same for a few hundred points would take longer than all of them.
    parts = (weight * stats.norm.pdf(x, mean, sd) for weight, mean, sd in zip(*OVERLAPPING, strict=True))
    return np.asarray(sum(parts))


def figure_envelope(dim: int = 1) -> Envelope:
    """Envelope of figure 2.3 in each of some dimensions."""
    proposal = normal(PROPOSAL_MEAN, PROPOSAL_SD)
    return Envelope(
        lambda x: jnp.sum(OVERLAPPING.log_density(x)),
        lambda key: draw_by_inversion(key, proposal, (dim,)),
        lambda x: jnp.sum(proposal.log_density(x)),
        dim * math.log(BOUND),
    )


@partial(jax.jit, static_argnames=("n", "dim"))
def make_proposals(key: Array, n: int, dim: int) -> Proposal:
    """Independent proposals of figure 2.3 in each of some dimensions [draw]."""
    envelope = figure_envelope(dim)
    return jax.vmap(lambda one: rejection_proposal(one, envelope))(jax.random.split(key, n))


def figure_proposals(work: Work) -> Proposal:
    """Independent proposals of figure 2.3 [draw]."""
    return make_proposals(work.key("figure_2_3"), work.replicates(1_000_000, 20_000), 1)


def figure_ratio(x: FloatArray) -> FloatArray:
    """Target over proposal of figure 2.3 at points [...]."""
    return np.asarray(mixture_density(x) / stats.norm.pdf(x, PROPOSAL_MEAN, PROPOSAL_SD))


def _envelope(x: FloatArray) -> FloatArray:
    return np.asarray(BOUND * stats.norm.pdf(x, PROPOSAL_MEAN, PROPOSAL_SD))


class Marked(NamedTuple):
    """A proposal, its height, and target and envelope there."""

    x: float
    height: float
    target: float
    envelope: float


def marked_points() -> dict[str, Marked]:
    """The two proposals that figure 2.3 marks."""
    proposal = stats.norm(PROPOSAL_MEAN, PROPOSAL_SD)
    return {
        name: Marked(
            x, fraction * BOUND * proposal.pdf(x), float(mixture_density(x)), BOUND * proposal.pdf(x)
        )
        for name, (x, fraction) in _MARKED.items()
    }


def tail_envelope() -> Envelope:
    """A normal number beyond 4 below a multiple of an exponential density that begins there."""
    excess, standard = exponential(TAIL), normal(0.0, 1.0)
    return Envelope(
        lambda x: jnp.where(x > TAIL, standard.log_density(x), -jnp.inf),
        lambda key: TAIL + draw_by_inversion(key, excess, ()),
        lambda x: excess.log_density(x - TAIL),
        float(stats.norm.logpdf(TAIL)) - math.log(TAIL),
    )


@TOPIC.figure("fig_2_3")
def rejection_curves(work: Work) -> Arrays:
    """Figure 2.3."""
    line, marked = {"x": _SHOWN}, marked_points()
    parts = {"point": list(marked), "part": list(Marked._fields)}
    return {
        "target": xr.DataArray(mixture_density(_SHOWN), line),
        "envelope": xr.DataArray(_envelope(_SHOWN), line),
        "marked": xr.DataArray(list(marked.values()), parts),
    }


@TOPIC.figure("slides_rejection")
def rejection_box(work: Work) -> Arrays:
    """The slides' picture of rejection: points below the envelope, and the weight below its bound."""
    line, made, n_shown = {"x": _SHOWN}, work.once(figure_proposals), 600
    parts = (
        made.position[:n_shown, 0],
        np.exp(np.asarray(made.log_height[:n_shown])),
        made.accepted[:n_shown],
    )
    along = {"draw": np.arange(n_shown), "part": ["x", "height", "accepted"]}
    return {
        "target": xr.DataArray(mixture_density(_SHOWN), line),
        "envelope": xr.DataArray(_envelope(_SHOWN), line),
        "weight": xr.DataArray(figure_ratio(_SHOWN), line),
        "bound": xr.DataArray(BOUND),
        "points": xr.DataArray(np.stack(parts, axis=1), along),
    }


def congruential_states(multiplier: int, increment: int, modulus: int, seed: int, n: int) -> IntegerArray:
    """The first n states s, f(s), f(f(s)), ... [draw] of f(s) = (a s + c) mod m, the seed first.

    Source: PhD thesis, section 2.1.2; Lehmer 1951.

    >>> congruential_states(37, 61, 128, 37, 4).tolist()
    [37, 22, 107, 52]
    """
    states = [seed]
    while len(states) < n:
        states.append((multiplier * states[-1] + increment) % modulus)
    return np.array(states)


def bit_rows(states: ArrayLike, n_bits: int) -> IntegerArray:
    """Bits of each state, the least significant in row 0.

    Args:
        states: not negative [draw].
        n_bits: number of bits, 1 to 62.

    Returns:
        0 or 1 [bit, draw], int64.

    >>> bit_rows([6, 1], 3).tolist()
    [[0, 1], [1, 0], [1, 0]]
    """
    values = np.asarray(states, np.int64)
    return (values[None, :] >> np.arange(n_bits, dtype=np.int64)[:, None]) & 1


def smallest_period(sequence: ArrayLike) -> int:
    """The smallest k for which x_(i + k) = x_i throughout the sequence [draw]; its length if it never repeats.

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
    """States of the generator of PhD thesis, figure 2.1."""
    return congruential_states(37, 61, _MODULUS, 37, n)


@TOPIC.claim("FN-RNG-01")
def visits(work: Work) -> Lines:
    """States that the generator visits, and the first ones."""
    states = _states(_MODULUS)
    return {"distinct states": np.unique(states).size} | {f"state {i + 1}": states[i] for i in range(8)}


@TOPIC.claim("FN-RNG-02")
def bit_periods(work: Work) -> Lines:
    """Two turns of the generator, since a period of one turn shows in no less."""
    rows = bit_rows(_states(2 * _MODULUS), _N_BITS)
    return {f"bit {j}": smallest_period(row) for j, row in enumerate(rows)}


@TOPIC.claim("FN-RNG-04")
def extreme_bits(work: Work) -> Lines:
    """Patterns next to none, to all and to each power of two."""
    found = {}
    for dtype, width in ((jnp.float32, 32), (jnp.float64, 64)):
        patterns = sorted(
            {p for k in range(width) for p in (0, 2**k - 1, 2**k, 2**width - 2**k, 2**width - 1 - 2**k)}
        )
        uniforms = uniform_from_bits(jnp.asarray(np.array(patterns, f"uint{width}")), dtype)
        found[f"{width} bits: numbers of one or more"] = jnp.sum(uniforms >= 1.0)
    return found


@TOPIC.figure("fig_2_1")
def bit_raster(work: Work) -> Arrays:
    """Figure 2.1."""
    bits = bit_rows(_states(_MODULUS), _N_BITS)
    along = {"bit": np.arange(_N_BITS), "state": np.arange(_MODULUS)}
    return {"bits": xr.DataArray(bits.astype(float), along)}


@TOPIC.claim("FN-DS-01")
def box_muller_jacobian(work: Work) -> Lines:
    """Determinant of the map of Box and Muller."""
    uniforms = _points_away_from_the_edge()
    image, jacobians = jax.jit(jax.vmap(lambda u: (box_muller(u), jax.jacfwd(box_muller)(u))))(uniforms)
    sizes = np.abs(np.linalg.det(np.asarray(jacobians)))
    normals = stats.norm.pdf(np.asarray(image)).prod(axis=-1)
    return {
        "determinant against 2 pi / u1": largest_size(sizes / (2.0 * math.pi / uniforms[:, 0]) - 1.0),
        "its inverse against the normal densities": largest_size(1.0 / sizes / normals - 1.0),
    }


@TOPIC.claim("FN-DS-02", numbers=["corrected"])
def box_muller_inverses(work: Work) -> Lines:
    """The inverse map, corrected and as printed."""
    uniforms = _points_away_from_the_edge()
    image, back = (np.asarray(values) for values in _there_and_back(uniforms))
    printed = np.arctan(image[:, 0] / image[:, 1]) / (2.0 * math.pi)
    return {"corrected": largest_size(back - uniforms), "as printed": largest_size(printed - uniforms[:, 1])}


@jax.jit
def _there_and_back(uniforms: Array) -> tuple[Array, Array]:
    image = box_muller(uniforms)
    return image, inverse_box_muller(image)


def _points_away_from_the_edge() -> FloatArray:
    return 0.01 + 0.98 * points_of_cube(1000, 2)


@cache
def _grid_and_image() -> tuple[FloatArray, FloatArray]:
    """The grid of figure 2.2 and its image [first, second, axis]."""
    line = 0.0455 + 0.909 * np.arange(12) / 11
    grid = np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1)
    return grid, np.asarray(jax.jit(box_muller)(grid))


@TOPIC.claim("FN-DS-04")
def skewed_draws(work: Work) -> Lines:
    """Draws by inversion of a skewed distribution."""
    skewed, n = generalised_logistic(SHAPE), work.replicates(100_000, 1000)
    drawn = jax.jit(lambda key: draw_by_inversion(key, skewed, (n,)))(work.key("skewed"))
    levels = 1.0 - (1.0 + np.exp(np.asarray(drawn))) ** -SHAPE
    return {"distance of the sample's law": distance_from_distribution(levels)}


@TOPIC.claim("FN-DS-05")
def figure_acceptance(work: Work) -> Lines:
    """The bound and the acceptance of figure 2.3."""
    accepted = np.asarray(work.once(figure_proposals).accepted)
    return {
        "largest target over proposal": highest_point(figure_ratio, np.linspace(-4.0, 4.0, 8001), 0.01)[1],
        "acceptance rate": proportion_of(accepted),
    }


@TOPIC.claim("FN-DS-06")
def marked_proposals(work: Work) -> Lines:
    """A proposal is accepted if its height is at most the target."""
    return {f"{name} decision": point.height <= point.target for name, point in marked_points().items()}


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
def covariance_roots(work: Work) -> Lines:
    """Square of the symmetric root of a covariance."""
    half = normal_points(5, 5)
    covariance = half @ half.T + np.eye(5)
    symmetric = symmetric_root(covariance)
    return {"symmetric root": largest_size(symmetric @ symmetric.T - covariance)}


@TOPIC.figure("fig_2_2")
def grid_image(work: Work) -> Arrays:
    """Figure 2.2."""
    grid, image = _grid_and_image()
    along = {"first": np.arange(12), "second": np.arange(12), "axis": [1, 2]}
    return {"uniform": xr.DataArray(grid, along), "normal": xr.DataArray(image, along)}


@TOPIC.figure("slides_inverse_cdf")
def quantile_map(work: Work) -> Arrays:
    """The slides' picture of inversion, for the skewed distribution of figure 2.12."""
    distribution = generalised_logistic(SHAPE)
    x = np.linspace(-6.0, 12.0, 361)
    levels = (np.arange(20) + 0.5) / 20
    compute = jax.jit(
        lambda x, u: (
            distribution.distribution_function(x),
            distribution.log_density(x),
            distribution.quantile(u),
        )
    )
    function, log_density, quantiles = map(np.asarray, compute(x, levels))
    line = {"x": x}
    return {
        "function": xr.DataArray(function, line),
        "density": xr.DataArray(np.exp(log_density), line),
        "quantile": xr.DataArray(quantiles, {"level": levels}),
    }
