"""Replicas of kernels that start from exact draws of their target, and checks of what they do.

Right kernels pass the checks and broken ones fail them: structural facts of slices, distributions of the random numbers
inside an update, invariance after one and after three steps, reversibility.
"""

from itertools import combinations
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.special import ndtr
from scipy import stats

from auxmc.kernels.slices.core import SliceInfo
from tests.statistical import levels

N = 50_000 * levels.DRAWS
FOUND = {"detects": 0.022, "detects_mean": 0.043}
N_STEPS = 3
N_UPDATES = 20_000


class Target(NamedTuple):
    """A distribution of positions [dim]."""

    log_density: Any  # unnormalised
    draw: Any  # maps a key to an exact draw
    # maps a position to numbers [coordinate], independent and uniform under the target
    transform: Any


class Case(NamedTuple):
    """A kernel with exact draws of what it leaves invariant."""

    kernel: Any
    start: Any  # maps a key to a state drawn from the target
    # maps (state, uniform number of the replica) to numbers [coordinate], as that of Target
    transform: Any
    # computes the log density that a state carries again; by default that of its position
    again: Any = None
    floor: float = 0.5  # least fraction of replicas whose first coordinate moves
    reversible: bool = True  # whether start and next point are exchangeable
    n_steps: int = N_STEPS
    # replicas at a time; a loop ends when the slowest of its own batch has ended
    batch_size: int | None = None


class Runs(NamedTuple):
    """Transforms of replicas that start from exact draws: at the start, after one and all steps [draw, coordinate]."""

    start: np.ndarray
    once: np.ndarray
    last: np.ndarray
    cache_error: float  # largest difference between carried and recomputed log density at the end
    n_collapsed: int  # slice updates that gave up, in all steps
    # log densities before and after the first updates of a slice sampler [draw], and their `SliceInfo`
    inside: Any


def at_position(kernel, target, **options):
    """Case of a kernel whose state is a position and functions of it."""
    return Case(
        kernel,
        lambda key: kernel.init(target.draw(key), key=jax.random.key(0)),
        lambda state, _: target.transform(state.position),
        **options,
    )


def with_noise(kernel, change):
    """A kernel, or an update, whose random numbers are `change(noise, state)`."""
    return kernel._replace(apply=lambda noise, state: kernel.apply(change(noise, state), state))


def with_numbers(kernel, **changes):
    """A kernel, or an update, with fields of its random numbers changed by functions."""
    change = lambda noise: {name: function(getattr(noise, name)) for name, function in changes.items()}
    return with_noise(kernel, lambda noise, _: noise._replace(**change(noise)))


def always(log_uniform):
    """In the place of the log of a uniform number: every proposal is accepted."""
    return jnp.full_like(log_uniform, -jnp.inf)


def with_end(kernel, change):
    """A kernel, or an update, whose new state is `change(noise, old state, new state)`."""

    def apply(noise, state):
        new, info = kernel.apply(noise, state)
        return change(noise, state, new), info

    return kernel._replace(apply=apply)


def keeping(kernel, field):
    """A kernel, or an update, that moves without storing one field of the new state."""
    return with_end(kernel, lambda _, state, new: new._replace(**{field: getattr(state, field)}))


def run(case, name):
    """Runs replicas of a case, with the random numbers of a name."""
    kernel = case.kernel
    again = case.again or (lambda state: kernel.init(state.position, key=jax.random.key(0)))

    def replica(key):
        key_start, key_steps, key_fresh = jax.random.split(key, 3)
        fresh = jax.random.uniform(key_fresh)

        def step(state, key):
            state, info = kernel.step(key, state)
            n_collapsed = jnp.sum(getattr(info, "n_collapsed", jnp.zeros((), jnp.int32)), dtype=jnp.int32)
            end = (state.log_density, info) if isinstance(info, SliceInfo) else None
            return state, (case.transform(state, fresh), n_collapsed, end)

        start = case.start(key_start)
        state, (path, n_collapsed, end) = lax.scan(step, start, jax.random.split(key_steps, case.n_steps))
        error = jnp.abs(_carried(state) - _carried(again(state)))
        first = jax.tree.map(lambda values: values[0], end)
        inside = None if first is None else (start.log_density, *first)
        return case.transform(start, fresh), path[0], path[-1], error, jnp.sum(n_collapsed), inside

    *transforms, error, collapsed, inside = levels.draw_many(replica, name, N, case.batch_size)
    clipped = (np.clip(values, 0.0, 1.0) for values in transforms)
    return Runs(*clipped, float(error.max()), int(collapsed.sum()), inside)


def _carried(state):
    names = ("log_estimate", "log_density", "potential")
    return next((getattr(state, name) for name in names if hasattr(state, name)), jnp.zeros(()))


def check_invariance(runs, floor):
    """The distribution is unchanged after one and all steps, every coordinate and jointly, and replicas move."""
    assert runs.n_collapsed == 0
    assert runs.cache_error <= 1e-9
    levels.assert_independent(runs.once, "one step", n_pair=3, **FOUND)
    levels.assert_independent(runs.last, "last step", n_pair=3, **FOUND)
    moved = np.abs(runs.last[:, 0] - runs.start[:, 0]) > 0.01
    levels.assert_at_least(moved, floor, detects=FOUND["detects"], label="movement")


def check_reversibility(runs):
    """Start and next point are exchangeable; with one of the functions constant this is a paired invariance."""
    n_own = 7 if runs.start.shape[1] == 1 else 3
    before, after = (
        np.concatenate([np.ones((len(values), 1)), levels.joint_functions(values, n_own, 1)], axis=1)
        for values in (runs.start, runs.once)
    )
    pairs = list(combinations(range(before.shape[1]), 2))
    values = np.stack([before[:, i] * after[:, j] - before[:, j] * after[:, i] for i, j in pairs], axis=1)
    scale = values.std(axis=0)
    standard = values / np.where(scale > 0.0, scale, 1.0)
    levels.assert_standard_mean(standard, detects=FOUND["detects_mean"], label="reversibility")


