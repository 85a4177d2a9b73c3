"""The bracket loop and the slice kernels built on it."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auxmc.kernels.slices.core import MAX_PASSES, Candidate, SliceState, shrink_bracket
from auxmc.kernels.slices.elliptical_slice import elliptical_slice, shrink_ellipse
from auxmc.kernels.slices.linear_slice import draw_line, linear_slice, shrink_line
from auxmc.kernels.slices.reflective_slice import reflect, reflective_slice
from tests.unit.kernels.toys import log_bimodal, log_normal

EXAMPLES = settings(max_examples=200, deadline=None)
SEEDS = st.integers(0, 2**31 - 1)
INSIDE = st.floats(0.01, 0.99)
KINDS = ("elliptical", "linear", "linear_step_out", "reflective")


def _kernel(kind, log_density, **options):
    dim = options.pop("dim", 1)
    if kind == "elliptical":
        return elliptical_slice(log_density, dim=dim, **options)
    if kind == "reflective":
        return reflective_slice(log_density, dim, **options)
    return linear_slice(log_density, 1.5, dim, 3 if kind == "linear_step_out" else 0, **options)


@cache
def _bimodal_step(kind):
    kernel = _kernel(kind, lambda x: log_bimodal(4.0 * x - 2.0))
    return jax.jit(
        lambda seed, x: (
            kernel.init(jax.random.key(0), x),
            *kernel.step(jax.random.key(seed), kernel.init(jax.random.key(0), x)),
        )
    )


@pytest.mark.parametrize("kind", KINDS)
@EXAMPLES
@given(seed=SEEDS, place=INSIDE)
def test_current_point_stays_in_the_bracket_and_the_new_point_is_on_the_slice(kind, seed, place):
    start, state, info = _bimodal_step(kind)(seed, jnp.array([place]))
    assert float(info.lower) <= 0.0 <= float(info.upper)
    assert float(info.lower) <= float(info.offset) <= float(info.upper)
    assert float(state.log_density) > float(info.log_height)
    assert float(info.log_height) < float(start.log_density)
    assert int(info.n_evaluations) >= 1
    assert int(info.n_collapsed) == 0
    if kind == "elliptical":
        assert float(info.upper) - float(info.lower) <= 2.0 * np.pi + 1e-12
    if kind == "linear_step_out":
        assert float(info.upper) - float(info.lower) <= 4 * 1.5 + 1e-12
    if kind == "reflective":
        assert np.all((np.asarray(state.position) >= 0.0) & (np.asarray(state.position) <= 1.0))


@cache
def _truncated():
    def shrink(max_passes, seed, edge):
        current = Candidate(jnp.array([0.3]), jnp.zeros(()))
        noise = draw_line(jax.random.key(seed), 1)
        noise = noise._replace(direction=jnp.array([1.0]))

        def evaluate(point):
            return Candidate(point, jnp.where(jnp.abs(point[0] - 0.3) < edge, 0.0, -jnp.inf))

        return shrink_line(noise, 1.0, current, evaluate, max_passes=max_passes)

    return jax.jit(jax.vmap(shrink, in_axes=(None, 0, 0)))


def test_every_shrink_keeps_the_current_point_and_never_grows_the_bracket():
    seeds, edges = jnp.arange(300), jnp.exp(-jnp.linspace(0.0, 8.0, 300))
    before = _truncated()(jnp.asarray(1), seeds, edges).info
    for n_passes in range(2, 7):
        after = _truncated()(jnp.asarray(n_passes), seeds, edges).info
        assert np.all((after.lower >= before.lower) & (after.upper <= before.upper))
        assert np.all((after.lower <= 0.0) & (after.upper >= 0.0))
        assert np.all(after.n_evaluations <= n_passes)
        still_looking = np.asarray(before.n_collapsed == 1)
        width_before, width_after = before.upper - before.lower, after.upper - after.lower
        spent_on_a_miss = still_looking & np.asarray(after.n_collapsed == 1)
        assert np.all(width_after[spent_on_a_miss] < width_before[spent_on_a_miss])
        before = after


@pytest.mark.parametrize("kind", KINDS)
def test_evaluations_reported_are_evaluations_made(kind):
    calls = []

    def counted(position):
        jax.debug.callback(lambda: calls.append(1))
        return log_bimodal(4.0 * position - 2.0)

    kernel = _kernel(kind, counted)
    step = jax.jit(kernel.step)
    state = SliceState(jnp.array([0.3]), log_bimodal(jnp.array([-0.8])))
    for seed in range(20):
        calls.clear()
        _, info = step(jax.random.key(seed), state)
        jax.effects_barrier()
        assert int(info.n_evaluations) == len(calls)


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_that_rejects_everything_is_flagged_and_the_state_kept(kind):
    kernel = _kernel(kind, lambda position: jnp.full((), -jnp.inf), dim=2)
    start = SliceState(jnp.array([0.25, 0.75]), jnp.zeros(()))
    state, info = kernel.step(jax.random.key(3), start)
    assert int(info.n_collapsed) == 1
    assert float(info.offset) == 0.0
    assert 1 < int(info.n_evaluations) <= MAX_PASSES
    np.testing.assert_array_equal(state.position, start.position)
    assert float(state.log_density) == 0.0


@pytest.mark.parametrize("kind", KINDS)
def test_points_without_finite_density_are_off_the_slice(kind):
    def step(value, key):
        kernel = _kernel(kind, lambda x: jnp.where(jnp.abs(x[0] - 0.5) < 0.25, 0.0, value))
        return kernel.step(key, SliceState(jnp.full(1, 0.5), jnp.zeros(())))

    values = jnp.repeat(jnp.array([jnp.nan, -jnp.inf, jnp.inf]), 50)
    states, infos = jax.jit(jax.vmap(step))(values, jax.random.split(jax.random.key(1), 150))
    assert np.all(np.abs(np.asarray(states.position) - 0.5) < 0.25)
    assert np.all(np.max(np.asarray(infos.n_evaluations).reshape(3, 50), axis=1) > 1)
    np.testing.assert_array_equal(infos.n_collapsed, 0)


def test_a_point_exactly_at_the_slice_height_is_off_the_slice():
    current = Candidate(jnp.zeros(1), jnp.ones(()))
    zero = jnp.zeros(())

    def evaluate(offset):
        return Candidate(offset[None], jnp.where(offset > 0.5, 0.0, 0.25))

    shrunk = shrink_bracket(
        jax.random.key(0), evaluate, current, zero, jnp.array(0.9), jnp.array(-0.1), jnp.array(0.9)
    )
    assert int(shrunk.info.n_evaluations) > 1
    assert float(shrunk.candidate.log_density) == 0.25


def test_the_loop_gives_up_after_one_thousand_passes_and_says_so():
    """At the origin the bracket can shrink far beyond the spacing of ordinary numbers without collapsing."""
    current = Candidate(jnp.zeros(1), jnp.zeros(()), work=jnp.zeros((), jnp.int32))

    def evaluate(offset):
        point = (jnp.sign(offset) + offset)[None]
        return Candidate(point, jnp.full((), -jnp.inf), work=jnp.ones((), jnp.int32))

    ends = jnp.array([-0.5, 0.5])
    shrunk = jax.jit(
        lambda key: shrink_bracket(key, evaluate, current, jnp.array(-1.0), ends[1], ends[0], ends[1])
    )(jax.random.key(0))
    assert MAX_PASSES == 1000
    assert int(shrunk.info.n_evaluations) == MAX_PASSES
    assert int(shrunk.candidate.work) == MAX_PASSES
    assert int(shrunk.info.n_collapsed) == 1
    assert not bool(shrunk.moved)
    np.testing.assert_array_equal(shrunk.candidate.point, 0.0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_cap_is_respected_by_every_kernel(kind):
    kernel = _kernel(kind, lambda x: jnp.where(x[0] == 0.5, 0.0, -jnp.inf), max_passes=7)
    _, info = kernel.step(jax.random.key(0), kernel.init(jax.random.key(0), jnp.array([0.5])))
    assert int(info.n_collapsed) == 1
    assert int(info.n_evaluations) <= 7 + 2
    assert int(info.n_evaluations) >= 7


@EXAMPLES
@given(seed=SEEDS, n_lower=st.integers(0, 3))
def test_step_outs_stop_at_the_budget_of_each_end(seed, n_lower):
    shrunk, noise = _flat_line(seed, jnp.asarray(n_lower, jnp.int32))
    lower = -0.5 * float(noise.bracket_uniform) - 0.5 * n_lower
    assert float(shrunk.info.lower) == pytest.approx(lower, abs=1e-12)
    assert float(shrunk.info.upper) == pytest.approx(lower + 2.0, abs=1e-12)
    assert int(shrunk.info.n_evaluations) == 3 + 1


@jax.jit
def _flat_line(seed, n_lower):
    noise = draw_line(jax.random.key(seed), 2, 3)._replace(n_lower=n_lower)
    current = Candidate(jnp.zeros(2), jnp.zeros(()))
    return shrink_line(noise, 0.5, current, lambda x: Candidate(x, jnp.zeros(())), 3), noise


def test_step_outs_stop_at_the_edge_of_the_slice():
    kernel = linear_slice(lambda x: jnp.where(jnp.abs(x[0]) < 0.6, 0.0, -jnp.inf), 0.5, 1, 50)
    start = kernel.init(jax.random.key(0), jnp.zeros(1))
    keys = jax.random.split(jax.random.key(5), 200)
    states, infos = jax.jit(jax.vmap(lambda key: kernel.step(key, start)))(keys)
    assert np.all(np.abs(np.asarray(states.position)) < 0.6)
    assert np.all(infos.upper - infos.lower <= 1.2 + 2 * 0.5)


def test_a_gaussian_target_is_accepted_at_the_first_angle():
    """With a constant likelihood the slice is the whole ellipse."""
    kernel = elliptical_slice(lambda _: jnp.zeros(()), jnp.array([[2.0, 0.0], [1.0, 0.5]]))
    noise = kernel.draw(jax.random.key(0))
    state, info = kernel.apply(noise, kernel.init(jax.random.key(0), jnp.array([1.0, -1.0])))
    assert int(info.n_evaluations) == 1
    expected = np.array([1.0, -1.0]) * np.cos(noise.angle) + np.asarray(noise.direction) * np.sin(noise.angle)
    np.testing.assert_allclose(state.position, expected, rtol=1e-14)


@EXAMPLES
@given(seed=SEEDS)
def test_the_ellipse_turns_all_elements_by_one_angle_and_keeps_the_radius(seed):
    point, direction, new, angle = _ellipse(seed)
    # The point a quarter turn further completes the rotation of the pair (u, v).
    partner = direction * np.cos(angle) - point * np.sin(angle)
    np.testing.assert_allclose(new**2 + partner**2, point**2 + direction**2, rtol=1e-12)


@jax.jit
def _ellipse(seed):
    key = jax.random.key(seed)
    kernel = elliptical_slice(lambda u: log_normal(u - 2.0), dim=6)
    noise = kernel.draw(key)
    point = jax.random.normal(jax.random.fold_in(key, 99), (2, 3))
    noise = noise._replace(direction=noise.direction.reshape(2, 3))
    evaluate = lambda u: Candidate(u, log_normal(u - 2.0))
    shrunk = shrink_ellipse(noise, evaluate(point), evaluate)
    return point, noise.direction, shrunk.candidate.point, shrunk.info.offset


@EXAMPLES
@given(place=st.floats(-50.0, 50.0))
def test_reflection_is_an_even_wave_of_period_two(place):
    folded = float(reflect(jnp.array(place)))
    assert 0.0 <= folded <= 1.0
    # arccos(cos) is the same triangular wave by another route.
    assert folded == pytest.approx(np.arccos(np.cos(np.pi * place)) / np.pi, abs=1e-6)


def test_line_directions_have_unit_length_unless_asked_otherwise():
    keys = jax.random.split(jax.random.key(0), 100)
    unit = jax.vmap(lambda key: draw_line(key, 5).direction)(keys)
    np.testing.assert_allclose(np.linalg.norm(unit, axis=1), 1.0, rtol=1e-14)
    free = jax.vmap(lambda key: draw_line(key, 5, unit_length=False).direction)(keys)
    assert np.std(np.linalg.norm(free, axis=1)) > 0.1
