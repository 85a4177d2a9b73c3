"""Tempering kernels leave their joint distributions invariant; conditional draws and weights are right."""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.scipy.special import ndtr

from auxmc.kernels.base import Kernel
from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.kernels.tempering.continuous_tempering import continuously_tempered_hmc, gibbs_continuous_tempering
from auxmc.kernels.tempering.simulated_tempering import simulated_tempering
from auxmc.kernels.tempering.tempered_nuts import tempered_nuts
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.numerics.schedules import linear_schedule, sigmoidal_schedule
from auxmc.numerics.truncated_exponential import draw_inverse_temperature, log_base_weight
from tests.statistical.kernel_checks import check_invariance, check_reversibility, follow, many_replicas
from tests.statistical.levels import assert_at_least, assert_independent, expecting_failure, key_for

LADDER = sigmoidal_schedule(5)
GRID = np.linspace(-14.0, 14.0, 40_001)


def log_two_modes(x):
    """0.6 N(-2, 0.6^2) + 0.4 N(2.5, 1)."""
    left = jnp.log(0.6 / 0.6) - 0.5 * jnp.square((x[0] + 2.0) / 0.6)
    return jnp.logaddexp(left, jnp.log(0.4) - 0.5 * jnp.square(x[0] - 2.5))


def _two_modes(log_zeta=0.4):
    base = gaussian_base(jnp.array([-0.2]), jnp.array([2.4]))
    return bridge(lambda x: log_two_modes(x) - 0.5 * jnp.log(2.0 * jnp.pi), base, log_zeta)


BRIDGE = _two_modes()


def scaled_ends(x):
    """Log densities of the target over zeta and of the base."""
    target, base = BRIDGE.log_densities(x)
    return target - BRIDGE.log_zeta, base


def _continuous_cdf(delta, b, _):
    size = jnp.maximum(jnp.abs(delta), 1e-12)
    nearer = jnp.expm1(-size * jnp.where(delta > 0.0, b, 1.0 - b)) / jnp.expm1(-size)
    return jnp.where(delta > 0.0, nearer, 1.0 - nearer)


def _index_cdf(delta, index, fresh):
    probabilities = jax.nn.softmax(-delta * jnp.asarray(LADDER))
    return jnp.cumsum(probabilities)[index] - (1.0 - fresh) * probabilities[index]


@cache
def _marginals():
    """Distribution function of the position on the grid, by the temperature's."""
    target, base = map(np.asarray, jax.jit(jax.vmap(scaled_ends))(jnp.asarray(GRID)[:, None]))
    log_densities = {
        _continuous_cdf: base - np.asarray(log_base_weight(jnp.asarray(base - target))),
        _index_cdf: base + np.logaddexp.reduce(-np.outer(base - target, LADDER), axis=1),
    }
    result = {}
    for name, values in log_densities.items():
        density = np.exp(values - values.max())
        cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
        result[name] = cumulative / cumulative[-1]
    return result


class Case(NamedTuple):
    """A kernel on position and temperature.

    Attributes:
        kernel: the kernel.
        start: maps (key, position, uniform number) to a state.
        temperature: of a state: an inverse temperature or an index.
        cdf: maps (log base minus log target, temperature, fresh uniform) to a number that is uniform.
    """

    kernel: Kernel
    start: Callable[[Array, Array, Array], Any]
    temperature: Callable[[Any], Array]
    cdf: Callable[[Array, Array, Array], Array]


def _draw_index(x, uniform):
    target, base = scaled_ends(x)
    cumulative = jnp.cumsum(jax.nn.softmax(-jnp.asarray(LADDER) * (base - target)))
    return jnp.minimum(jnp.sum(cumulative <= uniform), len(LADDER) - 1).astype(jnp.int32)


def _draw_b(x, uniform):
    target, base = scaled_ends(x)
    return jnp.clip(draw_inverse_temperature(uniform, base - target), 1e-15, 1.0 - 1e-15)


def _gibbs(**options):
    kernel = gibbs_continuous_tempering(BRIDGE, 0.5, 3, **options)
    return Case(
        kernel,
        lambda key, x, u: kernel.init(key, x, _draw_b(x, u)),
        lambda state: state.inverse_temperature,
        _continuous_cdf,
    )


def _extended(mass, **options):
    kernel = continuously_tempered_hmc(BRIDGE, 0.4, 3, mass, **options)
    return Case(
        kernel,
        lambda key, x, u: kernel.init(key, x, jax.scipy.special.logit(_draw_b(x, u))),
        lambda state: state.inverse_temperature,
        _continuous_cdf,
    )


def _ladder(index_update):
    kernel = simulated_tempering(BRIDGE, LADDER, 0.5, 3, index_update=index_update)
    return Case(
        kernel,
        lambda key, x, u: kernel.init(key, x, _draw_index(x, u)),
        lambda state: state.index,
        _index_cdf,
    )


