"""Claims on slice samplers: directions on a narrow ellipse, the slice of figure 2.10, ellipses, repeats."""

import math
from functools import partial
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy import optimize, special

from auxmc.kernels.slices.core import SliceState
from auxmc.kernels.slices.elliptical_slice import EllipseNoise, elliptical_slice
from auxmc.numerics.array_types import FloatArray, IntegerArray
from auxmc_pipeline.error_rules import (
    fraction_of_replicates,
    jackknife,
    mean_over_replicates,
    ratio,
)
from experiments.foundations.chains.inputs import correlated, log_uniforms, mixture_density, random_keys
from experiments.foundations.chains.slice_curves import (
    DIRECTIONS,
    HEIGHT_FRACTION,
    NEARLY_ONE,
    SLICE_START,
    fresh_transitions,
    many_chains,
)
from experiments.foundations.topic import Found, Lines, Topic, Work
from experiments.tempering_illustration.model.scalar_mixture import OVERLAPPING

TOPIC = Topic()

# Powers of the coordinates along the long and the short axis; odd in both together, as the long coordinate is.
_POWERS = tuple((i, j) for i, j in product(range(6), range(3)) if (i + j) % 2 == 1 and i + j <= 5)
_N_GROUPS = 20
# Of the dotted ellipse of figure 2.11, from the sources of its drawing.
_DRAWN_SEMI_AXES = (4.281189, 0.303485)
# Moments of the 500 points that each panel of figure 2.11 draws, from the same sources.
_PUBLISHED_MOMENTS = {
    "axis-aligned": {
        "variance along the long axis": 1.5272,
        "variance along the short axis": 0.010260,
        "mean squared jump along the long axis": 0.0447,
    },
    "random direction": {
        "variance along the long axis": 3.1965,
        "variance along the short axis": 0.009616,
        "mean squared jump along the long axis": 0.3120,
    },
}
# Long and short axis of the ellipse, as columns.
_TURN = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2.0)


@TOPIC.claim("FN-SL-01")
def narrow_ellipse(work: Work) -> Lines:
    """The ellipse drawn in figure 2.11 and the normal distribution whose 99 % it holds."""
    points = work.rng("ellipse").multivariate_normal(
        np.zeros(2), correlated(NEARLY_ONE), work.replicates(1_000_000, 20_000)
    )
    inside = np.sum(np.square(points @ _TURN / _DRAWN_SEMI_AXES), axis=1) < 1.0
    return {"mass inside the dotted ellipse": fraction_of_replicates(inside)}


@TOPIC.claim("FN-SL-02", numbers=DIRECTIONS)
def exploration(work: Work) -> Lines:
    """Autocorrelation times of the long coordinate."""
    times = {}
    for name, run in work.once(fresh_transitions).items():
        groups = np.array_split(run.before @ _TURN, _N_GROUPS), np.array_split(run.after @ _TURN, _N_GROUPS)
        forms = np.array([_form(before, after) for before, after in zip(*groups, strict=True)])
        times[name] = jackknife(partial(_autocorrelation_time, forms), _N_GROUPS)
    axis, unit = (times[name] for name in DIRECTIONS)
    return {**times, "ratio": ratio(axis, unit)}


@TOPIC.claim("FN-SL-04", numbers=DIRECTIONS)
def evaluations(work: Work) -> Lines:
    """Density evaluations of a transition, with that of the current point."""
    return {
        name: mean_over_replicates(run.n_evaluations + 1.0)
        for name, run in work.once(fresh_transitions).items()
    }


@TOPIC.claim("FN-SL-05")
def published_samples(work: Work) -> Lines:
    """Where the moments of the 500 points that figure 2.11 draws lie among those of chains like it."""
    found: Found = {}
    for name, run in work.once(many_chains).items():
        drawn = run.after[1::2] @ _TURN
        moments = {
            "variance along the long axis": drawn[..., 0].var(axis=0),
            "variance along the short axis": drawn[..., 1].var(axis=0),
            "mean squared jump along the long axis": np.mean(np.diff(drawn[..., 0], axis=0) ** 2, axis=0),
        }
        for moment, values in moments.items():
            larger = fraction_of_replicates(values > _PUBLISHED_MOMENTS[name][moment])
            found[f"{name}, share of chains with a larger {moment}"] = larger
    return found


@TOPIC.claim("FN-SL-06", numbers=["lower end", "upper end"])
def drawn_slice(work: Work) -> Lines:
    """Ends of the slice in figure 2.10."""

    def above(x: float) -> float:
        return float(mixture_density(OVERLAPPING, x) - height)

    height = HEIGHT_FRACTION * float(mixture_density(OVERLAPPING, SLICE_START))
    lower = optimize.brentq(above, -1.5, SLICE_START, xtol=1e-13)
    upper = optimize.brentq(above, 0.5, 2.0, xtol=1e-13)
    return {
        "lower end": lower,
        "upper end": upper,
        "lower end as drawn": lower,
        "upper end as drawn": upper,
    }


