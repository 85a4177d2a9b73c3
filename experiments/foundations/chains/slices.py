"""Claims on slice samplers: directions on a narrow ellipse, the slice of figure 2.10, ellipses, repeats."""

import math
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy import optimize, special

from auxmc.kernels.slices.core import SliceState
from auxmc.kernels.slices.elliptical_slice import EllipseNoise, elliptical_slice
from auxmc.models.mixtures.scalar_mixture import OVERLAPPING
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.error_rules import mean_over_replicates, standard_error
from experiments.foundations.chains.inputs import correlated, log_uniforms, mixture_density, random_keys
from experiments.foundations.chains.slice_curves import (
    DIRECTIONS,
    HEIGHT_SHARE,
    NEARLY_ONE,
    SLICE_START,
    fresh_transitions,
)
from experiments.foundations.measurements import distance, lowest_point
from experiments.foundations.topic import Lines, Topic, Work

TOPIC = Topic()

# Powers of the coordinates along the long and the short axis; odd in both together, as the long coordinate is.
_POWERS = tuple((i, j) for i, j in product(range(6), range(3)) if (i + j) % 2 == 1 and i + j <= 5)
_N_GROUPS = 20
# Long and short axis of the ellipse, as columns.
_TURN = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2.0)


@TOPIC.claim("FN-SL-01")
def narrow_ellipse(work: Work) -> Lines:
    """The ellipse drawn in figure 2.11 and the normal law whose 99 % it holds."""
    long_variance, short_variance = np.linalg.eigvalsh(correlated(NEARLY_ONE))[::-1]
    size = math.sqrt(-2.0 * math.log(0.01))
    return {
        "larger eigenvalue": long_variance,
        "smaller eigenvalue": short_variance,
        "correlation": (long_variance - short_variance) / (long_variance + short_variance),
        "long semi-axis of 99 % of the mass": size * math.sqrt(long_variance),
        "short semi-axis of 99 % of the mass": size * math.sqrt(short_variance),
    }


@TOPIC.claim("FN-SL-02")
def exploration(work: Work) -> Lines:
    """Autocorrelation times of the long coordinate."""
    times = {}
    for name, run in work.once(fresh_transitions).items():
        before, after = run.before @ _TURN, run.after @ _TURN
        groups = zip(np.array_split(before, _N_GROUPS), np.array_split(after, _N_GROUPS), strict=True)
        error = standard_error([_autocorrelation_time(*group) for group in groups])
        times[name] = Measurement(_autocorrelation_time(before, after), error)
    axis, unit = (times[name] for name in DIRECTIONS)
    ratio = axis.value / unit.value
    relative = math.hypot(axis.error / axis.value, unit.error / unit.value)
    return {**times, "ratio": Measurement(ratio, ratio * relative)}


@TOPIC.claim("FN-SL-03")
def squared_jumps(work: Work) -> Lines:
    """Mean squared jump of the long coordinate."""
    return {
        name: mean_over_replicates(np.square((run.after - run.before) @ _TURN[:, 0]))
        for name, run in work.once(fresh_transitions).items()
    }


@TOPIC.claim("FN-SL-04")
def evaluations(work: Work) -> Lines:
    """Density evaluations of a transition, with that of the current point."""
    return {
        name: mean_over_replicates(run.n_evaluations + 1.0)
        for name, run in work.once(fresh_transitions).items()
    }


@TOPIC.claim("FN-SL-06")
def drawn_slice(work: Work) -> Lines:
    """Height, ends and dip of the slice in figure 2.10."""

    def density(x: float) -> float:
        return float(mixture_density(OVERLAPPING, x))

    height = HEIGHT_SHARE * density(SLICE_START)
    lower = optimize.brentq(lambda x: density(x) - height, -1.5, SLICE_START, xtol=1e-13)
    upper = optimize.brentq(lambda x: density(x) - height, 0.5, 2.0, xtol=1e-13)
    return {
        "height": height,
        "lower end": lower,
        "upper end": upper,
        "density at the dip": lowest_point(density, -0.2, 0.3, 1e-10)[1],
        "lower end as drawn": lower,
        "upper end as drawn": upper,
    }


