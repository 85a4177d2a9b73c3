"""Long chains that alternate a kernel with new data keep the joint distribution (Geweke 2004)."""

from functools import partial

import jax
import numpy as np
import pytest
from jax import Array

from tests.statistical.levels import assert_standard_mean, expecting_failure, key_for, legendre
from tests.statistical.test_joint_distributions import Cycle, abc_ball, abc_split, constrained, hmc

pytestmark = pytest.mark.slow

N_CHAINS = 10_000
N_CYCLES = 100


def averages(cycle: Cycle, dim: int, name: str) -> np.ndarray:
    """Averages along each chain of Legendre functions of each number and of products of pairs [chain, function]."""

    def chain(key: Array) -> Array:
        key_start, key_cycles = jax.random.split(key)
        start = jax.random.normal(key_start, (dim,))
        _, path = jax.lax.scan(
            lambda inputs, key: cycle(key, inputs), start, jax.random.split(key_cycles, N_CYCLES)
        )
        return path

    keys = jax.random.split(key_for(f"long chains/{name}"), N_CHAINS)
    paths = np.asarray(jax.jit(lambda keys: jax.lax.map(chain, keys, batch_size=500))(keys))
    paths = np.clip(paths, 0.0, 1.0)
    functions = [legendre(paths[..., i].ravel(), 3) for i in range(paths.shape[2])]
    functions += [functions[i][:, :2] * functions[j][:, :2] for i in range(paths.shape[2]) for j in range(i)]
    return np.concatenate([table.reshape(N_CHAINS, N_CYCLES, -1).mean(axis=1) for table in functions], axis=1)


def check_averages(values: np.ndarray, label: str) -> None:
    assert_standard_mean(values / values.std(axis=0), detects=0.1, label=label)


@pytest.mark.parametrize(("cycle", "dim"), [(hmc, 1), (abc_ball, 2), (abc_split, 2), (constrained, 3)])
def test_averages_of_long_chains_are_those_of_the_joint_distribution(cycle: Cycle, dim: int) -> None:
    check_averages(averages(cycle, dim, cycle.__name__), cycle.__name__)


def test_a_noise_that_is_taken_too_small_is_found() -> None:
    values = averages(partial(hmc, noise_sd=0.95), 1, "too small")
    with expecting_failure(), pytest.raises(AssertionError, match="exceeds"):
        check_averages(values, "too small")
