"""Every kernel of the package takes a pytree of arrays as position, and does with it what it does with a vector."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from auxmc import kernels
from auxmc.kernels import base
from tests.unit.kernels.toys import DIM, latent_estimator, log_bimodal, log_normal

VECTOR = jnp.array([0.6, 0.8])
TREE = {"a": VECTOR[0], "b": VECTOR[1:]}
UNRAVEL = ravel_pytree(TREE)[1]


def on_tree(function):
    """A function of a vector as one of a dictionary."""
    return lambda tree, *more: function(ravel_pytree(tree)[0], *more)


def on_vector(function):
    """The same, of a vector again: its program is that of `on_tree`."""
    return lambda vector, *more: on_tree(function)(UNRAVEL(vector), *more)


def normals(key):
    return jax.random.normal(key, (DIM,))


def estimator(on):
    found = latent_estimator()
    return found._replace(prepare=on(found.prepare))


def circle(on):
    squares = on(lambda u: jnp.sum(jnp.square(u), keepdims=True))
    return kernels.condition_generator(squares, on(log_normal), jnp.ones(1))


def apm(on, position_update):
    model = estimator(on)
    return kernels.auxiliary_pseudo_marginal(
        model, kernels.elliptical_auxiliary(model), position_update(model)
    )


# By name: maps (how a function reads a position, how a vector becomes one, further arguments) to a kernel.
SIZED = {
    "constrained_hmc": lambda on, _, **dim: kernels.constrained_hmc(circle(on), 0.3, 2, **dim),
    "constrained_nuts": lambda on, _, **dim: kernels.constrained_nuts(circle(on), 0.3, max_depth=2, **dim),
    "correlated_pseudo_marginal": lambda on, _, **dim: kernels.correlated_pseudo_marginal(
        estimator(on), 0.5, 0.3, **dim
    ),
    "directed_slice": lambda on, _, **dim: kernels.directed_slice(
        on(log_bimodal), kernels.along_axes(DIM), 1.0, **dim
    ),
    "hmc": lambda on, _, **dim: kernels.hmc(on(log_normal), 0.5, (2, 4), **dim),
    "linear_slice": lambda on, _, **dim: kernels.linear_slice(on(log_bimodal), 1.0, **dim),
    "mala": lambda on, _, **dim: kernels.mala(on(log_normal), 0.5, **dim),
    "metropolis_position": lambda on, _, **dim: apm(
        on, lambda model: kernels.metropolis_position(model, 0.5, **dim)
    ),
    "modified_abc": lambda on, _, **dim: kernels.modified_abc(
        on(lambda p, z: p + z), on(log_normal), jnp.ones(DIM), 0.5, 0.5, **dim
    ),
    "persistent_hmc": lambda on, _, **dim: kernels.persistent_hmc(on(log_normal), 0.5, 2, 0.5, **dim),
    "pseudo_marginal_hmc": lambda on, _, **dim: kernels.pseudo_marginal_hmc(estimator(on), 0.3, 2, **dim),
    "pseudo_marginal_method": lambda on, _, **dim: kernels.pseudo_marginal_method(
        "apm_ss_ss", estimator(on), 0.5, **dim
    ),
    "pseudo_marginal_metropolis": lambda on, _, **dim: kernels.pseudo_marginal_metropolis(
        estimator(on), 0.5, **dim
    ),
    "random_walk_metropolis": lambda on, _, **dim: kernels.random_walk_metropolis(on(log_normal), 0.5, **dim),
    "reflective_slice": lambda on, _, **dim: kernels.reflective_slice(on(log_normal), **dim),
    "slice_position": lambda on, _, **dim: apm(on, lambda model: kernels.slice_position(model, 0.5, **dim)),
    "stochastic_gradient_chain": lambda on, place, **dim: kernels.stochastic_gradient_chain(
        lambda x, noise: place(on(jnp.add)(x, noise)), normals, 0.1, 0.5, **dim
    ),
    "unadjusted_langevin": lambda on, _, **dim: kernels.unadjusted_langevin(on(log_normal), 0.5, **dim),
}
OTHERS = {
    "batch_adaptation": lambda on, _: kernels.batch_adaptation(
        lambda scale: kernels.random_walk_metropolis(on(log_normal), scale), 0.5
    ),
    "blocked_elliptical_slice": lambda on, _: kernels.blocked_elliptical_slice(
        on(log_bimodal), [(0, 1), (1, 2)]
    ),
    "dual_averaging": lambda on, _: kernels.dual_averaging(
        lambda step: kernels.hmc(on(log_normal), step, 2), 0.5, 10
    ),
    "elliptical_slice": lambda on, _: kernels.elliptical_slice(on(log_bimodal), dim=DIM),
    "involution_metropolis": lambda on, place: kernels.involution_metropolis(
        on(lambda x: jnp.sum(x)), lambda x: place(on(jnp.negative)(x))
    ),
    "metropolis_independence": lambda on, place: kernels.metropolis_independence(
        on(log_normal), lambda key: place(normals(key))
    ),
    "nuts": lambda on, _: kernels.nuts(on(log_normal), 0.5, jnp.ones(DIM), 3),
    "phased": lambda on, _: kernels.phased(
        lambda step: kernels.hmc(on(log_normal), step, 2, DIM), 2, 0.1, 0.1, 3
    ),
    "simulated_annealing": lambda on, place: kernels.simulated_annealing(
        on(log_normal), normals, lambda noise, x: place(on(jnp.add)(x, noise)), [1.0, 2.0]
    ),
    "window_adaptation": lambda on, _: kernels.window_adaptation(
        lambda step, mass: kernels.hmc(on(log_normal), step, 2, inverse_mass=mass), 0.5, 20, DIM
    ),
}
# Tempered kernels are on the vectors of their base, Gibbs updates on numbered coordinates; the rest are no kernels.
VECTORS_ONLY = {
    *("annealed_importance_sampling", "continuously_tempered_hmc", "gibbs_continuous_tempering"),
    *("simulated_tempering", "tempered_nuts", "gibbs", "slice_kernel"),
}
NO_KERNELS = {
    *("Kernel", "along_axes", "along_gaussian", "along_unit_vectors", "auxiliary_pseudo_marginal", "bridge"),
    *("ancestral_lines", "backward_draws", "bootstrap_particle_filter", "crank_nicolson_auxiliary"),
    *("random_walk_auxiliary", "condition_generator", "condition_noisy_generator"),
    *("coupling_from_the_past", "curvature_moves", "elliptical_auxiliary", "estimator_of"),
    *("full_data_evidence", "gaussian_base", "gaussian_blocks", "growing_data_evidence"),
    *("independence_auxiliary", "nested_sampling", "nested_updating", "noisy_input", "particle_evidence"),
    *("permuted_scan", "random_scan", "replicated", "replicated_evidence", "running_laplace"),
    *("sequential_importance_resampling", "shrink_bracket", "spin_blocks", "stochastic_gradient_moves"),
    *("systematic_scan", "weighted_reservoirs"),
}
FAST = {
    "hmc",
    "random_walk_metropolis",
    "metropolis_position",
    "constrained_hmc",
    "stochastic_gradient_chain",
}
BY_SPEED = [pytest.param(name, marks=[pytest.mark.slow] * (name not in FAST)) for name in SIZED | OTHERS]


def leaves_of_steps(kernel, position, n_steps=3):
    """Positions, and what else states and infos have, of a few steps; and the structure of the last position."""

    def step(state, key):
        state, info = kernel.step(key, state)
        return state, (state, info)

    def run(position):
        start = kernel.init(position, key=jax.random.key(1))
        return jax.lax.scan(step, start, jax.random.split(jax.random.key(2), n_steps))

    end, kept = jax.jit(run)(position)
    return jax.tree.structure(getattr(end, "inner", end).position), jax.tree.leaves(kept)


def flat(leaves):
    return np.concatenate([np.asarray(leaf, float).reshape(len(leaf), -1) for leaf in leaves], axis=1)


def test_every_kernel_is_listed():
    lower = {name for name in kernels.__all__ if name[0].islower()} | {"Kernel"}
    assert lower == SIZED.keys() | OTHERS.keys() | VECTORS_ONLY | NO_KERNELS


@pytest.mark.parametrize("name", BY_SPEED)
def test_a_dictionary_moves_as_the_vector_of_its_leaves(name):
    make = (SIZED | OTHERS)[name]
    sized = {"dim": DIM} if name in SIZED else {}
    _, expected = leaves_of_steps(make(on_vector, lambda x: x, **sized), VECTOR)
    structure, found = leaves_of_steps(make(on_tree, UNRAVEL), TREE)
    assert structure == jax.tree.structure(TREE)
    np.testing.assert_array_equal(flat(found), flat(expected))


def test_random_numbers_are_drawn_ahead_where_the_dimension_is_known():
    key = jax.random.key(3)
    told = kernels.hmc(on_tree(log_normal), 0.5, (2, 4), DIM)
    expected = kernels.hmc(log_normal, 0.5, (2, 4), DIM).draw(key)
    jax.tree.map(np.testing.assert_array_equal, told.draw(key), expected)
    assert kernels.hmc(on_tree(log_normal), 0.5, (2, 4)).draw(key) is key


def test_a_vector_runs_the_program_of_the_kernel_itself():
    key, state = jax.random.key(0), kernels.hmc(log_normal, 0.5, 2, DIM).init(VECTOR)
    wrapped = kernels.hmc(log_normal, 0.5, 2, DIM).step
    bare = kernels.hmc.__wrapped__(log_normal, 0.5, 2, DIM).step
    assert str(jax.make_jaxpr(wrapped)(key, state)) == str(jax.make_jaxpr(bare)(key, state))


def test_wrong_arguments_are_named_before_there_is_a_position():
    assert base.FROM_POSITION < 0
    with pytest.raises(ValueError, match="1 <= low <= high, got 0"):
        kernels.hmc(log_normal, 0.1, 0)
    with pytest.raises(ValueError, match="dim must be a positive integer, got 0"):
        kernels.hmc(log_normal, 0.1, 1, 0)
    with pytest.raises(TypeError, match="missing a required argument: 'n_steps'"):
        kernels.hmc(log_normal, 0.1)
