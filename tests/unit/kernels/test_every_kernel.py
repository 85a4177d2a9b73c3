"""What holds for every kernel, on vectors and on pytrees: the contract of `auxmc.kernels.base.Kernel`."""

import inspect
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from auxmc import kernels
from auxmc.kernels import base
from auxmc.kernels.pseudo_marginal.updates import METHODS
from auxmc.kernels.slices.core import MAX_PASSES, Candidate
from auxmc.kernels.slices.linear_slice import draw_line, shrink_line
from auxmc.kernels.tempering.tempered_move import INTEGRATORS
from experiments.boltzmann.programs import block_summaries
from tests.unit.kernels.toys import DIM, chain, latent_estimator, log_bimodal, log_normal

VECTOR = jnp.array([0.6, 0.8])
TREE = {"a": VECTOR[0], "b": VECTOR[1:]}
UNRAVEL = ravel_pytree(TREE)[1]
BRIDGE = kernels.bridge(log_normal, kernels.gaussian_base(jnp.zeros(DIM), jnp.ones(DIM)))
ESTIMATOR = latent_estimator()


def as_it_is(value):
    return value


def on_tree(function):
    """A function of a vector as one of a dictionary."""
    return lambda tree, *more: function(ravel_pytree(tree)[0], *more)


def on_vector(function):
    """The same, of a vector again: its program is that of `on_tree`."""
    return lambda vector, *more: on_tree(function)(UNRAVEL(vector), *more)


normals = lambda key: jax.random.normal(key, (DIM,))
estimator = lambda on: ESTIMATOR._replace(prepare=on(ESTIMATOR.prepare))
added = lambda on, place: lambda x, noise: place(on(jnp.add)(x, noise))
moved = lambda on, place: lambda noise, x: added(on, place)(x, noise)
steps = lambda on, **dim: lambda step: kernels.hmc(on(log_normal), step, 2, **dim)
mass_steps = lambda on: lambda step, mass: kernels.hmc(on(log_normal), step, 2, inverse_mass=mass)


def circle(on):
    squares = on(lambda u: jnp.sum(jnp.square(u), keepdims=True))
    return kernels.condition_generator(squares, on(log_normal), jnp.ones(1))


def apm(update):
    """Auxiliary pseudo-marginal kernels with an update of the position."""
    return lambda model, scale, **dim: kernels.auxiliary_pseudo_marginal(
        model, kernels.elliptical_auxiliary(model), update(model, scale, **dim)
    )


# Kernels that are made in another way than by the function of their name.
MAKERS = {
    "block_summaries": block_summaries,
    "constrained_nuts": partial(kernels.constrained_nuts, max_depth=2),
    "elliptical_slice": partial(kernels.elliptical_slice, dim=DIM),
    "metropolis_position": apm(kernels.metropolis_position),
    "slice_position": apm(kernels.slice_position),
}


def made(name, arguments, **dim):
    """The kernel of a name, which may be followed by "/" and a variant."""
    name = name.partition("/")[0]
    return (MAKERS.get(name) or getattr(kernels, name))(*arguments, **dim)


