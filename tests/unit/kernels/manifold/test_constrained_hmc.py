"""Geometry of the constrained integrator, distributions on manifolds that are known exactly, and its failures."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from auxmc.kernels.manifold.constrained_hmc import (
    Phase,
    constrained_hmc,
    constrained_step,
    hamiltonian,
    no_errors,
    project_momentum,
)
from auxmc.kernels.manifold.constrained_nuts import constrained_nuts
from auxmc.kernels.manifold.projection import SOLVERS, ProjectionSettings, project
from auxmc.models.conditioned import condition_generator, condition_noisy_generator, noisy_input
from tests.unit.kernels.toys import chain, log_normal


def sphere(u):
    return jnp.sum(jnp.square(u), keepdims=True)


def hyperbola(u):
    return jnp.array([u[0] ** 2 - u[1] ** 2])


def torus(u):
    return jnp.array([(jnp.sqrt(u[0] ** 2 + u[1] ** 2) - 1.0) ** 2 + u[2] ** 2])


TORUS = condition_generator(torus, lambda u: log_normal(u) - 0.1 * jnp.sum(u**4), jnp.array([0.16]))
HYPERBOLA = condition_generator(hyperbola, log_normal, jnp.ones(1))
NOISY = condition_noisy_generator(hyperbola, log_normal, jnp.ones(1), 1.0)
STARTS = {
    "torus": (TORUS, jnp.array([1.0, 0.0, 0.4])),
    "noisy": (NOISY, noisy_input(hyperbola, jnp.array([0.3, 0.2]), jnp.ones(1), 1.0)),
}


def phase_at(model, position, seed):
    state = constrained_hmc(model, 0.1, (1, 1), len(position)).init(position)
    momentum = project_momentum(state.jacobian, jax.random.normal(jax.random.key(seed), position.shape))
    return Phase(state, momentum, jnp.ones((), bool), no_errors())


def steps(model, phase, dt, n, n_inner=1):
    options = dt, n_inner, ProjectionSettings(), "position_and_constraint"
    return jax.lax.fori_loop(0, n, lambda _, phase: constrained_step(model, phase, *options), phase)


@pytest.mark.parametrize(("name", "n_inner"), [("noisy", 2), ("torus", 1)])
def test_trajectories_stay_on_the_manifold_and_can_be_reversed(name, n_inner):
    model, position = STARTS[name]
    go = jax.jit(lambda p: steps(model, p, 0.05, 20, n_inner))
    for seed in range(2):
        begin = phase_at(model, position, seed)
        end = go(begin)
        assert end.ok
        np.testing.assert_allclose(model.constraint(end.state.position), 0.0, atol=1e-8)
        np.testing.assert_allclose(end.state.jacobian.times(end.momentum), 0.0, atol=1e-8)
        back = go(end._replace(momentum=-end.momentum))
        assert back.ok
        np.testing.assert_allclose(back.state.position, position, atol=1e-6)
        np.testing.assert_allclose(-back.momentum, begin.momentum, atol=1e-6)
        assert float(jnp.max(jnp.abs(end.state.position - position))) > 0.05


def test_the_number_of_sub_steps_may_be_traced():
    model, position = STARTS["noisy"]

    def moved(n_inner):
        kernel = constrained_hmc(model, 0.3, (2, 2), len(position), n_inner_steps=n_inner)
        return kernel.step(jax.random.key(3), kernel.init(position))[0].position

    traced = jax.jit(moved)
    one, three = (traced(jnp.asarray(n)) for n in (1, 3))
    np.testing.assert_allclose(three, jax.jit(lambda: moved(3))(), rtol=1e-9)
    assert float(jnp.max(jnp.abs(one - three))) > 1e-6


def test_energy_error_is_of_second_order_in_the_step():
    model, position = STARTS["torus"]
    begin = phase_at(model, position, 7)
    step = jax.jit(lambda phase, dt: steps(model, phase, dt, 1))

    def largest(dt):
        phase, worst = begin, 0.0
        for _ in range(round(1.6 / dt)):
            phase = step(phase, dt)
            worst = max(worst, abs(float(hamiltonian(phase) - hamiltonian(begin))))
        assert phase.ok
        return worst

    sizes = np.array([0.1, 0.05, 0.025])
    slope = np.polyfit(np.log(sizes), np.log([largest(dt) for dt in sizes]), 1)[0]
    assert 1.8 < slope < 2.2


@pytest.mark.parametrize("n_inner", [1, 5])
def test_free_motion_on_the_sphere_takes_the_same_time_in_any_number_of_sub_steps(n_inner):
    """A great circle: a sub-step of size h turns by the angle whose sine is h times the speed."""
    model = condition_generator(sphere, lambda u: 0.0 * jnp.sum(u), jnp.ones(1))
    start, momentum = jnp.array([1.0, 0.0, 0.0]), jnp.array([0.0, 0.6, 0.8])
    begin = phase_at(model, start, 0)._replace(momentum=momentum)
    end = jax.jit(lambda p: steps(model, p, 0.05, 20, n_inner))(begin)
    angle = 20 * n_inner * np.arcsin(0.05 / n_inner)
    expected = np.cos(angle) * start + np.sin(angle) * momentum
    np.testing.assert_allclose(end.state.position, expected, atol=1e-7)
    np.testing.assert_allclose(jnp.linalg.norm(end.momentum), 1.0, atol=1e-7)


def test_every_solver_finds_a_point_on_the_manifold_along_the_normals_and_newton_needs_fewer_iterations():
    model = condition_generator(sphere, log_normal, jnp.ones(1))
    jacobian = model.jacobian(jnp.array([0.6, 0.0, 0.8]))
    normal_direction = np.asarray(jacobian.matrix[0])
    n_iterations = []
    for solver in SOLVERS:
        found = project(model, jnp.array([0.6, 0.5, 0.8]), jacobian, ProjectionSettings(solver, None))
        assert found.converged
        np.testing.assert_allclose(model.constraint(found.position), 0.0, atol=1e-8)
        along = np.asarray(found.displacement) / np.linalg.norm(found.displacement)
        assert abs(abs(along @ normal_direction) / np.linalg.norm(normal_direction) - 1.0) < 1e-10
        n_iterations.append(int(found.n_iterations))
    assert n_iterations[1] < n_iterations[0] > n_iterations[2]


@pytest.mark.parametrize(
    ("curve", "start", "alone", "helped", "n_fallback"),
    [
        (lambda u: u + u**3, 2.0, ("quasi_newton", None), (), 1),
        # Newton's steps on an arc tangent grow without end from beyond 1.39; half or a quarter of the first leads back.
        (jnp.arctan, 3.0, ("newton", None), ("newton_line_search", None), 0),
    ],
    ids=["fallback", "halved steps"],
)
def test_one_solver_is_helped_by_another_or_by_shorter_steps(curve, start, alone, helped, n_fallback):
    model = condition_generator(lambda u: curve(u[:1]) + 0.0 * u[1:2], log_normal, jnp.zeros(1))
    solve = partial(project, model, jnp.array([start, 0.0]), model.jacobian(jnp.zeros(2)))
    lost, found = (solve(ProjectionSettings(*settings)) for settings in (alone, helped))
    assert not lost.converged
    assert found.converged
    assert (int(lost.n_fallback), int(found.n_fallback)) == (0, n_fallback)
    np.testing.assert_allclose(found.position, [0.0, 0.0], atol=1e-8)


@pytest.mark.slow
def test_the_compiled_fallback_solves_at_least_what_the_hybrid_method_of_minpack_solves():
    """The published program falls back on Powell's hybrid method, here with the Jacobian the right way round."""
    first, last = (jnp.asarray(np.random.default_rng(5).normal(size=shape)) for shape in ((5, 5), (3, 5)))
    point = jnp.asarray(np.random.default_rng(6).normal(size=5))
    network = lambda u: last @ jnp.tanh(first @ u) + 0.3 * u[:3]
    model = condition_generator(network, log_normal, network(point))
    jacobian = model.jacobian(point)
    matrix = np.asarray(jacobian.matrix)
    constraint, derivative = jax.jit(model.constraint), jax.jit(jax.jacobian(model.constraint))
    settings = ProjectionSettings("newton_line_search", None)
    ours = jax.jit(lambda start: project(model, start, jacobian, settings).converged)

    def theirs(start):
        residual = lambda x: np.asarray(constraint(start - matrix.T @ x))
        slope = lambda x: -np.asarray(derivative(start - matrix.T @ x)) @ matrix.T
        options = {"xtol": 1e-8, "maxfev": 100}
        found = optimize.root(residual, np.zeros(3), jac=slope, method="hybr", options=options)
        return found.success and np.abs(found.fun).max() < settings.tolerance

    starts = np.asarray(point) + 1.5 * np.random.default_rng(7).normal(size=(60, 5))
    n_ours, n_theirs = (sum(bool(solved(start)) for start in starts) for solved in (ours, theirs))
    assert n_theirs > 10
    assert n_ours >= 0.9 * n_theirs


