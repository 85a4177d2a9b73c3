"""Tempering kernels leave their joint distributions invariant; conditional draws and weights are right."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.kernels.tempering.continuous_tempering import continuously_tempered_hmc, gibbs_continuous_tempering
from auxmc.kernels.tempering.simulated_tempering import simulated_tempering
from auxmc.models.bridge import Bridge, bridge, gaussian_base
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.schedules import linear_schedule, sigmoidal_schedule
from auxmc.numerics.truncated_exponential import draw_inverse_temperature, log_base_weight
from tests.statistical.levels import (
    assert_at_least,
    assert_standard_mean,
    assert_uniform,
    expecting_failure,
    key_for,
    legendre,
)

N = 60_000
N_STEPS = 3
LADDER = sigmoidal_schedule(5)
GRID = np.linspace(-14.0, 14.0, 40_001)


def log_two_modes(x: Array) -> Array:
    """0.6 N(-2, 0.6^2) + 0.4 N(2.5, 1)."""
    left = jnp.log(0.6 / 0.6) - 0.5 * jnp.square((x[0] + 2.0) / 0.6)
    return jnp.logaddexp(left, jnp.log(0.4) - 0.5 * jnp.square(x[0] - 2.5))


def _two_modes(log_zeta: float = 0.4) -> Bridge:
    base = gaussian_base(jnp.array([-0.2]), jnp.array([2.4]))
    return bridge(lambda x: log_two_modes(x) - 0.5 * jnp.log(2.0 * jnp.pi), base, log_zeta)


BRIDGE = _two_modes()


class Distribution(NamedTuple):
    """Distribution of the position on a grid [point], and of the temperature given it.

    `temperature` maps (log base minus log target, temperature, fresh uniform) to a number uniform under the
    distribution.
    """

    distribution: FloatArray
    temperature: Callable[[FloatArray, FloatArray, FloatArray], FloatArray]


def scaled_ends(x: Array) -> tuple[Array, Array]:
    """Log densities of the target over zeta and of the base."""
    target, base = BRIDGE.log_densities(x)
    return target - BRIDGE.log_zeta, base


def _log_densities(x: FloatArray) -> tuple[FloatArray, FloatArray]:
    target, base = jax.jit(jax.vmap(scaled_ends))(jnp.asarray(x)[:, None])
    return np.asarray(target), np.asarray(base)


def _distribution(log_density: FloatArray) -> FloatArray:
    density = np.exp(log_density - log_density.max())
    steps = 0.5 * (density[1:] + density[:-1])
    cumulative = np.concatenate([[0.0], np.cumsum(steps)])
    result: FloatArray = cumulative / cumulative[-1]
    return result


def _continuous_cdf(delta: FloatArray, b: FloatArray, _: FloatArray) -> FloatArray:
    size = np.maximum(np.abs(delta), 1e-12)
    nearer = np.expm1(-size * np.where(delta > 0.0, b, 1.0 - b)) / np.expm1(-size)
    return np.where(delta > 0.0, nearer, 1.0 - nearer)


def _index_probabilities(delta: FloatArray) -> FloatArray:
    logits = -np.outer(delta, LADDER)
    weights = np.exp(logits - logits.max(axis=1, keepdims=True))
    result: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return result


def _index_cdf(delta: FloatArray, index: FloatArray, fresh: FloatArray) -> FloatArray:
    distribution = _index_probabilities(delta)
    rows, k = np.arange(len(delta)), index.astype(int)
    below = np.cumsum(distribution, axis=1)[rows, k] - distribution[rows, k]
    result: FloatArray = below + fresh * distribution[rows, k]
    return result


@cache
def _distributions() -> dict[str, Distribution]:
    target, base = _log_densities(GRID)
    delta = base - target
    continuous = base - np.asarray(log_base_weight(jnp.asarray(delta)))
    logits = -np.outer(delta, LADDER)
    discrete = base + np.logaddexp.reduce(logits, axis=1)
    return {
        "continuous": Distribution(_distribution(continuous), _continuous_cdf),
        "ladder": Distribution(_distribution(discrete), _index_cdf),
    }


class Case(NamedTuple):
    """A kernel, how its state is made from (key, position, uniform), its temperature, and its distribution."""

    kernel: Kernel
    start: Callable[[Array, Array, Array], Any]
    temperature: Callable[[Any], Array]
    distribution: str


def _draw_index(x: Array, uniform: Array) -> Array:
    target, base = scaled_ends(x)
    cumulative = jnp.cumsum(jax.nn.softmax(-jnp.asarray(LADDER) * (base - target)))
    return jnp.minimum(jnp.sum(cumulative <= uniform), len(LADDER) - 1).astype(jnp.int32)


def _draw_b(x: Array, uniform: Array) -> Array:
    target, base = scaled_ends(x)
    return jnp.clip(draw_inverse_temperature(uniform, base - target), 1e-15, 1.0 - 1e-15)


def _gibbs(**options: Any) -> Case:
    kernel = gibbs_continuous_tempering(BRIDGE, 0.5, 3, **options)
    return Case(
        kernel,
        lambda key, x, u: kernel.init(key, x, _draw_b(x, u)),
        lambda state: state.inverse_temperature,
        "continuous",
    )


def _extended(mass: float, **options: Any) -> Case:
    kernel = continuously_tempered_hmc(BRIDGE, 0.4, 3, mass, **options)
    return Case(
        kernel,
        lambda key, x, u: kernel.init(key, x, jax.scipy.special.logit(_draw_b(x, u))),
        lambda state: state.inverse_temperature,
        "continuous",
    )


def _ladder(index_update: str) -> Case:
    kernel = simulated_tempering(BRIDGE, LADDER, 0.5, 3, index_update=index_update)
    return Case(
        kernel, lambda key, x, u: kernel.init(key, x, _draw_index(x, u)), lambda state: state.index, "ladder"
    )


PARTIAL: dict[str, Any] = {"refreshment": 0.5, "integrator": "kick_drift_kick"}
CASES = {
    "gibbs": _gibbs(),
    "gibbs partial": _gibbs(**PARTIAL),
    "extended": _extended(1.0),
    "extended partial": _extended(4.0, **PARTIAL),
    "independent index": _ladder("independent"),
    "random-walk index": _ladder("random_walk"),
}


def _run(case: Case, name: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Uniform numbers of position and temperature after a few steps from exact draws, and how many moved."""
    distribution = _distributions()[case.distribution]
    key = key_for(f"tempering/{name}")
    uniforms = np.asarray(jax.random.uniform(jax.random.fold_in(key, 0), (3, N)))
    x = np.interp(uniforms[0], distribution.distribution, GRID)

    def chain(key: Array, x: Array, uniform: Array) -> tuple[Array, Array, Array]:
        state = case.start(jax.random.fold_in(key, 0), x[None], uniform)
        for i in range(N_STEPS):
            state, _ = case.kernel.step(jax.random.fold_in(key, i + 1), state)
        return state.position[0], case.temperature(state), state.position[0] != x

    keys = jax.random.split(jax.random.fold_in(key, 1), N)
    end, temperature, moved = map(
        np.asarray, jax.jit(jax.vmap(chain))(keys, jnp.asarray(x), jnp.asarray(uniforms[1]))
    )
    target, base = _log_densities(end)
    position = np.interp(end, GRID, distribution.distribution)
    given = distribution.temperature(base - target, temperature.astype(float), uniforms[2])
    return position, given, moved.astype(float)


