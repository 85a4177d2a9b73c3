"""A warm-up within one kernel."""

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.kernels.hamiltonian.hmc import hmc
from auxmc.kernels.hamiltonian.phased import phased


def test_the_warm_up_has_its_own_steps_and_then_ends():
    build = lambda step: hmc(lambda x: -0.5 * jnp.sum(x**2), step, (5, 9), dim=2)
    kernel = phased(build, 2, jnp.asarray(0.3), 0.01, 3)
    state = kernel.init(jnp.ones(2), key=jax.random.key(0))
    plain = build(jnp.asarray(0.3))
    for iteration in range(4):
        noise = kernel.draw(jax.random.key(iteration))
        before = state
        state, info = kernel.apply(noise, state)
        if iteration < 2:
            assert int(info.num_integration_steps) == 3
        else:
            expected, _ = plain.apply(noise, before.inner)
            np.testing.assert_allclose(state.inner.position, expected.position, rtol=1e-12)
            assert 5 <= int(info.num_integration_steps) <= 9
        assert int(state.iteration) == iteration + 1
