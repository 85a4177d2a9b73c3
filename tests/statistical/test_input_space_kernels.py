"""Invariance of HMC and of modified ABC for quantile models, from exact draws; broken versions are noticed."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import HMCInfo, HMCNoise, HMCState, hamiltonian_monte_carlo
from auxmc.kernels.manifold.modified_abc import (
    ModifiedABCInfo,
    ModifiedABCNoise,
    ModifiedABCState,
    bracket_uniforms,
    modified_abc,
)
from tests.statistical.kernel_checks import (
    TARGETS,
    Runs,
    check_invariance,
    check_reversibility,
    line_driver,
    log_target,
)
from tests.statistical.levels import (
    assert_at_least,
    assert_standard_mean,
    assert_uniform,
    expecting_failure,
    key_for,
    legendre,
)

N = 100_000
N_STEPS = 3
DATA = np.array([0.2, 1.1])
TOLERANCE = 0.4
N_BISECTIONS = 4

_GRID = np.linspace(-8.0, 8.0, 20_001)


# --- HMC on the line -----------------------------------------------------------------------------------


def _hmc(index: Array, step_size: float = 0.12) -> Kernel:
    return hamiltonian_monte_carlo(lambda x: log_target(index, x), step_size, (2, 6), dim=1)


@pytest.mark.parametrize("target", TARGETS)
def test_hmc_keeps_the_distribution_and_is_reversible(target: str) -> None:
    """A step of 0.12 is coarse for the narrow mode (sd 0.1), where one proposal in five is rejected."""
    runs = line_driver(_hmc)(TARGETS.index(target), f"hmc/{target}")
    check_invariance(runs, floor=0.5)
    check_reversibility(runs)


def test_hmc_without_its_accept_test_is_noticed() -> None:
    def build(index: Array) -> Kernel:
        kernel = _hmc(index)

        def apply(noise: HMCNoise, state: HMCState) -> tuple[HMCState, HMCInfo]:
            return kernel.apply(noise._replace(log_uniform=jnp.asarray(-jnp.inf)), state)

        return kernel._replace(apply=apply)

    runs = line_driver(build)(0, "hmc/no accept test")
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        check_invariance(runs, floor=0.0)


def test_hmc_with_half_a_first_kick_left_out_is_noticed() -> None:
    """Starting from a gradient of zero breaks reversibility and volume-preserving symmetry of the integrator."""

    def build(index: Array) -> Kernel:
        kernel = _hmc(index)

        def apply(noise: HMCNoise, state: HMCState) -> tuple[HMCState, HMCInfo]:
            return kernel.apply(noise, state._replace(gradient=jnp.zeros_like(state.gradient)))

        return kernel._replace(apply=apply)

    runs = line_driver(build)(0, "hmc/no first kick")
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        check_invariance(runs, floor=0.0)


# --- modified ABC on a logistic location family ---------------------------------------------------------


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

    def replica(key: Array) -> Any:
        key_z, key_p, key_steps = jax.random.split(key, 3)
        z = jnp.interp(jax.random.uniform(key_z, (1,)), jnp.asarray(CDF), jnp.asarray(_GRID))
        low, high = _allowed(z[0])
        uniforms = low + (high - low) * jax.random.uniform(key_p, DATA.shape)
        state = kernel.init(jax.random.key(0), z)._replace(uniforms=uniforms, log_density=_log_prior(z))
        start = _transforms(state)

        def step(state: ModifiedABCState, key: Array) -> tuple[ModifiedABCState, Array]:
            state, _ = kernel.step(key, state)
            return state, _transforms(state)

        state, path = jax.lax.scan(step, state, jax.random.split(key_steps, N_STEPS))
        return start, path[0], path[-1], jnp.abs(state.log_density - _log_prior(state.position))

    start, once, last, error = jax.jit(jax.vmap(replica))(jax.random.split(key_for(name), N))
    clip = lambda values: np.clip(np.asarray(values), 0.0, 1.0)
    return Runs(clip(start), clip(once), clip(last), float(jnp.max(error)), 0)


def _modified_abc() -> Kernel:
    return modified_abc(_quantile, _log_prior, jnp.asarray(DATA), TOLERANCE, 0.9, 1, N_BISECTIONS)


def _check_quantile_runs(runs: Runs) -> None:
    for label, transforms in (("one step", runs.once), ("last step", runs.last)):
        for coordinate in range(transforms.shape[1]):
            assert_uniform(transforms[:, coordinate], label=f"{label}, coordinate {coordinate}")
        assert_standard_mean(legendre(transforms[:, 0]), label=f"{label}, Legendre of z")
        products = legendre(transforms[:, 0], 3)[:, :, None] * legendre(transforms[:, 1], 3)[:, None, :]
        assert_standard_mean(products.reshape(N, -1), label=f"{label}, joint")


def test_modified_abc_keeps_the_distribution_of_parameters_and_uniforms() -> None:
    runs = _quantile_runs(_modified_abc(), "modified abc")
    assert runs.cache_error < 1e-12
    moved = np.abs(runs.last[:, 0] - runs.start[:, 0]) > 1e-9
    # A twentieth of the replicas would be enough for a wrong step to show.
    assert_at_least(moved, 0.2, detects=0.05, label="moves")
    _check_quantile_runs(runs)


def test_modified_abc_without_the_widths_of_the_brackets_is_noticed() -> None:
    kernel = _modified_abc()

    def apply(noise: ModifiedABCNoise, state: ModifiedABCState) -> tuple[ModifiedABCState, ModifiedABCInfo]:
        position = state.position + 0.9 * noise.offsets
        brackets = bracket_uniforms(_quantile, position, jnp.asarray(DATA), TOLERANCE, N_BISECTIONS)
        log_width = jnp.sum(jnp.log(brackets.upper - brackets.lower))
        # The current width is replaced by the proposed one, so that the two cancel.
        new, info = kernel.apply(noise, state._replace(log_width=log_width))
        return new, info

    runs = _quantile_runs(kernel._replace(apply=apply), "modified abc/no widths")
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        _check_quantile_runs(runs)


def test_modified_abc_that_checks_only_the_first_datum_is_noticed() -> None:
    """All data but the first are given values near their target, whatever the uniforms are."""

    def blind(p: Array, z: Array) -> Array:
        return (
            _quantile(p, z).at[1].set(jnp.clip(_quantile(p, z)[1], DATA[1] - TOLERANCE, DATA[1] + TOLERANCE))
        )

    kernel = modified_abc(blind, _log_prior, jnp.asarray(DATA), TOLERANCE, 0.9, 1, N_BISECTIONS)
    runs = _quantile_runs(kernel, "modified abc/one datum")
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        _check_quantile_runs(runs)
