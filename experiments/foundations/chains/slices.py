"""Slice samplers: directions on a narrow ellipse, slices of the figures, ellipses, repeats."""

import math
from itertools import product
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from numpy.typing import ArrayLike
from scipy import interpolate, optimize, special, stats

from auxmc.kernels.slices.core import SliceState
from auxmc.kernels.slices.directed_slice import along_axes, directed_slice
from auxmc.kernels.slices.elliptical_slice import EllipseNoise, elliptical_slice
from auxmc.kernels.slices.linear_slice import LineNoise
from auxmc.kernels.slices.reflective_slice import reflect
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import Measurement, estimate, proportion_of
from experiments.foundations.chains.inputs import correlated, log_uniforms, mixture_density, random_keys
from experiments.foundations.topic import Arrays, Found, Lines, Topic, Work
from experiments.tempering_illustration.model import OVERLAPPING

TOPIC = Topic()

# Figure 2.11: correlation of the target, distributions of the slice line, and transitions, of which half are drawn.
_NEARLY_ONE, _DIRECTIONS, _N_TRANSITIONS = 0.99, ("axis-aligned", "random direction"), 1000
# Figure 2.10: current point on its slice line, and height of the slice as a fraction of the density there.
_SLICE_START, _HEIGHT_FRACTION = -0.25, 0.6
_DRAWN_BRACKET = (-1.3, 1.8)
_DRAWN_PROPOSALS = (1.3, 0.5)
_TILT = math.radians(30.0)
_N_STEP_OUTS = 4


class Transitions(NamedTuple):
    """Points [transition, chain, 2]."""

    before: FloatArray
    after: FloatArray


# Numbers of chains of full effort, and least ones: from exact draws, as in the figure, and enough for rare ones.
_N_CHAINS = {"fresh": (1500, 60), "chains": (200, 60), "many chains": (2000, 100)}


def transitions(work: Work, name: str) -> dict[str, Transitions]:
    """For each distribution of the direction, chains from exact draws; "fresh" ones start again after each step."""
    n_chains = work.replicates(*_N_CHAINS[name])
    shape, rng = (_N_TRANSITIONS, n_chains), work.rng("slices", name)
    found = {}
    for direction in _DIRECTIONS:
        starts = rng.multivariate_normal(np.zeros(2), correlated(_NEARLY_ONE), shape)
        noise = LineNoise(
            direction=jnp.asarray(_lines(direction, rng, shape)),
            log_uniform=jnp.asarray(log_uniforms(rng, shape)),
            bracket_uniform=jnp.asarray(rng.random(shape)),
            offset_uniform=jnp.asarray(rng.random(shape)),
            n_lower=jnp.asarray(rng.integers(0, _N_STEP_OUTS + 1, shape), jnp.int32),
            key=random_keys(rng, shape),
        )
        results = _run(jnp.asarray(starts), jnp.asarray(name == "fresh"), noise)
        found[direction] = Transitions(*map(np.asarray, results))
    return found


