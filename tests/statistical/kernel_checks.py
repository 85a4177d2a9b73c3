"""Targets with exact draws, compiled drivers, and the layers of checks applied to kernels and to mutants.

Layers: L1 structural facts, L4 distributions of the random numbers inside an update, L5 invariance from exact draws
after one and after five steps, L6 reversibility, L7 joint distribution of parameter and data.
"""

from collections.abc import Callable
from itertools import combinations
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.scipy.special import ndtr
from scipy import stats

from auxmc.kernels.base import Kernel
from auxmc.models.estimator import Estimator
from tests.statistical.levels import (
    DRAWS,
    assert_at_least,
    assert_independent,
    assert_standard_mean,
    assert_uniform,
    joint_functions,
    key_for,
    legendre,
)

N = 100_000 * DRAWS
N_STEPS = 5
N_UPDATES = 20_000
OBSERVED = 1.5
BuildKernel = Callable[[Callable[[Array], Array]], Kernel]

TARGETS = ("bimodal", "logistic")
"""Targets on the line by index."""


class Runs(NamedTuple):
    """Probability integral transforms of replicas that start from exact draws.

    Attributes:
        start: transforms at the start [draw, coordinate], independent uniforms under the target.
        once: after one step.
        last: after five steps.
        cache_error: largest difference between carried and recomputed log density after five steps.
        n_collapsed: slice updates that gave up, in all steps.
    """

    start: np.ndarray
    once: np.ndarray
    last: np.ndarray
    cache_error: float
    n_collapsed: int


# --- one-dimensional targets on the line ---------------------------------------------------------------


def log_target(index: Array, position: Array) -> Array:
    """Log density [1] of a target by its index.

    0: 0.3 N(-1, 0.1^2) + 0.7 N(1.2, 0.4^2); 1: the logistic distribution.
    """
    x = position[0]

    def bimodal() -> Array:
        left = jnp.log(0.3 / 0.1) - 0.5 * ((x + 1.0) / 0.1) ** 2
        right = jnp.log(0.7 / 0.4) - 0.5 * ((x - 1.2) / 0.4) ** 2
        return jnp.logaddexp(left, right)

    def logistic() -> Array:
        return -x - 2.0 * jnp.logaddexp(0.0, -x)

    return lax.switch(index, [bimodal, logistic])


def target_cdf(index: Array, x: Array) -> Array:
    """Distribution function of a target at a scalar."""
    bimodal = 0.3 * ndtr((x + 1.0) / 0.1) + 0.7 * ndtr((x - 1.2) / 0.4)
    return jnp.stack([bimodal, jax.nn.sigmoid(x)])[index]


def draw_target(index: Array, key: Array) -> Array:
    """Exact draw of a target [1]."""
    key_side, key_normal, key_uniform = jax.random.split(key, 3)
    normal = jax.random.normal(key_normal)
    side = jax.random.uniform(key_side)
    bimodal = jnp.where(side < 0.3, -1.0 + 0.1 * normal, 1.2 + 0.4 * normal)
    return jnp.stack([bimodal, jax.random.logistic(key_uniform)])[index][None]


def line_driver(build: Callable[[Array], Kernel]) -> Callable[[int, str], Runs]:
    """Compiles replicas of a kernel on the line; `build` maps a target index (traced) to the kernel."""

    def replica(index: Array, key: Array) -> Any:
        kernel = build(index)
        key_start, key_steps = jax.random.split(key)
        state = kernel.init(jax.random.key(0), draw_target(index, key_start))
        return follow(kernel, state, key_steps, lambda state: target_cdf(index, state.position[0])[None])

    return many_replicas(replica)


# --- the unit square -----------------------------------------------------------------------------------


def log_square(position: Array) -> Array:
    """Log density on the unit square: in each coordinate the mixture 0.5 Beta(1, 6) + 0.5 Beta(5, 2)."""
    first = jnp.log(6.0) + 5.0 * jnp.log1p(-position)
    second = jnp.log(30.0) + 4.0 * jnp.log(position) + jnp.log1p(-position)
    return jnp.sum(jnp.logaddexp(first, second))


def square_driver(kernel: Kernel) -> Callable[[int, str], Runs]:
    """Compiles replicas of a kernel on the unit square."""

    def transform(state: Any) -> Array:
        u = state.position
        return 0.5 * (1.0 - (1.0 - u) ** 6) + 0.5 * (6.0 * u**5 - 5.0 * u**6)

    def replica(index: Array, key: Array) -> Any:
        key_side, key_first, key_second, key_steps = jax.random.split(key, 4)
        side = jax.random.uniform(key_side, (2,)) < 0.5
        # Order statistics: the minimum of 6 uniforms and the fifth of 6.
        first = jnp.min(jax.random.uniform(key_first, (6, 2)), axis=0)
        second = jnp.sort(jax.random.uniform(key_second, (6, 2)), axis=0)[4]
        state = kernel.init(jax.random.key(0), jnp.where(side, first, second))
        return follow(kernel, state, key_steps, transform)

    return many_replicas(replica)


