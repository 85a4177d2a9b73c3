"""Elliptical slice sampling in blocks: order, conditioning, failures, and agreement with the plain kernel."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from auxmc.kernels.blocked_elliptical_slice import blocked_elliptical_slice
from auxmc.kernels.elliptical_slice import elliptical_slice

DIM = 5
BLOCKS = [(2, 5), (0, 2)]


def log_likelihood(position: Array) -> Array:
    return -0.5 * jnp.sum(jnp.square(position - jnp.arange(1.0, DIM + 1.0))) - position[0] * position[3]


def _runs(log_density: object, n: int, max_passes: int = 1000) -> tuple[object, object, object]:
    kernel = blocked_elliptical_slice(log_density, BLOCKS, max_passes=max_passes)  # type: ignore[arg-type]
    start = kernel.init(jnp.full(DIM, 0.5))
    states, infos = jax.jit(jax.vmap(lambda key: kernel.step(key, start)))(
        jax.random.split(jax.random.key(1), n)
    )
    return start, states, infos


def test_state_carries_the_log_likelihood_at_its_position() -> None:
    _, states, infos = _runs(log_likelihood, 50)
    np.testing.assert_allclose(states.log_density, jax.vmap(log_likelihood)(states.position), rtol=1e-13)
    assert infos.n_evaluations.shape == infos.n_collapsed.shape == (50, 2)
    assert int(infos.n_evaluations.min()) >= 1
    assert not np.any(infos.n_collapsed)


def test_every_block_moves_and_each_turns_by_an_angle_of_its_own() -> None:
    # A flat likelihood accepts the first point of each ellipse: v cos(a) + nu sin(a) with independent angles.
    _, states, infos = _runs(lambda position: jnp.zeros(()), 4000)
    assert np.all(infos.n_evaluations == 1)
    # Angles are uniform, so that the mean of a moved input is zero and its second moment (0.25 + 1)/2.
    moments = np.square(np.asarray(states.position)).mean(axis=0)
    np.testing.assert_allclose(moments, 0.625, atol=0.08)
    correlation = np.corrcoef(np.asarray(states.position), rowvar=False)
    # Inputs of one block share cos(a) = 0.5 cos(a) common part: covariance 0.25/2, of two blocks none.
    assert abs(correlation[0, 1] - 0.125 / 0.625) < 0.08
    assert abs(correlation[0, 3]) < 0.08


def test_blocks_are_updated_in_their_order_given_the_new_values_of_those_before() -> None:
    seen: list[tuple[float, ...]] = []

    def recorded(position: Array) -> Array:
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


def test_one_block_of_everything_has_the_law_of_the_plain_kernel() -> None:
    n = 4000
    plain = elliptical_slice(log_likelihood, dim=DIM)
    blocked = blocked_elliptical_slice(log_likelihood, [(0, DIM)])
    keys = jax.random.split(jax.random.key(5), (2, n))
    start = jnp.full(DIM, 0.5)
    means, errors = [], []
    for kernel, kernel_keys in zip((plain, blocked), keys, strict=True):
        positions = np.asarray(
            jax.jit(jax.vmap(lambda key, k=kernel: k.step(key, k.init(start))[0].position))(kernel_keys)
        )
        means.append(positions.mean(axis=0))
        errors.append(positions.var(axis=0) / n)
    assert np.max(np.abs(means[0] - means[1]) / np.sqrt(errors[0] + errors[1])) < 5.0


def test_update_without_a_point_on_the_slice_keeps_its_block_and_is_counted() -> None:
    def only_here(position: Array) -> Array:
        return jnp.where(jnp.all(position == 0.5), 0.0, jnp.nan)

    _, states, infos = _runs(only_here, 10, max_passes=5)
    np.testing.assert_array_equal(states.position, 0.5)
    assert np.all(infos.n_collapsed == 1)
    assert np.all(infos.n_evaluations == 5)


@pytest.mark.parametrize("blocks", [[(0, 2), (3, 5)], [(0, 3), (2, 5)], [(0, 0), (0, 5)], [(1, 5)]])
def test_blocks_that_do_not_hold_every_input_once_are_refused(blocks: list[tuple[int, int]]) -> None:
    with pytest.raises(ValueError, match="blocks must hold every input exactly once"):
        blocked_elliptical_slice(log_likelihood, blocks)


def test_no_block_at_all_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one block"):
        blocked_elliptical_slice(log_likelihood, [])