def _lines(direction: str, rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    if direction == _DIRECTIONS[0]:
        return np.asarray(np.eye(2)[rng.integers(0, 2, shape)])
    normals = rng.normal(size=(*shape, 2))
    return np.asarray(normals / np.linalg.norm(normals, axis=-1, keepdims=True))


@jax.jit
def _run(starts: Array, restart: Array, noise: LineNoise) -> tuple[Array, Array]:
    """Chains from the first starts, or, with restarts, a transition from every start."""
    precision = jnp.asarray(np.linalg.inv(correlated(_NEARLY_ONE)))
    # Brackets of width 1; the direction is part of the noise.
    kernel = directed_slice(lambda x: -0.5 * x @ precision @ x, along_axes(2), 1.0, 2, _N_STEP_OUTS)

    def step(points: Array, inputs: tuple[Array, LineNoise]) -> tuple[Array, tuple[Array, Array]]:
        fresh, noise = inputs
        before = jnp.where(restart, fresh, points)
        new, _ = jax.vmap(kernel.apply)(noise, jax.vmap(kernel.init)(before))
        return new.position, (before, new.position)

    return jax.lax.scan(step, starts[0], (starts, noise))[1]


@TOPIC.figure("fig_2_10")
def slice_and_line(work: Work) -> Arrays:
    """Figure 2.10: a slice in the plane with its line, and the density along that line."""
    along = np.linspace(-2.2, 2.4, 231)
    density = mixture_density(OVERLAPPING, along)
    height = _HEIGHT_FRACTION * float(mixture_density(OVERLAPPING, _SLICE_START))
    across = np.linspace(-1.5, 2.0, 176)
    # Across the line the density is normal, highest next to the line, which is at 1.
    profile = stats.norm.pdf(across, 0.55, 0.55) / stats.norm.pdf(1.0, 0.55, 0.55)
    marks = [_SLICE_START, *_DRAWN_BRACKET, *_DRAWN_PROPOSALS]
    roles = {"role": ["current", "lower end", "upper end", "rejected", "accepted"]}
    line = {"along": along}
    return {
        "density": xr.DataArray(density, line),
        "plane": xr.DataArray(profile[:, None] * density, {"across": across, **line}),
        "height": xr.DataArray(height),
        "tilt": xr.DataArray(_TILT, attrs={"units": "radians"}),
        "mark": xr.DataArray(marks, roles),
    }


@TOPIC.figure("fig_2_11")
def directions(work: Work) -> Arrays:
    """Figure 2.11: a chain of 1000 transitions of each kernel, every second drawn, and jumps of many such chains."""
    chains = work.once(transitions, "chains").values()
    moves = [np.sum(run.after - run.before, axis=2) / math.sqrt(2.0) for run in chains]
    jumps = np.array([np.mean(np.square(values), axis=0) for values in moves])
    direction, points = {"direction": list(_DIRECTIONS)}, [run.after[1::2, 0] for run in chains]
    draws = {"draw": np.arange(_N_TRANSITIONS // 2), "axis": [1, 2]}
    return {
        "point": xr.DataArray(points, {**direction, **draws}),
        "jump": xr.DataArray(jumps, {**direction, "repeat": np.arange(jumps.shape[1])}),
    }


@TOPIC.figure("fig_3_2")
def reflections(work: Work) -> Arrays:
    """Figure 3.2: a slice line that bounces off the faces of the unit square."""
    corners = np.array([(0.2, 0.1), (0.1, 0.6), (0.6, 0.8), (0.9, 0.7), (0.5, 0.1)])
    slopes = 0.5 * (np.roll(corners, -1, axis=0) - np.roll(corners, 1, axis=0))
    closed = [np.concatenate([values, values[:1]]) for values in (corners, slopes)]
    outline = interpolate.CubicHermiteSpline(np.arange(6), *closed)(np.linspace(0.0, 5.0, 201))
    current, direction = np.array([0.373, 0.448]), np.array([-1.0, 0.97])
    # Ends of the bracket, places where the line meets a face, and the two proposals, as offsets along the line.
    faces = [0.373, (1.0 - 0.448) / 0.97]
    offsets = np.array([-0.133, 0.0, *faces, 0.608, 0.458, 0.159])
    roles = ["lower end", "current", "left face", "upper face", "upper end", "rejected", "accepted"]
    places = np.asarray(reflect(jnp.asarray(current + offsets[:, None] * direction)))
    return {
        "outline": xr.DataArray(outline, {"point": np.arange(201), "axis": [1, 2]}),
        "place": xr.DataArray(places, {"role": roles, "axis": [1, 2]}),
    }


@TOPIC.figure("slides_slice")
def update_in_frames(work: Work) -> Arrays:
    """Slides: the first random update that rejects two proposals and ends in the slice's other part, in stages."""
    start, height, width, step_outs, n_tried = 0.45, 0.385, 0.5, 6, 1000
    rng = work.rng("slide")
    log_height = jnp.log(height / mixture_density(OVERLAPPING, start))
    half, allowed = jnp.array(0.5), jnp.array(3, jnp.int32)

    def log_density(x: Array) -> Array:
        return OVERLAPPING.log_density(x)[0]

    def stages(uniform: Array, key: Array) -> Array:
        def stopped(offset_uniform: Array, n_proposals: Array) -> Array:
            kernel = directed_slice(log_density, along_axes(1), width, 1, step_outs, max_passes=n_proposals)
            noise = LineNoise(jnp.ones(1), log_height, half, offset_uniform, allowed, key)
            new, info = kernel.apply(noise, kernel.init(jnp.full(1, start)))
            return jnp.stack([info.lower, info.upper, new.position[0]])

        # A first proposal at the lower end itself leaves the bracket as it was grown.
        n_proposals = jnp.array([1, 1, 2, 3], jnp.int32)
        return jax.vmap(stopped)(uniform * jnp.array([0.0, 1.0, 1.0, 1.0]), n_proposals)

    found = jax.jit(jax.vmap(stages))(jnp.asarray(rng.random(n_tried)), random_keys(rng, (n_tried,)))
    lower, upper, point = np.moveaxis(np.asarray(found), 2, 0)
    wanted = (point[:, 1] == start) & (point[:, 2] == start) & (point[:, 3] < 0.0)
    chosen = int(np.flatnonzero(wanted)[0])
    initial = width * np.array([-0.5, 0.5])
    ends = np.stack([lower[chosen, :3], upper[chosen, :3]], axis=1)
    x = np.linspace(-1.8, 2.2, 401)
    brackets = {"stage": ["first bracket", "grown", "shrunk once", "shrunk twice"], "end": ["lower", "upper"]}
    marks, roles = [start, height, point[chosen, 3], width], ["current", "height", "new", "width"]
    return {
        "density": xr.DataArray(mixture_density(OVERLAPPING, x), {"x": x}),
        "bracket": xr.DataArray(start + np.vstack([initial, ends]), brackets),
        "mark": xr.DataArray(marks, {"role": roles}),
    }


# Powers of the coordinates along the long and the short axis; odd in both together, as the long coordinate is.
_POWERS = tuple((i, j) for i, j in product(range(6), range(3)) if (i + j) % 2 == 1 and i + j <= 5)
_N_GROUPS = 20
# Half the short axis of the dotted ellipse of figure 2.11, from the sources of its drawing.
_DRAWN_SHORT_AXIS = 0.303485
# Moments of the 500 points that each panel of figure 2.11 draws, from the same sources: variances along the long and
# along the short axis, mean squared jump along the long axis.
_PUBLISHED_MOMENTS = {
    "axis-aligned": (1.5272, 0.010260, 0.0447),
    "random direction": (3.1965, 0.009616, 0.3120),
}
# Long and short axis of the ellipse, as columns.
_TURN = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2.0)


@TOPIC.claim("FN-SL-01")
def narrow_ellipse(work: Work) -> Lines:
    """Normal mass inside a contour, by its short axis and the drawn points' variance; the long one mixes too slowly."""

    def mass(variances: ArrayLike) -> FloatArray:
        """From variances [panel, ...]."""
        means = np.asarray(variances, np.float64).mean(axis=0)
        return np.asarray(-np.expm1(-0.5 * _DRAWN_SHORT_AXIS**2 / means))

    drawn = mass([short for _, short, _ in _PUBLISHED_MOMENTS.values()])
    runs = work.once(transitions, "many chains").values()
    chains = mass([(run.after[1::2] @ _TURN)[..., 1].var(axis=0) for run in runs])
    return {"mass inside the dotted ellipse": Measurement(float(drawn), float(chains.std()))}


@TOPIC.claim("FN-SL-02")
def exploration(work: Work) -> Lines:
    """Autocorrelation times of the long coordinate."""
    times = {}
    for name, run in work.once(transitions, "fresh").items():
        groups = np.array_split(run.before @ _TURN, _N_GROUPS), np.array_split(run.after @ _TURN, _N_GROUPS)
        forms = np.array([_form(before, after) for before, after in zip(*groups, strict=True)])
        times[name] = estimate(_autocorrelation_time, forms, method="jackknife")
    axis, unit = (times[name] for name in _DIRECTIONS)
    return {"ratio": axis / unit}


@TOPIC.claim("FN-SL-05")
def published_samples(work: Work) -> Lines:
    """Where the moments of the 500 points that figure 2.11 draws lie among those of chains like it."""
    found: Found = {}
    for name, run in work.once(transitions, "many chains").items():
        drawn = run.after[1::2] @ _TURN
        moments = {
            "variance along the long axis": drawn[..., 0].var(axis=0),
            "variance along the short axis": drawn[..., 1].var(axis=0),
            "mean squared jump along the long axis": np.mean(np.diff(drawn[..., 0], axis=0) ** 2, axis=0),
        }
        for (moment, values), published in zip(moments.items(), _PUBLISHED_MOMENTS[name], strict=True):
            found[f"{name}, share of chains with a larger {moment}"] = proportion_of(values > published)
    return found


@TOPIC.claim("FN-SL-06")
def drawn_slice(work: Work) -> Lines:
    """Ends of the slice in figure 2.10."""

    def above(x: float) -> float:
        return float(mixture_density(OVERLAPPING, x) - height)

    height = _HEIGHT_FRACTION * float(mixture_density(OVERLAPPING, _SLICE_START))
    lower = optimize.brentq(above, -1.5, _SLICE_START, xtol=1e-13)
    upper = optimize.brentq(above, 0.5, 2.0, xtol=1e-13)
    return {"lower end as drawn": lower, "upper end as drawn": upper}


@TOPIC.claim("FN-SL-07")
def repeats(work: Work) -> Lines:
    """Transitions that end exactly where they began."""
    runs = work.once(transitions, "fresh").values()
    linear = [np.all(run.after == run.before, axis=2) for run in runs]
    elliptical = [run["repeated"] for run in work.once(_ellipse_chains).values()]
    return {"linear": proportion_of(linear), "elliptical": proportion_of(elliptical)}


@TOPIC.claim("FN-SL-09", numbers=["corrected"])
def membership(work: Work) -> Lines:
    """Current points inside the slice as it should be and as equation 2.50 prints it."""
    run = work.once(_ellipse_chains)["bent"]
    return {
        "corrected": proportion_of(run["log_likelihood"] > run["log_height"]),
        "as printed": proportion_of(run["log_likelihood"] < run["log_height"]),
    }


def _autocorrelation_time(forms: FloatArray) -> float:
    """Autocorrelation time of the long coordinate f under a reversible kernel P.

    It is 2 <f, (1 - P)^-1 f> / <f, f> - 1. Galerkin's method takes forms <g, (1 - P) h>
    [group, polynomial, polynomial]; more polynomials can only raise it.
    """
    with_long = np.array([_normal_moment(i + 1) * _normal_moment(j) for i, j in _POWERS])
    return float(2.0 * with_long @ np.linalg.solve(forms.mean(axis=0), with_long) - 1.0)


def _form(before: FloatArray, after: FloatArray) -> FloatArray:
    """Half the mean products of jumps of the polynomials [polynomial, polynomial] from points [..., 2] to others."""
    jumps = (_polynomials(after) - _polynomials(before)).reshape(-1, len(_POWERS))
    return np.asarray(0.5 * jumps.T @ jumps / len(jumps))


def _polynomials(points: FloatArray) -> FloatArray:
    scaled = points / np.sqrt([1.0 + _NEARLY_ONE, 1.0 - _NEARLY_ONE])
    return np.stack([scaled[..., 0] ** i * scaled[..., 1] ** j for i, j in _POWERS], axis=-1)


def _normal_moment(power: int) -> float:
    return 0.0 if power % 2 else float(special.factorial2(power - 1)) if power else 1.0


def _ellipse_chains(work: Work) -> dict[str, dict[str, FloatArray]]:
    """Short chains of elliptical slice updates from draws of the reference N(mu, Sigma).

    The likelihood is constant, or a smooth one that bends and splits the reference.
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

        return jax.lax.scan(step, jax.vmap(kernel.init)(starts), noise)[1]

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