@pytest.mark.parametrize("name", CASES)
def test_joint_distribution_of_position_and_temperature_is_invariant(name: str) -> None:
    """Claim CT-T12: uniform by the exact distributions, and independent."""
    position, given, moved = _run(CASES[name], name)
    assert_uniform(position, label=f"{name} position")
    assert_uniform(given, label=f"{name} temperature")
    products = legendre(position, 3)[:, :, None] * legendre(given, 3)[:, None, :]
    assert_standard_mean(products.reshape(N, -1), detects=0.04, label=f"{name} dependence")
    assert_at_least(moved, 0.7, label=f"{name} moves")


# Annealed runs whose weights are bounded, so that Hoeffding's inequality is exact.

NARROW = bridge(
    lambda x: -0.5 * jnp.sum(jnp.square((x - 0.3) / 0.5)), gaussian_base(jnp.zeros(1), jnp.array([1.2])), 0.3
)
WIDE = bridge(
    lambda x: -0.5 * jnp.sum(jnp.square((x - 0.3) / 1.8)), gaussian_base(jnp.zeros(1), jnp.array([1.2])), 0.3
)
N_RUNS = 150_000


def _log_z(sd: float) -> float:
    return float(np.log(sd * np.sqrt(2.0 * np.pi)))


def _smallest_difference(joined: Bridge, sign: float) -> float:
    """Smallest value of sign times log base - log target: no weight exceeds exp of its negative."""
    target, base = jax.jit(jax.vmap(joined.log_densities))(jnp.asarray(GRID)[:, None])
    return float(np.min(sign * np.asarray(base - target)))


