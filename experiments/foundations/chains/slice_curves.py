"""Curves of the figures on slice sampling: 2.10, 2.11, 3.2 and the build-up of an update on the slides."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from scipy import interpolate, stats

from auxmc.kernels.slices.directed_slice import along_axes, directed_slice
from auxmc.kernels.slices.linear_slice import LineNoise
from auxmc.kernels.slices.reflective_slice import reflect
from auxmc.numerics.array_types import FloatArray
from experiments.foundations.chains.inputs import correlated, log_uniforms, mixture_density, random_keys
from experiments.foundations.topic import Arrays, Topic, Work
from experiments.tempering_illustration.model.scalar_mixture import OVERLAPPING

TOPIC = Topic()

NEARLY_ONE = 0.99
"""Correlation of the target of figure 2.11."""

DIRECTIONS = ("axis-aligned", "random direction")
"""Its two distributions of the slice line: a coordinate drawn at random, and a uniform unit vector."""

SLICE_START = -0.25
"""Current point of figure 2.10 on its slice line."""

HEIGHT_FRACTION = 0.6
"""Height of its slice as a fraction of the density there."""

_DRAWN_BRACKET = (-1.3, 1.8)
_DRAWN_PROPOSALS = (1.3, 0.5)
_TILT = math.radians(30.0)
_N_REPEATS = 200
_N_STEP_OUTS = 4

N_TRANSITIONS = 1000
"""Transitions of a chain of figure 2.11; every second state is drawn."""


class Transitions(NamedTuple):
    """Transitions of a slice sampler on the target of figure 2.11.

    Attributes:
        before: points [transition, chain, 2].
        after: where they were moved [transition, chain, 2].
        n_evaluations: density evaluations, that of the current point left out [transition, chain].
    """

    before: FloatArray
    after: FloatArray
    n_evaluations: FloatArray


def fresh_transitions(work: Work) -> dict[str, Transitions]:
    """For each distribution of the direction, transitions from independent exact draws."""
    return _transitions(work, "fresh", work.replicates(1500, 60), restart=True)


def _chains(work: Work) -> dict[str, Transitions]:
    """For each distribution of the direction, the chains of the figure, from exact draws."""
    return _transitions(work, "chains", work.replicates(_N_REPEATS, 60), restart=False)


def many_chains(work: Work) -> dict[str, Transitions]:
    """The same in such numbers that rare ones are among them."""
    return _transitions(work, "many chains", work.replicates(2000, 100), restart=False)


def _transitions(work: Work, name: str, n_chains: int, *, restart: bool) -> dict[str, Transitions]:
    shape, rng = (N_TRANSITIONS, n_chains), work.rng("slices", name)
    found = {}
    for direction in DIRECTIONS:
        starts = rng.multivariate_normal(np.zeros(2), correlated(NEARLY_ONE), shape)
        noise = LineNoise(
            direction=jnp.asarray(_lines(direction, rng, shape)),
            log_uniform=jnp.asarray(log_uniforms(rng, shape)),
            bracket_uniform=jnp.asarray(rng.random(shape)),
            offset_uniform=jnp.asarray(rng.random(shape)),
            n_lower=jnp.asarray(rng.integers(0, _N_STEP_OUTS + 1, shape), jnp.int32),
            key=random_keys(rng, shape),
        )
        results = _run(jnp.asarray(starts), jnp.asarray(restart), noise)
        before, after, n_evaluations = (np.asarray(values) for values in results)
        found[direction] = Transitions(before, after, n_evaluations.astype(float))
    return found


def _lines(direction: str, rng: np.random.Generator, shape: tuple[int, int]) -> FloatArray:
    if direction == DIRECTIONS[0]:
        return np.asarray(np.eye(2)[rng.integers(0, 2, shape)])
    normals = rng.normal(size=(*shape, 2))
    return np.asarray(normals / np.linalg.norm(normals, axis=-1, keepdims=True))


@jax.jit
def _run(starts: Array, restart: Array, noise: LineNoise) -> tuple[Array, Array, Array]:
    """Chains from the first starts, or, with restarts, a transition from every start."""
    precision = jnp.asarray(np.linalg.inv(correlated(NEARLY_ONE)))
    # Brackets of width 1; the direction is part of the noise.
    kernel = directed_slice(lambda x: -0.5 * x @ precision @ x, along_axes(2), 1.0, 2, _N_STEP_OUTS)

    def step(points: Array, inputs: tuple[Array, LineNoise]) -> tuple[Array, tuple[Array, Array, Array]]:
        fresh, noise = inputs
        before = jnp.where(restart, fresh, points)
        new, info = jax.vmap(kernel.apply)(noise, jax.vmap(kernel.init, (None, 0))(jax.random.key(0), before))
        return new.position, (before, new.position, info.n_evaluations)

    return jax.lax.scan(step, starts[0], (starts, noise))[1]


@TOPIC.figure("fig_2_10")
def slice_and_line(work: Work) -> Arrays:
    """Figure 2.10: a slice in the plane with its line, and the density along that line."""
    along = np.linspace(-2.2, 2.4, 231)
    density = mixture_density(OVERLAPPING, along)
    height = HEIGHT_FRACTION * float(mixture_density(OVERLAPPING, SLICE_START))
    across = np.linspace(-1.5, 2.0, 176)
    # Across the line the density is normal, highest next to the line, which is at 1.
    profile = stats.norm.pdf(across, 0.55, 0.55) / stats.norm.pdf(1.0, 0.55, 0.55)
    marks = [SLICE_START, *_DRAWN_BRACKET, *_DRAWN_PROPOSALS]
    roles = {"fig_2_10_role": ["current", "lower end", "upper end", "rejected", "accepted"]}
    line = {"fig_2_10_along": along}
    return {
        "fig_2_10_density": xr.DataArray(density, line),
        "fig_2_10_plane": xr.DataArray(profile[:, None] * density, {"fig_2_10_across": across, **line}),
        "fig_2_10_height": xr.DataArray(height),
        "fig_2_10_tilt": xr.DataArray(_TILT, attrs={"units": "radians"}),
        "fig_2_10_mark": xr.DataArray(marks, roles),
    }


@TOPIC.figure("fig_2_11")
def directions(work: Work) -> Arrays:
    """Figure 2.11: a chain of 1000 transitions of each kernel, every second drawn, and jumps of many such chains."""
    chains = work.once(_chains).values()
    moves = [np.sum(run.after - run.before, axis=2) / math.sqrt(2.0) for run in chains]
    jumps = np.array([np.mean(np.square(values), axis=0) for values in moves])
    direction, points = {"fig_2_11_direction": list(DIRECTIONS)}, [run.after[1::2, 0] for run in chains]
    draws = {"fig_2_11_draw": np.arange(N_TRANSITIONS // 2), "fig_2_11_axis": [1, 2]}
    return {
        "fig_2_11_point": xr.DataArray(points, {**direction, **draws}),
        "fig_2_11_jump": xr.DataArray(jumps, {**direction, "fig_2_11_repeat": np.arange(jumps.shape[1])}),
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
        "fig_3_2_outline": xr.DataArray(outline, {"fig_3_2_point": np.arange(201), "fig_3_2_axis": [1, 2]}),
        "fig_3_2_place": xr.DataArray(places, {"fig_3_2_role": roles, "fig_3_2_axis": [1, 2]}),
    }


@TOPIC.figure("slides_slice")
def update_in_frames(work: Work) -> Arrays:
    """Slides: an update of a slice sampler in stages, read off a real one.

    Current point, height and first bracket are chosen so that the bracket grows across the dip between the two parts of
    a slice. Of updates with random proposals it is the first that rejects two of them and then ends in the other part.
    """
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
            new, info = kernel.apply(noise, kernel.init(jax.random.key(0), jnp.full(1, start)))
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
    brackets = {
        "slides_slice_stage": ["first bracket", "grown", "shrunk once", "shrunk twice"],
        "slides_slice_end": ["lower", "upper"],
    }
    marks, roles = [start, height, point[chosen, 3], width], ["current", "height", "new", "width"]
    return {
        "slides_slice_density": xr.DataArray(mixture_density(OVERLAPPING, x), {"slides_slice_x": x}),
        "slides_slice_bracket": xr.DataArray(start + np.vstack([initial, ends]), brackets),
        "slides_slice_mark": xr.DataArray(marks, {"slides_slice_role": roles}),
    }
