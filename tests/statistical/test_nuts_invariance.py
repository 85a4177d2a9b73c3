"""One step of the no-U-turn sampler from exact draws of position and control leaves their distribution as it was."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.scipy.special import ndtr

from auxmc.kernels.base import Kernel
from auxmc.kernels.tempering.tempered_nuts import tempered_nuts
from auxmc.models.bridge import Bridge, bridge, gaussian_base
from tests.statistical.kernel_checks import Runs, follow, many_replicas
from tests.statistical.levels import assert_independent, expecting_failure

MEAN, SD, LOG_ZETA = 2.0, 0.6, 0.7


def gaussian_bridge(log_zeta: float = LOG_ZETA) -> Bridge:
    """Unnormalised N(2, 0.6^2) and a standard normal base on the line."""
    return bridge(
        lambda x: -0.5 * ((x[0] - MEAN) / SD) ** 2, gaussian_base(jnp.zeros(1), jnp.ones(1)), log_zeta
    )


def conditional(b: Array) -> tuple[Array, Array]:
    """Mean and standard deviation of x at an inverse temperature."""
    precision = b / SD**2 + 1.0 - b
    return b * MEAN / SD**2 / precision, precision**-0.5


def log_marginal(b: Array) -> Array:
    """Log density of the inverse temperature, up to a constant: the log normaliser of the path."""
    precision = b / SD**2 + 1.0 - b
    linear = b * MEAN / SD**2
    constant = -b * (0.5 * MEAN**2 / SD**2 + LOG_ZETA) - (1.0 - b) * 0.5 * jnp.log(2.0 * jnp.pi)
    return constant + 0.5 * linear**2 / precision - 0.5 * jnp.log(precision)


GRID = np.linspace(0.0, 1.0, 20_001)
_DENSITY = np.exp(np.asarray(log_marginal(jnp.asarray(GRID))))
_CUMULATED = np.concatenate([[0.0], np.cumsum(0.5 * (_DENSITY[1:] + _DENSITY[:-1]))])
DISTRIBUTION = _CUMULATED / _CUMULATED[-1]


def run(kernel: Kernel, name: str) -> Runs:
    """Distribution functions of b, and of x given b, of replicas that start from exact draws."""

    def transform(state: Any) -> Array:
        b = state.inverse_temperature
        mean, sd = conditional(b)
        place = jnp.interp(b, jnp.asarray(GRID), jnp.asarray(DISTRIBUTION))
        return jnp.stack([place, ndtr((state.position[0] - mean) / sd)])

    def replica(_: Array, key: Array) -> Any:
        keys = jax.random.split(key, 3)
        b = jnp.interp(jax.random.uniform(keys[0]), jnp.asarray(DISTRIBUTION), jnp.asarray(GRID))
        mean, sd = conditional(b)
        x = mean + sd * jax.random.normal(keys[1], ())
        control = jnp.log(b) - jnp.log1p(-b)
        state = kernel.init(keys[2], x[None], control)
        return follow(kernel, state, keys[2], transform, lambda state: state, n_steps=1)

    return many_replicas(replica, batch_size=1000)(0, name)


@pytest.mark.parametrize("step_size", [0.4, 1.2])
def test_a_step_leaves_the_joint_distribution_invariant(step_size: float) -> None:
    kernel = tempered_nuts(gaussian_bridge(), step_size, jnp.array([1.0, 2.0]), max_doublings=4)
    assert_independent(run(kernel, f"nuts/{step_size}").once, "inverse temperature and position")


def test_a_sampler_of_another_log_zeta_is_found_out() -> None:
    kernel = tempered_nuts(gaussian_bridge(LOG_ZETA + 0.5), 0.4, jnp.array([1.0, 2.0]), max_doublings=4)
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        assert_independent(run(kernel, "nuts/wrong").once)