# By name: maps (how a function reads a position, how a vector becomes one) to the arguments of a kernel; first of those
# that may be told the dimension of their positions.
SIZED = {
    "constrained_hmc": lambda on, _: (circle(on), 0.3, 2),
    "constrained_nuts": lambda on, _: (circle(on), 0.3),
    "correlated_pseudo_marginal": lambda on, _: (estimator(on), 0.5, 0.3),
    "directed_slice": lambda on, _: (on(log_bimodal), kernels.along_axes(DIM), 1.0),
    "hmc": lambda on, _: (on(log_normal), 0.5, (2, 4)),
    "linear_slice": lambda on, _: (on(log_bimodal), 1.0),
    "mala": lambda on, _: (on(log_normal), 0.5),
    "metropolis_position": lambda on, _: (estimator(on), 0.5),
    "modified_abc": lambda on, _: (on(lambda p, z: p + z), on(log_normal), jnp.ones(DIM), 0.5, 0.5),
    "persistent_hmc": lambda on, _: (on(log_normal), 0.5, 2, 0.5),
    "pseudo_marginal_hmc": lambda on, _: (estimator(on), 0.3, 2),
    "pseudo_marginal_method": lambda on, _: ("apm_ss_ss", estimator(on), 0.5),
    "pseudo_marginal_metropolis": lambda on, _: (estimator(on), 0.5),
    "random_walk_metropolis": lambda on, _: (on(log_normal), 0.5),
    "reflective_slice": lambda on, _: (on(log_normal),),
    "riemannian_hmc": lambda on, _: (on(log_normal), on(lambda x: jnp.diag(1.0 + x**2)), 0.5, 2),
    "slice_position": lambda on, _: (estimator(on), 0.5),
    "stochastic_gradient_chain": lambda on, place: (added(on, place), normals, 0.1, 0.5),
    "unadjusted_langevin": lambda on, _: (on(log_normal), 0.5),
}
OTHERS = {
    "batch_adaptation": lambda on, _: (partial(kernels.random_walk_metropolis, on(log_normal)), 0.5),
    "blocked_elliptical_slice": lambda on, _: (on(log_bimodal), [(0, 1), (1, 2)]),
    "dual_averaging": lambda on, _: (steps(on), 0.5, 10),
    "elliptical_slice": lambda on, _: (on(log_bimodal),),
    "involution_metropolis": lambda on, place: (on(jnp.sum), lambda x: place(on(jnp.negative)(x))),
    "metropolis_independence": lambda on, place: (on(log_normal), lambda key: place(normals(key))),
    "nuts": lambda on, _: (on(log_normal), 0.5, jnp.ones(DIM), 3),
    "phased": lambda on, _: (steps(on, dim=DIM), 2, 0.1, 0.1, 3),
    "simulated_annealing": lambda on, place: (on(log_normal), normals, moved(on, place), [1.0, 2.0]),
    "window_adaptation": lambda on, _: (mass_steps(on), 0.5, 20, DIM),
}
# Tempered kernels are on the vectors of their base, Gibbs updates on numbered coordinates; the others are variants.
INDEPENDENCE, LADDER = kernels.independence_auxiliary(ESTIMATOR), [0.0, 0.5, 1.0]
WALK = kernels.random_walk_metropolis(log_normal, 0.5, DIM)
on_slice = partial(kernels.slice_position, ESTIMATOR, 0.5, DIM)
estimated_walk = partial(kernels.pseudo_marginal_method, "apm_mi_mh", ESTIMATOR, dim=DIM)
tempered_steps = partial(kernels.tempered_nuts, BRIDGE, inverse_mass=jnp.ones(DIM + 1))
VECTORS = {
    "annealed_importance_sampling": (BRIDGE, LADDER, 0.1, 2),
    "auxiliary_pseudo_marginal": (ESTIMATOR, INDEPENDENCE, on_slice()),
    "auxiliary_pseudo_marginal/step out": (ESTIMATOR, INDEPENDENCE, on_slice(3)),
    "batch_adaptation/pseudo-marginal": (estimated_walk, 0.5, 3, 2),
    "block_summaries": (WALK, 3, lambda state, _: state.position, jnp.mean),
    "continuously_tempered_hmc": (BRIDGE, 0.1, 2),
    "dual_averaging/tempered": (tempered_steps, 0.5, 10),
    "gibbs": (kernels.spin_blocks(lambda spins: spins, DIM), kernels.systematic_scan([0, 1])),
    "gibbs_continuous_tempering": (BRIDGE, 0.1, 2),
    "linear_slice/step out": (log_bimodal, 0.4, DIM, 3),
    "plateau_tempered_hmc": (BRIDGE, 0.1, 2, (0.5, 2.0)),
    "simulated_tempering": (BRIDGE, LADDER, 0.1, 2),
    "slice_kernel": (
        log_normal,
        lambda key: draw_line(key, DIM, 0),
        lambda noise, current: shrink_line(
            noise, 1.0, current, lambda x: Candidate(x, log_normal(x)), 0, MAX_PASSES
        ),
    ),
    "tempered_nuts": (BRIDGE, 0.1, jnp.ones(DIM + 1)),
    **{f"pseudo_marginal_method/{name}": (name, ESTIMATOR, 1.0, DIM) for name in METHODS},
}
KERNELS = {name: partial(made, name, of(as_it_is, as_it_is), dim=DIM) for name, of in SIZED.items()}
KERNELS |= {name: partial(made, name, of(as_it_is, as_it_is)) for name, of in OTHERS.items()}
KERNELS |= {name: partial(made, name, arguments) for name, arguments in VECTORS.items()}
KERNELS |= {
    "elliptical_slice/cholesky": lambda: kernels.elliptical_slice(
        log_bimodal, jnp.array([[1.0, 0.0], [0.5, 0.8]])
    ),
    "linear_slice/doubling": lambda: kernels.linear_slice(log_bimodal, 0.1, DIM, max_doublings=5),
    "simulated_tempering/random walk": lambda: kernels.simulated_tempering(
        BRIDGE, LADDER, 0.1, 2, index_update="random_walk"
    ),
}
KERNELS |= {
    f"{name}/{integrator}, {refreshment}": partial(
        getattr(kernels, name), BRIDGE, 0.4, 3, integrator=integrator, refreshment=refreshment
    )
    for name in ("gibbs_continuous_tempering", "continuously_tempered_hmc")
    for integrator in INTEGRATORS
    for refreshment in (1.0, 0.6)
}

