"""Examples of several topics: the mixture and the envelope of figure 2.3, the tail of a normal distribution."""

import math
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import integrate, stats

from auxmc.numerics.array_types import FloatArray
from auxmc.sampling.rejection import Envelope, Proposal, rejection_proposal
from experiments.foundations.sampling import draw_by_inversion, exponential, normal
from experiments.foundations.topic import Arrays, Topic, Work
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


def mixture_mass() -> float:
    """Mass of the target of figure 2.3 by quadrature."""
    # The trapezoidal rule is exact to rounding for a smooth density that is over before the ends.
    x = np.linspace(-6.0, 6.0, 6001)
    return float(integrate.trapezoid(mixture_density(x), x))


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