# --- targets -------------------------------------------------------------------------------------------


def _log_bimodal(position):
    left = jnp.log(0.3 / 0.1) - 0.5 * ((position[0] + 1.0) / 0.1) ** 2
    right = jnp.log(0.7 / 0.4) - 0.5 * ((position[0] - 1.2) / 0.4) ** 2
    return jnp.logaddexp(left, right)


def _draw_bimodal(key):
    key_side, key_normal = jax.random.split(key)
    normal = jax.random.normal(key_normal, (1,))
    return jnp.where(jax.random.uniform(key_side) < 0.3, -1.0 + 0.1 * normal, 1.2 + 0.4 * normal)


def _draw_square(key):
    key_side, key_first, key_second = jax.random.split(key, 3)
    side = jax.random.uniform(key_side, (2,)) < 0.5
    # Order statistics: the minimum of 6 uniforms and the fifth of 6.
    first = jnp.min(jax.random.uniform(key_first, (6, 2)), axis=0)
    second = jnp.sort(jax.random.uniform(key_second, (6, 2)), axis=0)[4]
    return jnp.where(side, first, second)


def _log_square(position):
    first = jnp.log(6.0) + 5.0 * jnp.log1p(-position)
    second = jnp.log(30.0) + 4.0 * jnp.log(position) + jnp.log1p(-position)
    return jnp.sum(jnp.logaddexp(first, second))


BIMODAL = Target(
    _log_bimodal, _draw_bimodal, lambda x: 0.3 * ndtr((x + 1.0) / 0.1) + 0.7 * ndtr((x - 1.2) / 0.4)
)
"""0.3 N(-1, 0.1^2) + 0.7 N(1.2, 0.4^2) on the line."""

LOGISTIC = Target(
    lambda x: -x[0] - 2.0 * jnp.logaddexp(0.0, -x[0]),
    lambda key: jax.random.logistic(key, (1,)),
    jax.nn.sigmoid,
)

SQUARE = Target(
    _log_square, _draw_square, lambda u: 0.5 * (1.0 - (1.0 - u) ** 6) + 0.5 * (6.0 * u**5 - 5.0 * u**6)
)
"""On the unit square, in each coordinate the mixture 0.5 Beta(1, 6) + 0.5 Beta(5, 2)."""


def gaussian(mean, covariance):
    """Gaussian target [dim]."""
    mean, factor = jnp.asarray(mean), jnp.linalg.cholesky(jnp.asarray(covariance))
    standard = lambda x: jax.scipy.linalg.solve_triangular(factor, x - mean, lower=True)
    return Target(
        lambda x: -0.5 * jnp.sum(jnp.square(standard(x))),
        lambda key: mean + factor @ jax.random.normal(key, mean.shape),
        lambda x: ndtr(standard(x)),
    )


# --- inside an update ----------------------------------------------------------------------------------


def check_structure(runs):
    """In every update the current and the new point are in the bracket, and the new point is on the slice."""
    _, end, info = runs.inside
    assert np.all((info.lower <= 0.0) & (info.upper >= 0.0)), "current point outside the bracket"
    assert np.all((info.lower <= info.offset) & (info.offset <= info.upper)), "new point outside the bracket"
    assert np.all(end > info.log_height), "new point off the slice"
    assert np.all(np.isfinite(end))
    assert np.all(info.n_evaluations >= 1)
    assert np.all(info.n_collapsed == 0)


def check_height(runs):
    """Slice height over density is uniform, and independent of the point."""
    start, _, info = runs.inside
    ratio = np.exp(info.log_height - start)
    levels.assert_uniform(ratio, detects=0.04, label="height")
    products = levels.legendre(ratio, 3)[:, :, None] * levels.legendre(runs.start[:, 0], 3)[:, None, :]
    levels.assert_standard_mean(products.reshape(len(ratio), -1), detects=0.07, label="height and point")


def flat_infos(kernel, name):
    """Infos of updates of a kernel built on a constant density [1], where the bracket is never shrunk."""
    start = kernel.init(jnp.full(1, 0.5), key=jax.random.key(0))
    return levels.draw_many(lambda key: kernel.step(key, start)[1], name, N_UPDATES)


def check_line_bracket(infos, width, max_step_outs):
    """On a flat density bracket position, split of the step-outs and first offset have their distributions."""
    total = infos.upper - infos.lower
    np.testing.assert_allclose(total, (1 + max_step_outs) * width, rtol=1e-9)
    place = -infos.lower / width
    levels.assert_uniform(place - np.floor(place), detects=0.04, label="bracket offset")
    levels.assert_uniform(place / (1 + max_step_outs), detects=0.04, label="split of step-outs")
    levels.assert_uniform((infos.offset - infos.lower) / total, detects=0.04, label="first offset")


def check_ellipse_bracket(infos):
    """The bracket of an ellipse is one turn, and its cut is uniform on the circle."""
    np.testing.assert_allclose(infos.upper - infos.lower, 2.0 * np.pi, rtol=1e-12)
    levels.assert_uniform(infos.upper / (2.0 * np.pi), detects=0.04, label="cut of the ellipse")
    levels.assert_uniform(infos.offset / (2.0 * np.pi) % 1.0, detects=0.04, label="first angle")


def check_standard_normal(points, label, n_pair=2):
    """Coordinates [draw, coordinate] are independent standard normal numbers."""
    levels.assert_independent(stats.norm.cdf(points), label, detects=0.04, detects_mean=0.07, n_pair=n_pair)