N_CHAINS = 4
# One kernel of each family is compiled by the fast tests; what holds for those of one family is the same code.
FAST = {
    *("random_walk_metropolis", "batch_adaptation", "gibbs", "hmc", "linear_slice"),
    *("constrained_hmc", "annealed_importance_sampling", "pseudo_marginal_method"),
}
# Kernels whose log density, or estimate, is a function of the position, and of the auxiliary variables, alone.
ESTIMATED = [name for name in KERNELS if any(word in name for word in ("pseudo", "_position"))]
DENSITIES = [
    *("random_walk_metropolis", "metropolis_independence", "involution_metropolis"),
    *("elliptical_slice", "elliptical_slice/cholesky", "blocked_elliptical_slice", "directed_slice"),
    *("linear_slice", "linear_slice/step out", "linear_slice/doubling", "reflective_slice", "slice_kernel"),
    *("hmc", "persistent_hmc", "mala", "riemannian_hmc"),
]
NEED_KEYS = ("pseudo", "_position", "persistent", "stochastic", "continuous", "plateau", "simulated_temp")


def compiled(names, fast=FAST):
    """Names as parameters, of which most are slow."""
    return [pytest.param(name, marks=[pytest.mark.slow] * (name not in fast)) for name in names]


@cache
def kernel_of(name):
    return KERNELS[name]()


@cache
def many(name):
    return jax.jit(jax.vmap(kernel_of(name).step))


def starts(name):
    """Keys of a step and states of some chains."""
    init = jax.jit(jax.vmap(lambda key: kernel_of(name).init(VECTOR, key=key)))
    of_starts, of_steps = (jax.random.split(jax.random.key(seed), N_CHAINS) for seed in (1, 2))
    return of_steps, init(of_starts)


def shapes(tree):
    return jax.tree.map(lambda leaf: (leaf.shape, leaf.dtype), tree)


assert_same = partial(jax.tree.map, np.testing.assert_array_equal)
assert_close = partial(jax.tree.map, partial(np.testing.assert_allclose, rtol=1e-11, atol=1e-12))


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_starts_from_a_position_and_keeps_shapes_and_dtypes(name):
    kernel = kernel_of(name)
    position, *further = inspect.signature(kernel.init).parameters.values()
    assert position.name == "position"
    assert all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in further)

    def init(key, position):
        state = kernel.init(position, key=key)
        return state, getattr(state, "inner", state).position

    start, placed = jax.eval_shape(init, jax.random.key(0), VECTOR)
    assert shapes(placed) == shapes(VECTOR)
    if any(word in name for word in NEED_KEYS):
        with pytest.raises(TypeError, match=r"init needs key=jax.random.key\(...\)"):
            kernel.init(VECTOR)
    else:
        assert shapes(jax.eval_shape(kernel.init, VECTOR)) == shapes(start)
    end, info = jax.eval_shape(kernel.step, jax.random.key(1), start)
    assert shapes(end) == shapes(start)
    assert {leaf.dtype for leaf in jax.tree.leaves(info)} <= {jnp.dtype(t) for t in (bool, "int32", float)}


@pytest.mark.parametrize("name", KERNELS)
def test_numbers_drawn_for_many_steps_at_once_are_those_of_single_steps(name):
    draw = kernel_of(name).draw
    keys = jax.random.split(jax.random.key(3), 4)
    alone = jax.tree.map(lambda leaf: leaf[2], jax.vmap(draw)(keys))
    assert jax.tree.all(jax.tree.map(jnp.array_equal, alone, draw(keys[2])))


@pytest.mark.parametrize("name", compiled(KERNELS))
def test_compiled_chains_side_by_side_do_what_single_chains_do(name):
    """The same key makes the same step, another key another one."""
    keys, states = starts(name)
    together = many(name)(keys, states)
    assert_same(together, many(name)(keys, states))
    single = jax.jit(kernel_of(name).step)
    for i in (0, 3):
        of_chain = partial(jax.tree.map, lambda leaf, i=i: leaf[i])
        assert_close(of_chain(together), single(keys[i], of_chain(states)))
    other, _ = many(name)(keys[::-1], states)
    leaves = zip(jax.tree.leaves(together[0]), jax.tree.leaves(other), strict=True)
    assert name == "involution_metropolis" or any(not np.array_equal(a, b) for a, b in leaves)