def _run(model, position, step_size, **options):
    kernel = constrained_hmc(model, step_size, (2, 4), len(position), **options)
    keys = jax.random.split(jax.random.key(1), 200)
    states, infos = jax.jit(lambda keys: chain(kernel, kernel.init(position), keys)[1])(keys)
    return np.asarray(states.position), infos


def test_failures_are_counted_and_leave_the_state_as_it_was():
    unsolvable = ProjectionSettings("quasi_newton", None, max_iterations=1)
    kernel = constrained_hmc(TORUS, 0.5, (3, 3), 3, projection=unsolvable)
    state = kernel.init(jnp.array([1.0, 0.0, 0.4]))
    new, info = kernel.step(jax.random.key(0), state)
    assert not info.is_accepted
    assert float(info.acceptance_rate) == 0.0
    assert int(info.errors.n_not_converged) == 1
    assert int(info.errors.n_projections) == 2, "a trajectory ends at its first error"
    jax.tree.map(np.testing.assert_array_equal, new, state)


def test_irreversible_sub_steps_are_noticed_unless_the_check_is_left_out():
    """Without it half the projections are made."""
    start, newton = jnp.array([1.0, 0.0, 0.4]), ProjectionSettings("newton")
    for options, n_a_step in (({}, 2), ({"reversibility_check": "none"}, 1)):
        _, infos = _run(TORUS, start, 0.8, projection=newton, **options)
        errors, accepted = infos.errors, np.asarray(infos.is_accepted)
        assert (int(np.sum(errors.n_irreversible)) > 0) == (n_a_step == 2)
        assert (errors.n_projections[accepted] == n_a_step * infos.num_integration_steps[accepted]).all()
        # The counts of failures come first.
        failed = sum(np.asarray(count) for count in errors[:5])
        assert not (accepted & (failed > 0)).any()


