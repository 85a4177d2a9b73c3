"""Invariance of modified ABC for quantile models, from exact draws; broken versions are noticed."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.manifold.modified_abc import ModifiedABCState, bracket_uniforms, modified_abc
from tests.statistical.kernel_checks import Runs, check_invariance, follow, many_replicas
from tests.statistical.levels import expecting_failure

N_STEPS = 3
DATA = np.array([0.2, 1.1])
TOLERANCE = 0.4
N_BISECTIONS = 4

_GRID = np.linspace(-8.0, 8.0, 20_001)


def _quantile(p: Array, z: Array) -> Array:
    return z[0] + jnp.log(p) - jnp.log1p(-p)


def _log_prior(z: Array) -> Array:
    return -0.5 * jnp.sum(jnp.square(z))


def _sigmoid(values: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-values))


def _marginal_cdf() -> np.ndarray:
    """Distribution function of z on the grid: prior times the product of the widths of the allowed intervals."""
    ends = DATA[:, None] - _GRID[None, :]
    widths = _sigmoid(ends + TOLERANCE) - _sigmoid(ends - TOLERANCE)
    density = np.exp(-0.5 * _GRID**2) * widths.prod(axis=0)
    cumulative = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]))])
    return cumulative / cumulative[-1]


CDF = _marginal_cdf()


def _allowed(z: Array) -> tuple[Array, Array]:
    data = jnp.asarray(DATA)
    return jax.nn.sigmoid(data - TOLERANCE - z), jax.nn.sigmoid(data + TOLERANCE - z)


def _transforms(state: ModifiedABCState) -> Array:
    """Distribution functions of z and of each uniform given z: independent uniforms under the target [1 + data]."""
    low, high = _allowed(state.position[0])
    first = jnp.interp(state.position, jnp.asarray(_GRID), jnp.asarray(CDF))
    return jnp.concatenate([first, (state.uniforms - low) / (high - low)])


def _quantile_runs(kernel: Kernel, name: str) -> Runs:
    """Replicas from exact draws of (z, p); brackets of 1/16 are far wider than the allowed intervals need."""

    def replica(_: Array, key: Array) -> Any:
        key_z, key_p, key_steps = jax.random.split(key, 3)
        z = jnp.interp(jax.random.uniform(key_z, (1,)), jnp.asarray(CDF), jnp.asarray(_GRID))
        low, high = _allowed(z[0])
        uniforms = low + (high - low) * jax.random.uniform(key_p, DATA.shape)
        state = kernel.init(jax.random.key(0), z)._replace(uniforms=uniforms, log_density=_log_prior(z))
        fresh = lambda state: state._replace(log_density=_log_prior(state.position))
        return follow(kernel, state, key_steps, _transforms, fresh, N_STEPS)

    return many_replicas(replica)(0, name)


def _modified_abc() -> Kernel:
    return modified_abc(_quantile, _log_prior, jnp.asarray(DATA), TOLERANCE, 0.9, 1, N_BISECTIONS)


def test_modified_abc_keeps_the_distribution_of_parameters_and_uniforms() -> None:
    check_invariance(_quantile_runs(_modified_abc(), "modified abc"), floor=0.1)


def _without_widths_of_the_brackets() -> Kernel:
    """The current width is replaced by the proposed one, so that the two cancel."""
    kernel = _modified_abc()

    def apply(noise: Any, state: Any) -> Any:
        position = state.position + 0.9 * noise.offsets
        brackets = bracket_uniforms(_quantile, position, jnp.asarray(DATA), TOLERANCE, N_BISECTIONS)
        log_width = jnp.sum(jnp.log(brackets.upper - brackets.lower))
        return kernel.apply(noise, state._replace(log_width=log_width))

    return kernel._replace(apply=apply)


def _with_the_first_datum_alone() -> Kernel:
    """All data but the first are given values near their target, whatever the uniforms are."""

    def blind(p: Array, z: Array) -> Array:
        values = _quantile(p, z)
        return values.at[1].set(jnp.clip(values[1], DATA[1] - TOLERANCE, DATA[1] + TOLERANCE))

    return modified_abc(blind, _log_prior, jnp.asarray(DATA), TOLERANCE, 0.9, 1, N_BISECTIONS)


@pytest.mark.parametrize("build", [_without_widths_of_the_brackets, _with_the_first_datum_alone])
def test_broken_versions_are_noticed(build: Callable[[], Kernel]) -> None:
    runs = _quantile_runs(build(), build.__name__)
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        check_invariance(runs, floor=0.0)