def _check_mean(log_weights: FloatArray, largest: float, log_mean: float, label: str) -> None:
    scaled, mean = np.exp(log_weights - largest), float(np.exp(log_mean - largest))
    assert_at_least(scaled, mean, label=f"{label} from below")
    assert_at_least(1.0 - scaled, 1.0 - mean, label=f"{label} from above")


@pytest.mark.parametrize(("n_intervals", "refreshment"), [(1, 1.0), (2, 1.0), (10, 1.0), (10, 0.5)])
def test_annealed_weights_are_unbiased(n_intervals: int, refreshment: float) -> None:
    """Claim CT-T15."""
    kernel = annealed_importance_sampling(
        NARROW, linear_schedule(n_intervals), 0.4, 2, refreshment=refreshment
    )
    keys = jax.random.split(key_for(f"annealed/{n_intervals}/{refreshment}"), N_RUNS)
    state, _ = jax.jit(jax.vmap(lambda key: kernel.step(key, kernel.init(jax.random.key(0)))))(keys)
    largest = -_smallest_difference(NARROW, 1.0)
    _check_mean(np.asarray(state.log_weight), largest, _log_z(0.5), f"K = {n_intervals}")


def test_reverse_annealed_weights_are_unbiased_for_the_inverse() -> None:
    """Claim CT-T16: the reversed ladder from exact draws of the target."""
    kernel = annealed_importance_sampling(
        WIDE, linear_schedule(6)[::-1], 0.4, 2, draw_start=lambda noise: 0.3 + 1.8 * noise
    )
    keys = jax.random.split(key_for("annealed/reverse"), N_RUNS)
    state, _ = jax.jit(jax.vmap(lambda key: kernel.step(key, kernel.init(jax.random.key(0)))))(keys)
    largest = -_smallest_difference(WIDE, -1.0)
    _check_mean(np.asarray(state.log_weight), largest, -_log_z(1.8), "reverse")


# Kernels that are wrong in known ways.


def _without_jacobian() -> Case:
    """Extended dynamics whose density lacks the derivative of the logistic map: u would have no proper distribution."""
    case = _extended(1.0)

    def apply(noise: Any, state: Any) -> Any:
        new, info = case.kernel.apply(noise, state)
        volume = jax.nn.softplus(state.control) + jax.nn.softplus(-state.control)
        volume -= jax.nn.softplus(new.control) + jax.nn.softplus(-new.control)
        kept = noise.log_uniform < jnp.minimum(volume, 0.0)
        return jax.tree.map(lambda a, b: jnp.where(kept, a, b), new, state), info

    return case._replace(kernel=Kernel(case.kernel.init, case.kernel.draw, apply))


def _swapped_temperature() -> Case:
    """Temperature drawn for the negative of the difference."""
    case = _gibbs()

    def apply(noise: Any, state: Any) -> Any:
        new, info = case.kernel.apply(noise, state)
        return new._replace(inverse_temperature=1.0 - new.inverse_temperature), info

    return case._replace(kernel=Kernel(case.kernel.init, case.kernel.draw, apply))


def _stale_difference() -> Case:
    """Temperature drawn for the position before the move."""
    case = _gibbs()

    def apply(noise: Any, state: Any) -> Any:
        new, info = case.kernel.apply(noise, state)
        stale = draw_inverse_temperature(noise.uniform, state.delta)
        return new._replace(inverse_temperature=stale), info

    return case._replace(kernel=Kernel(case.kernel.init, case.kernel.draw, apply))


def _ends_without_proposal_ratio() -> Case:
    """Random walk on the ladder whose ends are left as often as any other rung."""
    case = _ladder("random_walk")
    last = len(LADDER) - 1

    def apply(noise: Any, state: Any) -> Any:
        new, info = case.kernel.apply(noise, state)
        logits = -jnp.asarray(LADDER) * new.delta
        side = jnp.where(noise.uniforms[0] < 0.5, -1, 1)
        side = jnp.where(state.index == 0, 1, jnp.where(state.index == last, -1, side))
        proposed = (state.index + side).astype(jnp.int32)
        accepted = jnp.log(noise.uniforms[1]) < logits[proposed] - logits[state.index]
        return new._replace(index=jnp.where(accepted, proposed, state.index)), info

    return case._replace(kernel=Kernel(case.kernel.init, case.kernel.draw, apply))


@pytest.mark.slow
@pytest.mark.parametrize(
    "build", [_without_jacobian, _swapped_temperature, _stale_difference, _ends_without_proposal_ratio]
)
def test_wrong_kernels_are_found(build: Callable[[], Case]) -> None:
    _, given, _ = _run(build(), build.__name__)
    with expecting_failure(), pytest.raises(AssertionError):
        assert_uniform(given)
