"""What holds for every kernel, whatever it does: the contract of `auxmc.kernels.base.Kernel`."""

import inspect
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.hamiltonian.dual_averaging import dual_averaging
from auxmc.kernels.hamiltonian.hmc import hmc
from auxmc.kernels.hamiltonian.langevin import mala, unadjusted_langevin
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
from auxmc.kernels.pseudo_marginal.joint_hmc import pseudo_marginal_hmc
from auxmc.kernels.pseudo_marginal.updates import (
    METHODS,
    auxiliary_pseudo_marginal,
    correlated_pseudo_marginal,
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
from auxmc.kernels.tempering.tempered_move import INTEGRATORS
from auxmc.kernels.tempering.tempered_nuts import tempered_nuts
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.models.conditioned import condition_generator
from experiments.boltzmann.programs import block_summaries
from tests.unit.kernels.toys import DIM, latent_estimator, log_bimodal, log_normal

BRIDGE = bridge(log_normal, gaussian_base(jnp.zeros(DIM), jnp.ones(DIM)))
CIRCLE = condition_generator(lambda u: jnp.sum(jnp.square(u), keepdims=True), log_normal, jnp.ones(1))
ESTIMATOR = latent_estimator()
POSITION = jnp.array([0.6, 0.8])


def normals(key):
    return jax.random.normal(key, (DIM,))


KERNELS = {
    "annealed_importance_sampling": lambda: annealed_importance_sampling(BRIDGE, [0.0, 0.5, 1.0], 0.1, 2),
    "auxiliary_pseudo_marginal": lambda: auxiliary_pseudo_marginal(
        ESTIMATOR, independence_auxiliary(ESTIMATOR), slice_position(ESTIMATOR, 0.5, DIM)
    ),
    "batch_adaptation": lambda: batch_adaptation(lambda s: random_walk_metropolis(log_normal, s, DIM), 0.5),
    "blocked_elliptical_slice": lambda: blocked_elliptical_slice(log_normal, [(0, 1), (1, 2)]),
    "constrained_hmc": lambda: constrained_hmc(CIRCLE, 0.1, (1, 2), DIM),
    "constrained_nuts": lambda: constrained_nuts(CIRCLE, 0.1, DIM, max_depth=2),
    "continuously_tempered_hmc": lambda: continuously_tempered_hmc(BRIDGE, 0.1, 2),
    "correlated_pseudo_marginal": lambda: correlated_pseudo_marginal(ESTIMATOR, 0.5, 0.5, DIM),
    "directed_slice": lambda: directed_slice(log_bimodal, along_axes(DIM), 1.0, DIM),
    "dual_averaging": lambda: dual_averaging(lambda s: tempered_nuts(BRIDGE, s, jnp.ones(DIM + 1)), 0.5, 10),
    "elliptical_slice": lambda: elliptical_slice(log_bimodal, dim=DIM),
    "gibbs": lambda: gibbs(spin_blocks(lambda spins: spins, DIM), systematic_scan([0, 1])),
    "gibbs_continuous_tempering": lambda: gibbs_continuous_tempering(BRIDGE, 0.1, 2),
    "hmc": lambda: hmc(log_normal, 0.1, (1, 2), DIM),
    "involution_metropolis": lambda: involution_metropolis(log_normal, lambda x: -x),
    "linear_slice": lambda: linear_slice(log_bimodal, 1.0, DIM),
    "pseudo_marginal_method": lambda: pseudo_marginal_method("apm_ss_ss", ESTIMATOR, 0.5, DIM),
    "metropolis_independence": lambda: metropolis_independence(log_normal, normals),
    "mala": lambda: mala(log_normal, 0.1, DIM),
    "modified_abc": lambda: modified_abc(lambda p, z: p + z, log_normal, jnp.ones(DIM), 0.1, 0.5, DIM),
    "persistent_hmc": lambda: persistent_hmc(log_normal, 0.1, 2, 0.5, DIM),
    "phased": lambda: phased(lambda s: hmc(log_normal, s, (1, 2), DIM), 2, 0.1, 0.05, 3),
    "pseudo_marginal_hmc": lambda: pseudo_marginal_hmc(ESTIMATOR, 0.3, (1, 3), DIM),
    "pseudo_marginal_metropolis": lambda: pseudo_marginal_metropolis(ESTIMATOR, 0.5, DIM),
    "random_walk_metropolis": lambda: random_walk_metropolis(log_bimodal, 0.5, DIM),
    "reflective_slice": lambda: reflective_slice(lambda u: log_bimodal(4.0 * u - 2.0), DIM),
    "simulated_annealing": lambda: simulated_annealing(log_normal, normals, jnp.add, [1.0]),
    "simulated_tempering": lambda: simulated_tempering(BRIDGE, [0.0, 0.5, 1.0], 0.1, 2),
    "slice_kernel": lambda: slice_kernel(
        log_normal,
        lambda key: draw_line(key, DIM, 0),
        lambda noise, current: shrink_line(
            noise, 1.0, current, lambda x: Candidate(x, log_normal(x)), 0, MAX_PASSES
        ),
    ),
    "stochastic_gradient_chain": lambda: stochastic_gradient_chain(lambda x, _: x, normals, 0.1, 0.5, DIM),
    "block_summaries": lambda: block_summaries(
        random_walk_metropolis(log_normal, 0.5, DIM), 3, lambda state, _: state.position, jnp.mean
    ),
    "tempered_nuts": lambda: tempered_nuts(BRIDGE, 0.1, jnp.ones(DIM + 1)),
    "unadjusted_langevin": lambda: unadjusted_langevin(log_normal, 0.1, DIM),
    **{
        f"pseudo_marginal_method/{name}": lambda name=name: pseudo_marginal_method(name, ESTIMATOR, 1.0, DIM)
        for name in METHODS
    },
    "auxiliary_pseudo_marginal/step out": lambda: auxiliary_pseudo_marginal(
        ESTIMATOR, independence_auxiliary(ESTIMATOR), slice_position(ESTIMATOR, 0.5, DIM, 3)
    ),
    "batch_adaptation/pseudo-marginal": lambda: batch_adaptation(
        lambda scale: pseudo_marginal_method("apm_mi_mh", ESTIMATOR, scale, DIM), 0.5, 3, 2
    ),
    "elliptical_slice/cholesky": lambda: elliptical_slice(log_bimodal, jnp.array([[1.0, 0.0], [0.5, 0.8]])),
    "linear_slice/step out": lambda: linear_slice(log_bimodal, 0.4, DIM, 3),
    "linear_slice/doubling": lambda: linear_slice(log_bimodal, 0.1, DIM, max_doublings=5),
    "simulated_tempering/random walk": lambda: simulated_tempering(
        BRIDGE, [0.0, 0.5, 1.0], 0.1, 2, index_update="random_walk"
    ),
    **{
        f"{build.__name__}/{integrator}, {refreshment}": partial(
            build, BRIDGE, 0.4, 3, integrator=integrator, refreshment=refreshment
        )
        for build in (gibbs_continuous_tempering, continuously_tempered_hmc)
        for integrator in INTEGRATORS
        for refreshment in (1.0, 0.6)
    },
}

N_CHAINS = 4
# One kernel of each family is compiled by the fast tests; what holds for those of one family is the same code.
FAST = {
    *("random_walk_metropolis", "hmc", "linear_slice", "elliptical_slice", "gibbs"),
    *("constrained_hmc", "modified_abc", "annealed_importance_sampling", "batch_adaptation"),
    *("pseudo_marginal_metropolis", "auxiliary_pseudo_marginal", "pseudo_marginal_method"),
    *("mala", "persistent_hmc", "reflective_slice", "metropolis_independence"),
}
# Kernels whose log density, or estimate, is a function of the position, and of the auxiliary variables, alone.
ESTIMATED = [
    name for name in KERNELS if "pseudo_marginal" in name or name == "batch_adaptation/pseudo-marginal"
]
DENSITIES = [
    *("random_walk_metropolis", "metropolis_independence", "involution_metropolis", "simulated_annealing"),
    *("elliptical_slice", "elliptical_slice/cholesky", "blocked_elliptical_slice", "directed_slice"),
    *("linear_slice", "linear_slice/step out", "linear_slice/doubling", "reflective_slice", "slice_kernel"),
    *("hmc", "persistent_hmc", "mala"),
]


def compiled(names):
    """Names as parameters, of which most are slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name not in FAST)) for name in names]


@cache
def kernel_of(name):
    return KERNELS[name]()


@cache
def many(name):
    return jax.jit(jax.vmap(kernel_of(name).step))


def starts(name):
    """Keys of a step and states of some chains."""
    init = lambda key: kernel_of(name).init(POSITION, key=key)
    return jax.random.split(jax.random.key(2), N_CHAINS), jax.jit(jax.vmap(init))(
        jax.random.split(jax.random.key(1), N_CHAINS)
    )


def shapes(tree):
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), tree)


def assert_same(first, second):
    jax.tree.map(np.testing.assert_array_equal, first, second)


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_starts_from_a_position_and_keeps_shapes_and_dtypes(name):
    kernel = kernel_of(name)
    position, *further = inspect.signature(kernel.init).parameters.values()
    assert position.name == "position"
    assert all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in further)

    def init(key, position):
        state = kernel.init(position, key=key)
        return state, getattr(state, "inner", state).position

    start, placed = jax.eval_shape(init, jax.random.key(0), POSITION)
    assert shapes(placed) == shapes(POSITION)
    if any(word in name for word in ("pseudo", "persistent", "stochastic", "continuous", "simulated_temp")):
        with pytest.raises(TypeError, match=r"init needs key=jax.random.key\(...\)"):
            kernel.init(POSITION)
    else:
        assert shapes(jax.eval_shape(kernel.init, POSITION)) == shapes(start)
    end, info = jax.eval_shape(kernel.step, jax.random.key(1), start)
    assert shapes(end) == shapes(start)
    assert {leaf.dtype for leaf in jax.tree.leaves(info)} <= {jnp.dtype(t) for t in (bool, "int32", float)}


@pytest.mark.parametrize("name", KERNELS)
def test_numbers_drawn_for_many_steps_at_once_are_those_of_single_steps(name):
    draw = kernel_of(name).draw
    keys = jax.random.split(jax.random.key(3), 4)
    together, alone = jax.vmap(draw)(keys), draw(keys[2])
    for one, single in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        assert bool(jnp.all(one[2] == single))


@pytest.mark.parametrize(
    "name", ["random_walk_metropolis", "elliptical_slice", "linear_slice/step out", "pseudo_marginal_method"]
)
def test_compiled_steps_agree_with_interpreted_ones(name):
    kernel, key = kernel_of(name), jax.random.key(4)
    state = kernel.init(POSITION, key=jax.random.key(0))
    steps = kernel.apply(kernel.draw(key), state), jax.jit(kernel.step)(key, state)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12), *steps)


@pytest.mark.parametrize("name", compiled(KERNELS))
def test_compiled_chains_side_by_side_do_what_single_chains_do(name):
    """The same key makes the same step, another key another one."""
    keys, states = starts(name)
    together = many(name)(keys, states)
    assert_same(together, many(name)(keys, states))
    single = jax.jit(kernel_of(name).step)
    for chain in (0, 3):
        alone = single(keys[chain], jax.tree.map(lambda leaf, chain=chain: leaf[chain], states))
        jax.tree.map(
            lambda a, b, chain=chain: np.testing.assert_allclose(a[chain], b, rtol=1e-11, atol=1e-12),
            together,
            alone,
        )
    other, _ = many(name)(keys[::-1], states)
    leaves = zip(jax.tree.leaves(together[0]), jax.tree.leaves(other), strict=True)
    assert name == "involution_metropolis" or any(not np.array_equal(a, b) for a, b in leaves)


@pytest.mark.parametrize(
    "name", compiled([name for name in DENSITIES if "annealing" not in name] + ESTIMATED)
)
def test_the_stored_log_density_is_used_and_a_kept_state_is_the_same_in_every_bit(name):
    """A stored value no proposal can match must stop every move: nothing may make it again."""
    keys, states = starts(name)
    inner = getattr(states, "inner", states)
    field = "log_estimate" if hasattr(inner, "log_estimate") else "log_density"
    raised = inner._replace(**{field: jnp.full((N_CHAINS,), 1e9)})
    before = states._replace(inner=raised) if hasattr(states, "inner") else raised
    after, info = many(name)(keys, before)
    after = getattr(after, "inner", after)
    assert_same(after.position, raised.position)
    assert_same(getattr(after, field), getattr(raised, field))
    info = getattr(info, "inner", info)
    for flag in ("is_accepted", "accepted_position", "accepted_auxiliary"):
        assert not np.any(getattr(info, flag, False))


SCALED = {
    "random_walk": lambda scale: random_walk_metropolis(log_normal, scale, DIM),
    "hmc": lambda scale: hmc(log_normal, scale, (2, 6), DIM),
    "linear": lambda scale: linear_slice(log_normal, scale, DIM),
    "apm_mi_ss": lambda scale: pseudo_marginal_method("apm_mi_ss", ESTIMATOR, scale, DIM),
}


@pytest.mark.parametrize("name", SCALED)
def test_scales_may_be_traced_and_batched(name):
    def position(scale):
        kernel = SCALED[name](scale)
        state, _ = kernel.step(jax.random.key(3), kernel.init(POSITION, key=jax.random.key(0)))
        found = state.position
        return found

    scales = jnp.array([0.01, 0.02])
    together = jax.jit(jax.vmap(position))(scales)
    np.testing.assert_allclose(together, [position(scale) for scale in scales], rtol=1e-12)
    assert not np.array_equal(together[0], together[1])