PARTIAL = {"refreshment": 0.5, "integrator": "kick_drift_kick"}
CASES = {
    "gibbs": _gibbs(),
    "gibbs partial": _gibbs(**PARTIAL),
    "extended": _extended(1.0),
    "extended partial": _extended(4.0, **PARTIAL),
    "independent index": _ladder("independent"),
    "random-walk index": _ladder("random_walk"),
}


def _run(case, name):
    """Replicas from exact draws of position and temperature."""
    distribution, grid = jnp.asarray(_marginals()[case.cdf]), jnp.asarray(GRID)

    def replica(_, key):
        key_start, key_steps, *keys = jax.random.split(key, 5)
        first, second, fresh = (jax.random.uniform(key) for key in keys)

        def transform(state):
            target, base = scaled_ends(state.position)
            given = case.cdf(base - target, case.temperature(state), fresh)
            return jnp.stack([jnp.interp(state.position[0], grid, distribution), given])

        state = case.start(key_start, jnp.interp(first, distribution, grid)[None], second)
        return follow(case.kernel, state, key_steps, transform, lambda state: state)

    return many_replicas(replica)(0, f"tempering/{name}")


FAST = ("gibbs", "extended", "independent index")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name not in FAST)) for name in CASES]
)
def test_joint_distribution_of_position_and_temperature_is_invariant(name):
    """Claim CT-T12. With all momenta renewed the extended dynamics are reversible in both together."""
    runs = _run(CASES[name], name)
    check_invariance(runs, floor=0.4)
    if name == "extended":
        check_reversibility(runs)


# Annealed runs whose weights are bounded, so that Hoeffding's inequality is exact.

NARROW = bridge(
    lambda x: -0.5 * jnp.sum(jnp.square((x - 0.3) / 0.5)), gaussian_base(jnp.zeros(1), jnp.array([1.2])), 0.3
)
WIDE = bridge(
    lambda x: -0.5 * jnp.sum(jnp.square((x - 0.3) / 1.8)), gaussian_base(jnp.zeros(1), jnp.array([1.2])), 0.3
)
N_RUNS = 150_000


def _log_z(sd):
    return float(np.log(sd * np.sqrt(2.0 * np.pi)))


def _smallest_difference(joined, sign):
    """Smallest value of sign times log base - log target: no weight exceeds exp of its negative."""
    target, base = jax.jit(jax.vmap(joined.log_densities))(jnp.asarray(GRID)[:, None])
    return float(np.min(sign * np.asarray(base - target)))


def _check_mean(log_weights, largest, log_mean, label):
    scaled, mean = np.exp(log_weights - largest), float(np.exp(log_mean - largest))
    assert_at_least(scaled, mean, label=f"{label} from below")
    assert_at_least(1.0 - scaled, 1.0 - mean, label=f"{label} from above")


@pytest.mark.parametrize(("n_intervals", "refreshment"), [(1, 1.0), (2, 1.0), (10, 1.0), (10, 0.5)])
def test_annealed_weights_are_unbiased(n_intervals, refreshment):
    """Claim CT-T15."""
    kernel = annealed_importance_sampling(
        NARROW, linear_schedule(n_intervals), 0.4, 2, refreshment=refreshment
    )
    keys = jax.random.split(key_for(f"annealed/{n_intervals}/{refreshment}"), N_RUNS)
    state, _ = jax.jit(jax.vmap(lambda key: kernel.step(key, kernel.init(jax.random.key(0)))))(keys)
    largest = -_smallest_difference(NARROW, 1.0)
    _check_mean(np.asarray(state.log_weight), largest, _log_z(0.5), f"K = {n_intervals}")


def test_reverse_annealed_weights_are_unbiased_for_the_inverse():
    """Claim CT-T16: the reversed ladder from exact draws of the target."""
    kernel = annealed_importance_sampling(
        WIDE, linear_schedule(6)[::-1], 0.4, 2, draw_start=lambda noise: 0.3 + 1.8 * noise
    )
    keys = jax.random.split(key_for("annealed/reverse"), N_RUNS)
    state, _ = jax.jit(jax.vmap(lambda key: kernel.step(key, kernel.init(jax.random.key(0)))))(keys)
    largest = -_smallest_difference(WIDE, -1.0)
    _check_mean(np.asarray(state.log_weight), largest, -_log_z(1.8), "reverse")


# Kernels that are wrong in known ways: the new state, changed by (noise, old state, new state).


def _without_jacobian(noise, state, new):
    """Extended dynamics whose density lacks the derivative of the logistic map: u has no proper distribution."""
    volume = lambda state: jax.nn.softplus(state.control) + jax.nn.softplus(-state.control)
    kept = noise.log_uniform < jnp.minimum(volume(state) - volume(new), 0.0)
    return jax.tree.map(lambda a, b: jnp.where(kept, a, b), new, state)