@TOPIC.claim("FN-SL-07")
def repeats(work: Work) -> Lines:
    """Transitions that end exactly where they began."""
    runs = work.once(fresh_transitions).values()
    linear = [np.all(run.after == run.before, axis=2) for run in runs]
    elliptical = [run["repeated"] for run in work.once(_ellipse_chains).values()]
    return {"linear": np.mean(linear), "elliptical": np.mean(elliptical)}


@TOPIC.claim("FN-SL-08")
def exact_reference(work: Work) -> Lines:
    """Elliptical slice sampling where the reference is the target itself."""
    run = work.once(_ellipse_chains)["reference"]
    first, second = run["before"], run["after"]
    squares = 0.5 * (first**2 - 1.0) * (second**2 - 1.0)
    return {
        "autocorrelation of x, distance in standard errors": distance(first * second, 0.0),
        "autocorrelation of squared x, distance in standard errors": distance(squares, 0.5),
        "most proposals in an update": np.max(run["n_evaluations"]),
    }


@TOPIC.claim("FN-SL-09")
def membership(work: Work) -> Lines:
    """Current points inside the slice as it should be and as equation 2.50 prints it."""
    run = work.once(_ellipse_chains)["bent"]
    return {
        "corrected": np.mean(run["log_likelihood"] > run["log_height"]),
        "as printed": np.mean(run["log_likelihood"] < run["log_height"]),
    }


def _autocorrelation_time(before: FloatArray, after: FloatArray) -> float:
    """Autocorrelation time of the long coordinate f under a reversible kernel P, by Galerkin's method.

    The time is 2 <f, (1 - P)^-1 f> / <f, f> - 1. The inverse is sought among polynomials g, whose forms <g, (1 - P) h>
    are half the mean products of their jumps; all other moments are those of the normal law. More polynomials can
    only raise the result.

    Args:
        before: coordinates along the long and the short axis of exact draws [..., 2].
        after: the same after a transition [..., 2].
    """
    jumps = (_polynomials(after) - _polynomials(before)).reshape(-1, len(_POWERS))
    form = 0.5 * jumps.T @ jumps / len(jumps)
    with_long = np.array([_normal_moment(i + 1) * _normal_moment(j) for i, j in _POWERS])
    return float(2.0 * with_long @ np.linalg.solve(form, with_long) - 1.0)


def _polynomials(points: FloatArray) -> FloatArray:
    scaled = points / np.sqrt([1.0 + NEARLY_ONE, 1.0 - NEARLY_ONE])
    return np.stack([scaled[..., 0] ** i * scaled[..., 1] ** j for i, j in _POWERS], axis=-1)


def _normal_moment(power: int) -> float:
    return 0.0 if power % 2 else float(special.factorial2(power - 1)) if power else 1.0


def _ellipse_chains(work: Work) -> dict[str, dict[str, FloatArray]]:
    """Short chains of elliptical slice updates from draws of the reference N(mu, Sigma).

    The likelihood is constant, so that the reference is the target itself, or a smooth one that bends and splits it.
    """
    n_chains, n_steps, rng = work.replicates(100_000, 10_000), 5, work.rng("ellipses")
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
            return new, (new.position, states.log_density, info.log_height, info.n_evaluations, same)

        return jax.lax.scan(step, jax.vmap(kernel.init, (None, 0))(jax.random.key(0), starts), noise)[1]

    names = ("position", "log_likelihood", "log_height", "n_evaluations", "repeated")
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
    # In units of its standard deviation, for the laws of one coordinate.
    found["reference"]["before"] = normals[0][:, 0]
    found["reference"]["after"] = found["reference"]["position"][0, :, 0] / cholesky[0, 0]
    return found