@TOPIC.claim("FN-SL-07")
def repeats(work: Work) -> Lines:
    """Transitions that end exactly where they began."""
    runs = work.once(fresh_transitions).values()
    linear = [np.all(run.after == run.before, axis=2) for run in runs]
    elliptical = [run["repeated"] for run in work.once(_ellipse_chains).values()]
    return {"linear": fraction_of_replicates(linear), "elliptical": fraction_of_replicates(elliptical)}


@TOPIC.claim("FN-SL-09", numbers=["corrected"])
def membership(work: Work) -> Lines:
    """Current points inside the slice as it should be and as equation 2.50 prints it."""
    run = work.once(_ellipse_chains)["bent"]
    return {
        "corrected": fraction_of_replicates(run["log_likelihood"] > run["log_height"]),
        "as printed": fraction_of_replicates(run["log_likelihood"] < run["log_height"]),
    }


def _autocorrelation_time(forms: FloatArray, kept: IntegerArray) -> float:
    """Autocorrelation time of the long coordinate f under a reversible kernel P, by Galerkin's method.

    The time is 2 <f, (1 - P)^-1 f> / <f, f> - 1. The inverse is sought among polynomials g, whose forms <g, (1 - P) h>
    are half the mean products of their jumps; all other moments are those of the normal distribution. More polynomials
    can only raise the result.

    Args:
        forms: of independent groups of transitions [group, polynomial, polynomial].
        kept: numbers of the groups to use.
    """
    with_long = np.array([_normal_moment(i + 1) * _normal_moment(j) for i, j in _POWERS])
    return float(2.0 * with_long @ np.linalg.solve(forms[kept].mean(axis=0), with_long) - 1.0)


def _form(before: FloatArray, after: FloatArray) -> FloatArray:
    """Half the mean products of the jumps of the polynomials [polynomial, polynomial].

    Args:
        before: coordinates along the long and the short axis of exact draws [..., 2].
        after: the same after a transition [..., 2].
    """
    jumps = (_polynomials(after) - _polynomials(before)).reshape(-1, len(_POWERS))
    return np.asarray(0.5 * jumps.T @ jumps / len(jumps))


def _polynomials(points: FloatArray) -> FloatArray:
    scaled = points / np.sqrt([1.0 + NEARLY_ONE, 1.0 - NEARLY_ONE])
    return np.stack([scaled[..., 0] ** i * scaled[..., 1] ** j for i, j in _POWERS], axis=-1)


def _normal_moment(power: int) -> float:
    return 0.0 if power % 2 else float(special.factorial2(power - 1)) if power else 1.0


def _ellipse_chains(work: Work) -> dict[str, dict[str, FloatArray]]:
    """Short chains of elliptical slice updates from draws of the reference N(mu, Sigma).

    The likelihood is constant, so that the reference is the target itself, or a smooth one that bends and splits it.
    """
    n_chains, n_steps, rng = work.replicates(400_000, 10_000), 5, work.rng("ellipses")
    cholesky = np.linalg.cholesky(np.array([[2.0, 0.6], [0.6, 0.5]]))
    normals = rng.normal(size=(n_steps + 1, n_chains, 2))
    keys = random_keys(rng, (n_steps, n_chains))

    @jax.jit
    def run(strength: Array, starts: Array, noise: EllipseNoise) -> tuple[Array, ...]:
        def log_likelihood(x: Array) -> Array:
            return strength * (OVERLAPPING.log_density(x[:1])[0] - (x[1] - x[0] ** 2) ** 2)

        # The kernel's reference is centred: its points are x - mu.
        kernel = elliptical_slice(log_likelihood, jnp.asarray(cholesky))

        def step(states: SliceState, noise: EllipseNoise) -> tuple[SliceState, tuple[Array, ...]]:
            new, info = jax.vmap(kernel.apply)(noise, states)
            same = jnp.all(new.position == states.position, axis=1)
            return new, (states.log_density, info.log_height, same)

        return jax.lax.scan(step, jax.vmap(kernel.init, (None, 0))(jax.random.key(0), starts), noise)[1]

    names = ("log_likelihood", "log_height", "repeated")
    found = {}
    for target, strength in (("reference", 0.0), ("bent", 1.0)):
        noise = EllipseNoise(
            direction=jnp.asarray(normals[1:] @ cholesky.T),
            log_uniform=jnp.asarray(log_uniforms(rng, (n_steps, n_chains))),
            angle=jnp.asarray(2.0 * math.pi * rng.random((n_steps, n_chains))),
            key=keys,
        )
        results = run(jnp.asarray(strength), jnp.asarray(normals[0] @ cholesky.T), noise)
        found[target] = dict(zip(names, map(np.asarray, results), strict=True))
    return found