@pytest.mark.parametrize("name", compiled(DENSITIES + ESTIMATED))
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
    "random_walk": lambda scale: kernels.random_walk_metropolis(log_normal, scale, DIM),
    "hmc": lambda scale: kernels.hmc(log_normal, scale, (2, 6), DIM),
    "linear": lambda scale: kernels.linear_slice(log_normal, scale, DIM),
    "apm_mi_ss": lambda scale: kernels.pseudo_marginal_method("apm_mi_ss", ESTIMATOR, scale, DIM),
}


@pytest.mark.parametrize("name", SCALED)
def test_compiled_steps_agree_with_interpreted_ones_and_scales_may_be_traced_and_batched(name):
    def step(scale):
        kernel = SCALED[name](scale)
        return kernel.step(jax.random.key(3), kernel.init(VECTOR, key=jax.random.key(0)))

    scales = jnp.array([0.01, 0.02])
    together = jax.jit(jax.vmap(step))(scales)
    assert_close(jax.tree.map(lambda leaf: leaf[1], together), step(scales[1]))
    assert not np.array_equal(*together[0].position)


# --- positions that are pytrees -------------------------------------------------------------------------

FAST_ON_TREES = ("hmc", "metropolis_position", "constrained_hmc")


def leaves_of_steps(kernel, position):
    """Positions, and what else states and infos have, of a few steps; and the structure of the last position."""

    def run(position):
        start = kernel.init(position, key=jax.random.key(1))
        return chain(kernel, start, jax.random.split(jax.random.key(2), 3))

    end, kept = jax.jit(run)(position)
    return jax.tree.structure(getattr(end, "inner", end).position), jax.tree.leaves(kept)


def flat(leaves):
    return np.concatenate([np.asarray(leaf, float).reshape(len(leaf), -1) for leaf in leaves], axis=1)


def test_every_kernel_is_listed():
    public = {name: getattr(kernels, name) for name in kernels.__all__ if name[0].islower()}
    returned = {name: inspect.signature(function).return_annotation for name, function in public.items()}
    assert {name for name, kind in returned.items() if kind is base.Kernel} <= KERNELS.keys()


@pytest.mark.parametrize("name", compiled(SIZED | OTHERS, FAST_ON_TREES))
def test_a_dictionary_moves_as_the_vector_of_its_leaves(name):
    arguments = (SIZED | OTHERS)[name]
    sized = {"dim": DIM} if name in SIZED else {}
    _, expected = leaves_of_steps(made(name, arguments(on_vector, as_it_is), **sized), VECTOR)
    structure, found = leaves_of_steps(made(name, arguments(on_tree, UNRAVEL)), TREE)
    assert structure == jax.tree.structure(TREE)
    np.testing.assert_array_equal(flat(found), flat(expected))


def test_random_numbers_are_drawn_ahead_where_the_dimension_is_known():
    key = jax.random.key(3)
    told = kernels.hmc(on_tree(log_normal), 0.5, (2, 4), DIM)
    assert_same(told.draw(key), kernels.hmc(log_normal, 0.5, (2, 4), DIM).draw(key))
    assert kernels.hmc(on_tree(log_normal), 0.5, (2, 4)).draw(key) is key


def test_a_vector_runs_the_program_of_the_kernel_itself():
    key, state = jax.random.key(0), kernels.hmc(log_normal, 0.5, 2, DIM).init(VECTOR)
    wrapped = kernels.hmc(log_normal, 0.5, 2, DIM).step
    bare = kernels.hmc.__wrapped__(log_normal, 0.5, 2, DIM).step
    assert str(jax.make_jaxpr(wrapped)(key, state)) == str(jax.make_jaxpr(bare)(key, state))


@pytest.mark.parametrize("name", SIZED)
def test_an_impossible_dimension_is_rejected(name):
    with pytest.raises(ValueError, match="dim must be an integer, at least 1, got 0"):
        made(name, SIZED[name](as_it_is, as_it_is), dim=0)


def test_missing_arguments_are_named_before_there_is_a_position():
    assert base.FROM_POSITION < 0
    with pytest.raises(TypeError, match=r"hmc\(\) missing a required argument: 'n_steps'"):
        kernels.hmc(log_normal, 0.1)
