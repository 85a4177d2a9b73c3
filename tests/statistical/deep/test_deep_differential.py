"""The same inputs to BlackJAX and to this package: trajectories and energies agree to rounding."""

import blackjax.mcmc.integrators as integrators
import blackjax.mcmc.metrics as metrics
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.hamiltonian.hmc import HMCState, leapfrog

pytestmark = pytest.mark.slow

N_STEPS = 25
STEP = 0.11


def quartic(x: Array) -> Array:
    return -0.25 * jnp.sum(x**4) - 0.3 * x[0] * x[1]


def banana(x: Array) -> Array:
    return -0.5 * x[0] ** 2 - 0.5 * (x[1] - 0.4 * (x[0] ** 2 - 1.0)) ** 2 - 0.5 * x[2] ** 2


@pytest.mark.parametrize("log_density", [quartic, banana])
def test_leapfrog_trajectories_are_those_of_blackjax(log_density: object) -> None:
    position, momentum = jnp.array([0.4, -1.1, 0.7]), jnp.array([-0.3, 0.8, 1.2])
    evaluate = jax.value_and_grad(log_density)  # type: ignore[arg-type]
    start = HMCState(position, *evaluate(position))
    end, end_momentum, _ = leapfrog(evaluate, start, momentum, STEP, jnp.asarray(N_STEPS, jnp.int32))
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        metric = metrics.default_metric(jnp.ones(3))
        step = integrators.velocity_verlet(log_density, metric.kinetic_energy)
        state = integrators.IntegratorState(position, momentum, *evaluate(position))
        for _ in range(N_STEPS):
            state = step(state, STEP)
    np.testing.assert_allclose(end.position, state.position, rtol=1e-10)
    np.testing.assert_allclose(end_momentum, state.momentum, rtol=1e-10)
    np.testing.assert_allclose(end.log_density, state.logdensity, rtol=1e-10)
    np.testing.assert_allclose(end.gradient, state.logdensity_grad, rtol=1e-10, atol=1e-12)
