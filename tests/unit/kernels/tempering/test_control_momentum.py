"""The momentum of the temperature control is kept and reversed as that of the position is."""

import jax
import jax.numpy as jnp
import pytest

from auxmc.kernels.tempering.continuous_tempering import INTEGRATORS, continuously_tempered_hmc
from auxmc.models.bridge import bridge, gaussian_base

BRIDGE = bridge(lambda x: -jnp.sum(x**4), gaussian_base(jnp.zeros(2), jnp.ones(2)), 0.3)
REFRESHMENT, MASS = 0.6, 2.0


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_rejection_reverses_the_momentum_of_the_control(integrator: str) -> None:
    kernel = continuously_tempered_hmc(BRIDGE, 0.2, 3, MASS, refreshment=REFRESHMENT, integrator=integrator)
    state = kernel.init(jax.random.key(1), jnp.array([0.4, -0.3]), 0.5)
    noise = kernel.draw(jax.random.key(2))._replace(log_uniform=jnp.asarray(jnp.inf))
    new, info = kernel.apply(noise, state)
    refreshed = REFRESHMENT * MASS**0.5 * noise.control_normal + 0.8 * state.control_momentum
    assert not bool(info.accepted)
    assert float(new.control_momentum) == pytest.approx(-float(refreshed), rel=1e-14)
    assert float(new.control) == 0.5


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_two_rejected_reversals_of_a_kept_momentum_lead_a_trajectory_back(integrator: str) -> None:
    """After an acceptance the momentum continues: reversed by hand it leads back to where the trajectory began."""
    kernel = continuously_tempered_hmc(BRIDGE, 0.2, 3, MASS, refreshment=1e-9, integrator=integrator)
    state = kernel.init(jax.random.key(1), jnp.array([0.4, -0.3]), 0.5)
    noise = kernel.draw(jax.random.key(2))._replace(log_uniform=jnp.asarray(-jnp.inf))
    there, _ = kernel.apply(noise, state)
    turned = there._replace(
        move=there.move._replace(momentum=-there.move.momentum), control_momentum=-there.control_momentum
    )
    back, _ = kernel.apply(noise, turned)
    assert float(there.control) != pytest.approx(0.5, abs=1e-3)
    assert float(back.control) == pytest.approx(0.5, abs=1e-7)
    assert float(back.control_momentum) == pytest.approx(-float(state.control_momentum), abs=1e-7)