def test_a_singular_gram_matrix_is_a_counted_rejection():
    twice = condition_generator(lambda u: jnp.array([u[0], u[0]]), log_normal, jnp.zeros(2))
    kernel = constrained_hmc(twice, 0.1, (1, 1), 3)
    _, info = kernel.step(jax.random.key(0), kernel.init(jnp.zeros(3)))
    assert not info.is_accepted
    assert int(info.errors.n_singular + info.errors.n_not_converged) == 1


def test_one_branch_is_never_left_and_the_noisy_model_connects_both():
    alone, infos = _run(HYPERBOLA, jnp.array([1.0, 0.0]), 0.4)
    assert (alone[:, 0] > 0.0).all()
    assert np.asarray(infos.is_accepted).mean() > 0.5
    both, _ = _run(NOISY, STARTS["noisy"][1], 0.4)
    assert np.count_nonzero(np.diff(np.sign(both[:, 0]))) > 3


PLANE = condition_generator(lambda u: jnp.array([u[0] + 2.0 * u[1] - u[2]]), log_normal, jnp.array([0.6]))
CENTRE = jnp.array([0.1, 0.2, -0.1])
ACROSS = jnp.array([[1.0, 0.0, 1.0], [1.0, -1.0, -1.0]]) / jnp.sqrt(jnp.array([[2.0], [3.0]]))


def test_a_trajectory_doubles_until_it_is_longer_than_half_a_circle():
    """Normal inputs on a plane, with as much momentum as distance, go round its centre once in a time of 2 pi."""
    kernel = constrained_nuts(PLANE, 0.05, 3)
    begin = kernel.init(CENTRE + 1.5 * ACROSS[0])

    def made(key):
        noise = kernel.draw(key)._replace(normal=1.5 * ACROSS[1])
        return kernel.apply(noise, begin)[1].num_integration_steps

    found = jax.jit(jax.vmap(made))(jax.random.split(jax.random.key(3), 20))
    np.testing.assert_array_equal(found, 63)
