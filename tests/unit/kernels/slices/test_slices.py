"""The bracket loop and the slice kernels built on it."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.kernels.slices.blocked_elliptical_slice import blocked_elliptical_slice
from auxmc.kernels.slices.core import MAX_PASSES, Candidate, SliceState, shrink_bracket
from auxmc.kernels.slices.directed_slice import along_axes, along_gaussian, directed_slice
from auxmc.kernels.slices.elliptical_slice import elliptical_slice
from auxmc.kernels.slices.linear_slice import draw_line, linear_slice
from auxmc.kernels.slices.reflective_slice import reflect, reflective_slice
from tests.unit.kernels.toys import log_bimodal, log_normal

KEYS = jax.random.split(jax.random.key(2), 200)
KINDS = {
    "elliptical": elliptical_slice,
    "linear": partial(linear_slice, width=1.5),
    "linear_step_out": partial(linear_slice, width=1.5, max_step_outs=3),
    "linear_doubling": partial(linear_slice, width=1.5, max_doublings=3),
    "reflective": reflective_slice,
}


@pytest.mark.parametrize("kind", KINDS)
def test_evaluations_reported_are_evaluations_made(kind):
    calls = []

    def counted(position):
        jax.debug.callback(lambda: calls.append(1))
        return log_bimodal(4.0 * position - 2.0)

    kernel = KINDS[kind](counted, dim=1)
    step = jax.jit(kernel.step)
    state = SliceState(jnp.array([0.3]), log_bimodal(jnp.array([-0.8])))
    for seed in range(20):
        calls.clear()
        _, info = step(jax.random.key(seed), state)
        jax.effects_barrier()
        assert int(info.n_evaluations) == len(calls)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cap", [7, MAX_PASSES])
def test_a_target_that_rejects_everything_is_given_up_and_the_state_kept(kind, cap):
    kernel = KINDS[kind](lambda position: jnp.full((), -jnp.inf), dim=2, max_passes=cap)
    start = SliceState(jnp.array([0.25, 0.75]), jnp.zeros(()))
    state, info = kernel.step(jax.random.key(3), start)
    assert int(info.n_collapsed) == 1
    assert float(info.offset) == 0.0
    # Step-outs are made besides.
    assert 7 <= int(info.n_evaluations) <= cap + 2
    np.testing.assert_array_equal(state.position, start.position)
    assert float(state.log_density) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_points_without_finite_density_are_off_the_slice(kind):
    def step(value, key):
        kernel = KINDS[kind](lambda x: jnp.where(jnp.abs(x[0] - 0.5) < 0.25, 0.0, value), dim=1)
        return kernel.step(key, SliceState(jnp.full(1, 0.5), jnp.zeros(())))

    values = jnp.repeat(jnp.array([jnp.nan, -jnp.inf, jnp.inf]), 50)
    states, infos = jax.jit(jax.vmap(step))(values, jax.random.split(jax.random.key(1), 150))
    assert np.all(np.abs(np.asarray(states.position) - 0.5) < 0.25)
    assert np.all(np.max(np.asarray(infos.n_evaluations).reshape(3, 50), axis=1) > 1)
    np.testing.assert_array_equal(infos.n_collapsed, 0)


def test_a_point_exactly_at_the_slice_height_is_off_the_slice():
    evaluate = lambda offset: Candidate(offset[None], jnp.where(offset > 0.5, 0.0, 0.25))
    current = Candidate(jnp.zeros(1), jnp.ones(()))
    begin, end = jnp.array([-0.1, 0.9])
    shrunk = shrink_bracket(jax.random.key(0), evaluate, current, jnp.zeros(()), end, begin, end)
    assert int(shrunk.info.n_evaluations) > 1
    assert float(shrunk.candidate.log_density) == 0.25


def test_step_outs_stop_at_the_edge_of_the_slice():
    kernel = linear_slice(lambda x: jnp.where(jnp.abs(x[0]) < 0.6, 0.0, -jnp.inf), 0.5, 1, 50)
    start = kernel.init(jnp.zeros(1))
    states, infos = jax.jit(jax.vmap(lambda key: kernel.step(key, start)))(KEYS)
    assert np.all(np.abs(np.asarray(states.position)) < 0.6)
    assert np.all(infos.upper - infos.lower <= 1.2 + 2 * 0.5)


def test_doublings_find_a_slice_that_is_orders_of_magnitude_wider_with_few_evaluations():
    wide = lambda x: jnp.where(jnp.abs(x[0]) < 1000.0, 0.0, -jnp.inf)
    kernel = linear_slice(wide, 1.0, 1, max_doublings=20)
    start = kernel.init(jnp.zeros(1))
    states, infos = jax.jit(jax.vmap(lambda key: kernel.step(key, start)))(KEYS)
    assert np.all(np.abs(np.asarray(states.position)) < 1000.0)
    assert np.mean(np.abs(np.asarray(states.position))) > 250.0
    # Ten doublings or a few more, a test of as many intervals for each proposal on the slice, and few off it.
    assert np.mean(infos.n_evaluations) < 40


def test_a_gaussian_target_is_accepted_at_the_first_angle():
    """With a constant likelihood the slice is the whole ellipse."""
    kernel = elliptical_slice(lambda _: jnp.zeros(()), jnp.array([[2.0, 0.0], [1.0, 0.5]]))
    noise = kernel.draw(jax.random.key(0))
    state, info = kernel.apply(noise, kernel.init(jnp.array([1.0, -1.0])))
    assert int(info.n_evaluations) == 1
    expected = np.array([1.0, -1.0]) * np.cos(noise.angle) + np.asarray(noise.direction) * np.sin(noise.angle)
    np.testing.assert_allclose(state.position, expected, rtol=1e-14)


def test_reflection_is_an_even_wave_of_period_two():
    """The arc cosine of a cosine is the same triangular wave by another route."""
    places = np.concatenate([np.linspace(-50.0, 50.0, 10_007), np.arange(-4.0, 5.0)])
    folded = np.asarray(reflect(jnp.asarray(places)))
    assert np.all((folded >= 0.0) & (folded <= 1.0))
    np.testing.assert_allclose(folded, np.arccos(np.cos(np.pi * places)) / np.pi, atol=1e-6)


def test_line_directions_have_unit_length_unless_asked_otherwise():
    keys = jax.random.split(jax.random.key(0), 100)
    unit = jax.vmap(lambda key: draw_line(key, 5).direction)(keys)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0, rtol=1e-14)
    free = jax.vmap(lambda key: draw_line(key, 5, unit_length=False).direction)(keys)
    assert np.std(np.linalg.norm(free, axis=1)) > 0.1


def test_gaussian_directions_are_scaled_to_unit_length_where_that_is_asked_for():
    cholesky = jnp.array([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-1.0, 0.3, 0.2]])
    long, unit = (jax.vmap(along_gaussian(cholesky, unit_length=unit))(KEYS) for unit in (False, True))
    np.testing.assert_allclose(long / np.linalg.norm(long, axis=1, keepdims=True), unit, atol=1e-13)


def test_with_the_same_numbers_it_does_what_the_plain_kernel_does():
    plain = linear_slice(log_normal, 1.2, 3, 2)
    directed = directed_slice(log_normal, along_axes(3), 1.2, 3, 2)
    given = plain.draw(jax.random.key(5)), plain.init(jnp.array([0.2, -1.0, 0.5]))
    jax.tree.map(
        np.testing.assert_array_equal, *(jax.jit(kernel.apply)(*given) for kernel in (plain, directed))
    )


DIM = 5
BLOCKS = [(2, 5), (0, 2)]


def test_blocks_are_updated_in_their_order_given_the_new_values_of_those_before():
    seen = []

    def recorded(position):
        jax.debug.callback(lambda p: seen.append(tuple(p.tolist())), position, ordered=True)
        return jnp.zeros(())

    kernel = blocked_elliptical_slice(recorded, BLOCKS)
    start = jnp.full(DIM, 0.5)
    state, _ = jax.jit(kernel.step)(jax.random.key(3), kernel.init(start))
    jax.effects_barrier()
    first, second = (np.array(point) for point in seen[-2:])
    np.testing.assert_array_equal(first[:2], start[:2])
    assert np.all(first[2:] != 0.5)
    np.testing.assert_array_equal(second[2:], first[2:])
    np.testing.assert_array_equal(second, state.position)


def test_update_without_a_point_on_the_slice_keeps_its_block_and_is_counted():
    only_here = lambda position: jnp.where(jnp.all(position == 0.5), 0.0, jnp.nan)
    kernel = blocked_elliptical_slice(only_here, BLOCKS, max_passes=5)
    start = kernel.init(jnp.full(DIM, 0.5))
    states, infos = jax.jit(jax.vmap(lambda key: kernel.step(key, start)))(KEYS[:10])
    np.testing.assert_array_equal(states.position, 0.5)
    assert np.all(infos.n_collapsed == 1)
    assert np.all(infos.n_evaluations == 5)