# --- a latent Gaussian with an estimated likelihood ----------------------------------------------------


def latent_estimator(n_importance: int, observed: Array | float = OBSERVED) -> Estimator:
    """x ~ N(0, 1), z | x ~ N(x, 1), y | z ~ N(z, 1), with z drawn from its prior as z = x + u."""

    def log_estimate(cache: Array, auxiliary: Array) -> Array:
        log_weights = -0.5 * (observed - cache[0] - auxiliary) ** 2
        return -0.5 * cache[0] ** 2 + jax.nn.logsumexp(log_weights) - jnp.log(1.0 * n_importance)

    return Estimator(
        prepare=lambda position: position,
        log_estimate=log_estimate,
        draw_auxiliary=lambda key: jax.random.normal(key, (n_importance,)),
    )


def draw_auxiliary_given(key: Array, n_importance: int, x: Array, observed: Array | float) -> Array:
    """Exact draw of u [importance] given x: one of them, chosen at random, has the posterior of z - x."""
    key_choice, key_normal = jax.random.split(key)
    normal = jax.random.normal(key_normal, (n_importance,))
    chosen = jnp.arange(n_importance) == jax.random.randint(key_choice, (), 0, n_importance)
    return jnp.where(chosen, 0.5 * (observed - x) + jnp.sqrt(0.5) * normal, normal)


def latent_driver(build: Callable[[Estimator], Kernel], n_importance: int) -> Callable[[int, str], Runs]:
    """Compiles replicas on the latent model; transforms of x, then of its first auxiliary variable."""
    estimator = latent_estimator(n_importance)
    kernel = build(estimator)

    def transform(state: Any) -> Array:
        x, u = state.position[0], state.auxiliary[0]
        posterior = ndtr((x - OBSERVED / 3.0) / jnp.sqrt(2.0 / 3.0))
        chosen = ndtr((u - 0.5 * (OBSERVED - x)) / jnp.sqrt(0.5))
        return jnp.stack([posterior, (chosen + (n_importance - 1) * ndtr(u)) / n_importance])

    def replica(index: Array, key: Array) -> Any:
        key_x, key_u, key_steps = jax.random.split(key, 3)
        x = OBSERVED / 3.0 + jnp.sqrt(2.0 / 3.0) * jax.random.normal(key_x, (1,))
        u = draw_auxiliary_given(key_u, n_importance, x[0], OBSERVED)
        state = kernel.init(key_u, x)
        cache = estimator.prepare(x)
        state = state._replace(auxiliary=u, log_estimate=estimator.log_estimate(cache, u))

        def fresh(state: Any) -> Any:
            value = estimator.log_estimate(estimator.prepare(state.position), state.auxiliary)
            return state._replace(log_estimate=value)

        return follow(kernel, state, key_steps, transform, fresh)

    return many_replicas(replica)


def follow(
    kernel: Kernel,
    state: Any,
    key: Array,
    transform: Callable[[Any], Array],
    fresh: Callable[[Any], Any] | None = None,
    n_steps: int = N_STEPS,
) -> Any:
    """One replica: transforms at the start, after one and after all steps, error of the carried value, collapses.

    The value that the last state carries is compared with that of `fresh` of this state: by default a state that the
    kernel makes at its position.
    """
    if fresh is None:
        fresh = lambda state: kernel.init(jax.random.key(0), state.position)

    def step(state: Any, key: Array) -> Any:
        state, info = kernel.step(key, state)
        n_collapsed = jnp.sum(getattr(info, "n_collapsed", jnp.zeros((), jnp.int32)), dtype=jnp.int32)
        return state, (transform(state), n_collapsed)

    start = transform(state)
    state, (path, n_collapsed) = jax.lax.scan(step, state, jax.random.split(key, n_steps))
    error = jnp.abs(_carried(state) - _carried(fresh(state)))
    return start, path[0], path[-1], error, jnp.sum(n_collapsed, dtype=jnp.int32)


def _carried(state: Any) -> Array:
    names = (name for name in ("log_estimate", "log_density", "potential") if hasattr(state, name))
    name = next(names, None)
    return jnp.zeros(()) if name is None else getattr(state, name)


def many_replicas(
    replica: Callable[[Array, Array], Any], batch_size: int | None = None
) -> Callable[[int, str], Runs]:
    """Compiles N replicas; `replica` maps (target index, key) to what `follow` returns.

    In batches a loop ends when the slowest replica of its own batch has ended.
    """

    @jax.jit
    def many(index: Array, key: Array) -> Any:
        keys, one = jax.random.split(key, N), lambda key: replica(index, key)
        return jax.vmap(one)(keys) if batch_size is None else lax.map(one, keys, batch_size=batch_size)

    def run(index: int, name: str) -> Runs:
        *transforms, error, collapsed = many(jnp.asarray(index, jnp.int32), key_for(name))
        clipped = (np.clip(np.asarray(values), 0.0, 1.0) for values in transforms)
        return Runs(*clipped, float(error.max()), int(collapsed.sum()))

    return run


