"""Involution kernel: its ratio, its two states, what it rejects."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.metropolis.involution import InvolutionNoise, involution_metropolis


def log_gamma(x):
    return 2.0 * jnp.log(x[0]) - x[0]


def test_the_ratio_has_the_volume_of_the_map():
    """For x -> 1 / x on Gamma(3): log p(1/x) - 2 log x - log p(x) = -6 log x - 1/x + x."""
    kernel = involution_metropolis(log_gamma, lambda x: 1.0 / x)
    for start in (0.3, 1.0, 2.5):
        _, info = kernel.step(jax.random.key(0), kernel.init(jnp.array([start])))
        expected = -6.0 * np.log(start) - 1.0 / start + start
        assert float(info.log_ratio) == pytest.approx(expected, abs=1e-12)
        assert float(info.acceptance_rate) == pytest.approx(min(1.0, np.exp(expected)), rel=1e-12)
        assert int(info.n_evaluations) == 1


def test_a_given_volume_is_used_for_the_differentiated_one():
    def swap(x):
        return jnp.stack([2.0 * x[1], 0.5 * x[0]])

    log_density = lambda x: -jnp.sum(x**2) - x[0]
    computed = involution_metropolis(log_density, swap)
    given = involution_metropolis(log_density, swap, lambda x: jnp.zeros(()))
    start, noise = computed.init(jnp.array([0.3, -1.0])), InvolutionNoise(jnp.array(-0.1))
    for a, b in zip(
        jax.tree.leaves(computed.apply(noise, start)), jax.tree.leaves(given.apply(noise, start)), strict=True
    ):
        np.testing.assert_allclose(a, b, atol=1e-14)


@pytest.mark.parametrize("bad", [jnp.nan, jnp.inf, -jnp.inf])
def test_an_image_without_a_finite_density_is_rejected(bad):
    kernel = involution_metropolis(lambda x: jnp.where(x[0] > 0.0, 0.0, bad), lambda x: -x)
    new, info = kernel.apply(InvolutionNoise(jnp.array(-50.0)), kernel.init(jnp.array([1.0])))
    assert not bool(info.is_accepted)
    assert float(info.acceptance_rate) == 0.0
    assert float(new.position[0]) == 1.0