def _swapped_temperature(noise, state, new):
    """Temperature drawn for the negative of the difference."""
    return new._replace(inverse_temperature=1.0 - new.inverse_temperature)


def _stale_difference(noise, state, new):
    """Temperature drawn for the position before the move."""
    return new._replace(inverse_temperature=draw_inverse_temperature(noise.uniform, state.delta))


def _ends_without_proposal_ratio(noise, state, new):
    """Random walk on the ladder whose ends are left as often as any other rung."""
    last = len(LADDER) - 1
    logits = -jnp.asarray(LADDER) * new.delta
    side = jnp.where(noise.uniforms[0] < 0.5, -1, 1)
    side = jnp.where(state.index == 0, 1, jnp.where(state.index == last, -1, side))
    proposed = (state.index + side).astype(jnp.int32)
    accepted = jnp.log(noise.uniforms[1]) < logits[proposed] - logits[state.index]
    return new._replace(index=jnp.where(accepted, proposed, state.index))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("extended", _without_jacobian),
        ("gibbs", _swapped_temperature),
        ("gibbs", _stale_difference),
        ("random-walk index", _ends_without_proposal_ratio),
    ],
)
def test_wrong_kernels_are_found(name, change):
    case = CASES[name]

    def apply(noise, state):
        new, info = case.kernel.apply(noise, state)
        return change(noise, state, new), info

    runs = _run(case._replace(kernel=case.kernel._replace(apply=apply)), change.__name__)
    with expecting_failure(), pytest.raises(AssertionError):
        check_invariance(runs, floor=0.0)


# --- the no-U-turn sampler ----------------------------------------------------------------------------

MEAN, SD, LOG_ZETA = 2.0, 0.6, 0.7


def gaussian_bridge(log_zeta=LOG_ZETA):
    """Unnormalised N(2, 0.6^2) and a standard normal base on the line."""
    return bridge(
        lambda x: -0.5 * ((x[0] - MEAN) / SD) ** 2, gaussian_base(jnp.zeros(1), jnp.ones(1)), log_zeta
    )


def conditional(b):
    """Mean and standard deviation of x at an inverse temperature."""
    precision = b / SD**2 + 1.0 - b
    return b * MEAN / SD**2 / precision, precision**-0.5


def log_marginal(b):
    """Log density of the inverse temperature, up to a constant: the log normaliser of the path."""
    precision = b / SD**2 + 1.0 - b
    linear = b * MEAN / SD**2
    constant = -b * (0.5 * MEAN**2 / SD**2 + LOG_ZETA) - (1.0 - b) * 0.5 * jnp.log(2.0 * jnp.pi)
    return constant + 0.5 * linear**2 / precision - 0.5 * jnp.log(precision)


INVERSE_TEMPERATURES = np.linspace(0.0, 1.0, 20_001)
_DENSITY = np.exp(np.asarray(log_marginal(jnp.asarray(INVERSE_TEMPERATURES))))
_CUMULATED = np.concatenate([[0.0], np.cumsum(0.5 * (_DENSITY[1:] + _DENSITY[:-1]))])
DISTRIBUTION = _CUMULATED / _CUMULATED[-1]


def run_trees(kernel, name):
    """Distribution functions of b, and of x given b, of replicas that start from exact draws."""

    def transform(state):
        b = state.inverse_temperature
        mean, sd = conditional(b)
        place = jnp.interp(b, jnp.asarray(INVERSE_TEMPERATURES), jnp.asarray(DISTRIBUTION))
        return jnp.stack([place, ndtr((state.position[0] - mean) / sd)])

    def replica(_, key):
        keys = jax.random.split(key, 3)
        b = jnp.interp(
            jax.random.uniform(keys[0]), jnp.asarray(DISTRIBUTION), jnp.asarray(INVERSE_TEMPERATURES)
        )
        mean, sd = conditional(b)
        x = mean + sd * jax.random.normal(keys[1], ())
        control = jnp.log(b) - jnp.log1p(-b)
        state = kernel.init(keys[2], x[None], control)
        return follow(kernel, state, keys[2], transform, lambda state: state, n_steps=1)

    return many_replicas(replica, batch_size=1000)(0, name)


@pytest.mark.parametrize("step_size", [0.4, 1.2])
def test_a_step_leaves_the_joint_distribution_invariant(step_size):
    kernel = tempered_nuts(gaussian_bridge(), step_size, jnp.array([1.0, 2.0]), max_doublings=4)
    assert_independent(run_trees(kernel, f"nuts/{step_size}").once, "inverse temperature and position")


def test_a_sampler_of_another_log_zeta_is_found_out():
    kernel = tempered_nuts(gaussian_bridge(LOG_ZETA + 0.5), 0.4, jnp.array([1.0, 2.0]), max_doublings=4)
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        assert_independent(run_trees(kernel, "nuts/wrong").once)