# --- layers --------------------------------------------------------------------------------------------


def check_invariance(runs: Runs, floor: float) -> None:
    """L5: the distribution is unchanged after one and five steps, every coordinate and jointly, and replicas move."""
    assert runs.n_collapsed == 0
    assert runs.cache_error <= 1e-9
    assert_independent(runs.once, "one step", n_pair=3)
    assert_independent(runs.last, "last step", n_pair=3)
    assert_at_least(np.abs(runs.last[:, 0] - runs.start[:, 0]) > 0.01, floor, label="movement")


def check_reversibility(runs: Runs) -> None:
    """L6: start and next point are exchangeable; with one of the functions constant this is a paired L5."""
    n_own = 7 if runs.start.shape[1] == 1 else 3
    before, after = (
        np.concatenate([np.ones((len(values), 1)), joint_functions(values, n_own, 1)], axis=1)
        for values in (runs.start, runs.once)
    )
    pairs = list(combinations(range(before.shape[1]), 2))
    values = np.stack([before[:, i] * after[:, j] - before[:, j] * after[:, i] for i, j in pairs], axis=1)
    scale = values.std(axis=0)
    assert_standard_mean(values / np.where(scale > 0.0, scale, 1.0), label="reversibility")


class Internals(NamedTuple):
    """What slice updates did on one target, from exact draws [draw]."""

    start_transform: np.ndarray
    start_log_density: np.ndarray
    log_density: np.ndarray
    info: Any


def slice_internals(kernel: Kernel, name: str) -> Internals:
    """Runs one slice update on the bimodal target from each of many exact draws."""
    index = jnp.asarray(0, jnp.int32)

    def replica(key: Array) -> Any:
        key_start, key_step = jax.random.split(key)
        state = kernel.init(jax.random.key(0), draw_target(index, key_start))
        new, info = kernel.step(key_step, state)
        return target_cdf(index, state.position[0]), state.log_density, new.log_density, info

    results = jax.jit(jax.vmap(replica))(jax.random.split(key_for(name), N_UPDATES))
    return Internals(*jax.tree.map(np.asarray, results))


def check_structure(internals: Internals) -> None:
    """L1: the current point is in the bracket, the new point is on the slice, in every update."""
    info = internals.info
    assert np.all((info.lower <= 0.0) & (info.upper >= 0.0)), "current point outside the bracket"
    assert np.all(internals.log_density > info.log_height), "new point off the slice"
    assert np.all(np.isfinite(internals.log_density))


def check_height(internals: Internals) -> None:
    """L4: slice height over density is uniform, and independent of the point."""
    ratio = np.exp(internals.info.log_height - internals.start_log_density)
    assert_uniform(ratio, detects=0.04, label="height")
    products = legendre(ratio, 3)[:, :, None] * legendre(internals.start_transform, 3)[:, None, :]
    assert_standard_mean(products.reshape(len(ratio), -1), detects=0.07, label="height and point")


def flat_infos(kernel: Kernel, name: str) -> Any:
    """Infos of updates of a kernel built on a constant density [1], where the bracket is never shrunk."""
    start = kernel.init(jax.random.key(0), jnp.full(1, 0.5))
    keys = jax.random.split(key_for(name), N_UPDATES)
    infos = jax.jit(jax.vmap(lambda key: kernel.step(key, start)[1]))(keys)
    return jax.tree.map(np.asarray, infos)


def check_line_bracket(infos: Any, width: float, max_step_outs: int) -> None:
    """L4: on a flat density bracket position, split of the step-outs and first offset have their distributions."""
    total = infos.upper - infos.lower
    np.testing.assert_allclose(total, (1 + max_step_outs) * width, rtol=1e-9)
    place = -infos.lower / width
    assert_uniform(place - np.floor(place), detects=0.04, label="bracket offset")
    assert_uniform(place / (1 + max_step_outs), detects=0.04, label="split of step-outs")
    assert_uniform((infos.offset - infos.lower) / total, detects=0.04, label="first offset")


def check_ellipse_bracket(infos: Any) -> None:
    """L4: the bracket of an ellipse is one turn, and its cut is uniform on the circle."""
    np.testing.assert_allclose(infos.upper - infos.lower, 2.0 * np.pi, rtol=1e-12)
    assert_uniform(infos.upper / (2.0 * np.pi), detects=0.04, label="cut of the ellipse")
    assert_uniform(infos.offset / (2.0 * np.pi) % 1.0, detects=0.04, label="first angle")


def normal_transform(values: np.ndarray) -> np.ndarray:
    """Standard normal distribution function."""
    return np.asarray(stats.norm.cdf(values))
