"""The contract of `auxmc.kernels.base.Kernel`, held for every function of the library that makes a kernel."""

import ast
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from auxmc import kernels
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.dual_averaging import dual_averaging
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.hamiltonian.langevin import metropolis_langevin, unadjusted_langevin
from auxmc.kernels.hamiltonian.persistent_hmc import persistent_hmc
from auxmc.kernels.hamiltonian.phased import phased
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.constrained_nuts import constrained_nuts
from auxmc.kernels.manifold.modified_abc import modified_abc
from auxmc.kernels.metropolis.adaptation import batch_adaptation
from auxmc.kernels.metropolis.gibbs import gibbs, spin_blocks, systematic_scan
from auxmc.kernels.metropolis.involution import involution_metropolis
from auxmc.kernels.metropolis.metropolis import metropolis_independence, random_walk_metropolis
from auxmc.kernels.metropolis.simulated_annealing import simulated_annealing
from auxmc.kernels.pseudo_marginal.updates import (
    auxiliary_pseudo_marginal,
    independence_auxiliary,
    pseudo_marginal_method,
    pseudo_marginal_metropolis,
    slice_position,
)
from auxmc.kernels.slices.blocked_elliptical_slice import blocked_elliptical_slice
from auxmc.kernels.slices.core import MAX_PASSES, Candidate, slice_kernel
from auxmc.kernels.slices.directed_slice import along_axes, directed_slice
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import draw_line, linear_slice, shrink_line
from auxmc.kernels.slices.reflective_slice import reflective_slice
from auxmc.kernels.streams.stochastic_gradient_chain import stochastic_gradient_chain
from auxmc.kernels.tempering.annealed_importance import annealed_importance_sampling
from auxmc.kernels.tempering.continuous_tempering import continuously_tempered_hmc, gibbs_continuous_tempering
from auxmc.kernels.tempering.simulated_tempering import simulated_tempering
from auxmc.kernels.tempering.tempered_nuts import tempered_nuts
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.models.conditioned import condition_generator
from experiments.boltzmann.block_summaries import block_summaries
from tests.unit.kernels.toys import DIM, latent_estimator, log_normal

BRIDGE = bridge(log_normal, gaussian_base(jnp.zeros(DIM), jnp.ones(DIM)))
CIRCLE = condition_generator(lambda u: jnp.sum(jnp.square(u), keepdims=True), log_normal, jnp.ones(1))
ESTIMATOR = latent_estimator()
POSITION = jnp.array([0.6, 0.8])


def normals(key: jax.Array) -> jax.Array:
    return jax.random.normal(key, (DIM,))


