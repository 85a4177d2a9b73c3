"""An annealed run step by step: which point each increment weighs, and at which temperature each move is made."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.kernels.tempering.tempered_move import tempered_hmc
from auxmc.models.bridge import bridge, gaussian_base

BRIDGE = bridge(
    lambda x: -2.0 * jnp.sum((x - 0.5) ** 2) - 0.1 * jnp.sum(x**4),
    gaussian_base(jnp.zeros(2), jnp.ones(2)),
    0.3,
)
STEP_SIZE, N_STEPS = 0.15, 2


@pytest.mark.parametrize("ladder", [(0.0, 0.05, 0.3, 0.6, 1.0), (1.0, 0.7, 0.2, 0.0)])
@pytest.mark.parametrize("refreshment", [1.0, 0.5])
def test_a_run_weighs_before_it_moves_and_moves_at_its_own_temperature(
    ladder: tuple[float, ...], refreshment: float
) -> None:
    """A plain loop over the published algorithm, with the random numbers of the run."""
    kernel = annealed_importance_sampling(
        BRIDGE, ladder, STEP_SIZE, N_STEPS, draw_start=BRIDGE.draw_base, refreshment=refreshment
    )
    key = jax.random.key(5)
    found, info = kernel.step(key, kernel.init(jax.random.key(0)))
    move = tempered_hmc(BRIDGE, STEP_SIZE, N_STEPS, refreshment=refreshment)
    state = move.init(jax.random.fold_in(key, 2), info.start)
    log_weight = 0.0
    for k, (here, following) in enumerate(itertools.pairwise(ladder)):
        if k > 0:
            noise = move.draw(jax.random.fold_in(jax.random.fold_in(key, 1), k - 1))
            state, _ = move.apply(noise, state, jnp.asarray(here))
        target, base = BRIDGE.log_densities(state.position)
        log_weight += (following - here) * float(target - base)
    assert np.any(np.asarray(found.position) != np.asarray(info.start))
    np.testing.assert_allclose(found.position, state.position, rtol=1e-10)
    assert float(found.log_weight) == pytest.approx(log_weight, rel=1e-10)