KERNELS: dict[Callable[..., Kernel], Callable[[], Kernel]] = {
    annealed_importance_sampling: lambda: annealed_importance_sampling(BRIDGE, [0.0, 0.5, 1.0], 0.1, 2),
    auxiliary_pseudo_marginal: lambda: auxiliary_pseudo_marginal(
        ESTIMATOR, independence_auxiliary(ESTIMATOR), slice_position(ESTIMATOR, 0.5, DIM)
    ),
    batch_adaptation: lambda: batch_adaptation(lambda s: random_walk_metropolis(log_normal, s, DIM), 0.5),
    blocked_elliptical_slice: lambda: blocked_elliptical_slice(log_normal, [(0, 1), (1, 2)]),
    constrained_hmc: lambda: constrained_hmc(CIRCLE, 0.1, (1, 2), DIM),
    constrained_nuts: lambda: constrained_nuts(CIRCLE, 0.1, DIM, max_depth=2),
    continuously_tempered_hmc: lambda: continuously_tempered_hmc(BRIDGE, 0.1, 2),
    directed_slice: lambda: directed_slice(log_normal, along_axes(DIM), 1.0, DIM),
    dual_averaging: lambda: dual_averaging(lambda s: tempered_nuts(BRIDGE, s, jnp.ones(DIM + 1)), 0.5, 10),
    elliptical_slice: lambda: elliptical_slice(log_normal, dim=DIM),
    gibbs: lambda: gibbs(spin_blocks(lambda spins: spins, DIM), systematic_scan([0, 1])),
    gibbs_continuous_tempering: lambda: gibbs_continuous_tempering(BRIDGE, 0.1, 2),
    hamiltonian_monte_carlo: lambda: hamiltonian_monte_carlo(log_normal, 0.1, (1, 2), DIM),
    involution_metropolis: lambda: involution_metropolis(log_normal, lambda x: -x),
    linear_slice: lambda: linear_slice(log_normal, 1.0, DIM),
    pseudo_marginal_method: lambda: pseudo_marginal_method("apm_ss_ss", ESTIMATOR, 0.5, DIM),
    metropolis_independence: lambda: metropolis_independence(log_normal, normals),
    metropolis_langevin: lambda: metropolis_langevin(log_normal, 0.1, DIM),
    modified_abc: lambda: modified_abc(lambda p, z: p + z, log_normal, jnp.ones(DIM), 0.1, 0.5, DIM),
    persistent_hmc: lambda: persistent_hmc(log_normal, 0.1, 2, 0.5, DIM),
    phased: lambda: phased(lambda s: hamiltonian_monte_carlo(log_normal, s, (1, 2), DIM), 2, 0.1, 0.05, 3),
    pseudo_marginal_metropolis: lambda: pseudo_marginal_metropolis(ESTIMATOR, 0.5, DIM),
    random_walk_metropolis: lambda: random_walk_metropolis(log_normal, 0.5, DIM),
    reflective_slice: lambda: reflective_slice(log_normal, DIM),
    simulated_annealing: lambda: simulated_annealing(log_normal, normals, jnp.add, [1.0]),
    simulated_tempering: lambda: simulated_tempering(BRIDGE, [0.0, 0.5, 1.0], 0.1, 2),
    slice_kernel: lambda: slice_kernel(
        log_normal,
        lambda key: draw_line(key, DIM, 0),
        lambda noise, current: shrink_line(
            noise, 1.0, current, lambda x: Candidate(x, log_normal(x)), 0, MAX_PASSES
        ),
    ),
    stochastic_gradient_chain: lambda: stochastic_gradient_chain(lambda x, _: x, normals, 0.1, 0.5, DIM),
    block_summaries: lambda: block_summaries(
        random_walk_metropolis(log_normal, 0.5, DIM), 3, lambda state, _: state.position, jnp.mean
    ),
    tempered_nuts: lambda: tempered_nuts(BRIDGE, 0.1, jnp.ones(DIM + 1)),
    unadjusted_langevin: lambda: unadjusted_langevin(log_normal, 0.1, DIM),
}


@pytest.fixture(params=list(KERNELS), ids=lambda make: make.__name__)
def kernel(request: pytest.FixtureRequest) -> Kernel:
    return KERNELS[request.param]()


def test_every_function_that_makes_a_kernel_is_here() -> None:
    trees = [ast.parse(path.read_text()) for path in Path(kernels.__file__).parent.rglob("*.py")]
    makers = {
        node.name
        for tree in trees
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and node.returns is not None
        and ast.unparse(node.returns) == "Kernel"
    }
    assert {name for name in makers if not name.startswith("_")} == {make.__name__ for make in KERNELS}


def test_a_kernel_starts_from_a_key_and_a_position(kernel: Kernel) -> None:
    _, position, *further = inspect.signature(kernel.init).parameters.values()
    assert position.name == "position"
    assert all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in further)

    def position_after(key: jax.Array, start: jax.Array) -> jax.Array:
        state = kernel.init(key, start)
        found: jax.Array = getattr(state, "inner", state).position
        return found

    found = jax.eval_shape(position_after, jax.random.key(0), POSITION)
    assert (found.shape, found.dtype) == (POSITION.shape, POSITION.dtype)


def test_a_step_goes_from_a_state_to_one_like_it(kernel: Kernel) -> None:
    def shapes(state: Any) -> Any:
        return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), state)

    start = jax.eval_shape(kernel.init, jax.random.key(0), POSITION)
    end, _ = jax.eval_shape(kernel.step, jax.random.key(1), start)
    assert shapes(end) == shapes(start)
