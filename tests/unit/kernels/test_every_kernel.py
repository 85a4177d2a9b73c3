"""What holds for every kernel, whatever it does."""

from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tests.unit.kernels.toys import Case, cached_log_density, cases

N_CHAINS = 4
NAMES = sorted(cases())
UNLIKE_NAMES = ("random_walk", "elliptical", "linear_step_out", "reflective", "apm_ss_ss", "adapted")


@cache
def _case(name: str) -> Case:
    return cases()[name]


@cache
def _single(name: str) -> Any:
    return jax.jit(_case(name).kernel.step)


@cache
def _many(name: str) -> Any:
    return jax.jit(jax.vmap(_case(name).kernel.step))


def _starts(name: str, n_chains: int = N_CHAINS) -> tuple[jax.Array, Any]:
    keys = jax.vmap(lambda i: jax.random.fold_in(jax.random.key(1), i))(jnp.arange(n_chains))
    step_keys = jax.vmap(lambda i: jax.random.fold_in(jax.random.key(2), i))(jnp.arange(n_chains))
    return step_keys, jax.jit(jax.vmap(_case(name).start))(keys)


def _assert_same(first: Any, second: Any) -> None:
    jax.tree.map(np.testing.assert_array_equal, first, second)


def _assert_close(first: Any, second: Any) -> None:
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-12), first, second)


@pytest.mark.parametrize("name", NAMES)
def test_a_step_keeps_shapes_and_dtypes(name: str) -> None:
    case = _case(name)
    state = jax.eval_shape(case.start, jax.random.key(0))
    new_state, info = jax.eval_shape(case.kernel.step, jax.random.key(0), state)
    assert jax.tree.structure(new_state) == jax.tree.structure(state)
    jax.tree.map(
        lambda new, old: _assert_same((new.shape, str(new.dtype)), (old.shape, str(old.dtype))),
        new_state,
        state,
    )
    for leaf in jax.tree.leaves(info):
        assert leaf.shape == ()
        assert leaf.dtype in (jnp.bool_, jnp.int32, jnp.float64)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_drawn_for_many_steps_at_once_are_those_of_single_steps(name: str) -> None:
    draw = _case(name).kernel.draw
    keys = jax.random.split(jax.random.key(3), 4)
    together, alone = jax.vmap(draw)(keys), draw(keys[2])
    for many, single in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
        assert bool(jnp.all(many[2] == single))


@pytest.mark.parametrize("name", UNLIKE_NAMES)
def test_compiled_steps_agree_with_plain_apply_after_draw(name: str) -> None:
    keys, states = _starts(name)
    state = jax.tree.map(lambda leaf: leaf[0], states)
    kernel = _case(name).kernel
    _assert_close(_single(name)(keys[0], state), kernel.apply(kernel.draw(keys[0]), state))


@pytest.mark.parametrize("name", NAMES)
def test_many_chains_do_what_single_chains_do_and_count_what_they_count(name: str) -> None:
    keys, states = _starts(name)
    together = _many(name)(keys, states)
    for chain in range(N_CHAINS):
        alone = _single(name)(keys[chain], jax.tree.map(lambda leaf, chain=chain: leaf[chain], states))
        _assert_close(jax.tree.map(lambda leaf, chain=chain: leaf[chain], together), alone)


@pytest.mark.parametrize("name", NAMES)
def test_same_key_same_step_and_another_key_another_step(name: str) -> None:
    keys, states = _starts(name)
    first, again = _many(name)(keys, states), _many(name)(keys, states)
    _assert_same(first, again)
    other, _ = _many(name)(keys[::-1], states)
    assert any(
        not np.array_equal(a, b)
        for a, b in zip(jax.tree.leaves(first[0]), jax.tree.leaves(other), strict=True)
    )


@pytest.mark.parametrize("name", NAMES)
def test_state_carries_the_log_density_at_its_position(name: str) -> None:
    keys, states = _starts(name)
    for _ in range(4):
        states, _ = _many(name)(keys, states)
        keys = jax.vmap(lambda key: jax.random.fold_in(key, 7))(keys)
    recomputed = jax.vmap(_case(name).log_density)(states)
    np.testing.assert_allclose(cached_log_density(states), recomputed, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_the_stored_log_density_is_used_and_a_kept_state_is_the_same_in_every_bit(name: str) -> None:
    """A stored value no proposal can match must stop every move: nothing may make it again."""
    keys, states = _starts(name)
    inner = getattr(states, "inner", states)
    field = "log_estimate" if hasattr(inner, "log_estimate") else "log_density"
    raised = inner._replace(**{field: jnp.full((N_CHAINS,), 1e9)})
    before = states._replace(inner=raised) if hasattr(states, "inner") else raised
    after, info = _many(name)(keys, before)
    _assert_same(getattr(after, "inner", after), raised)
    info = getattr(info, "inner", info)
    for flag in ("accepted", "accepted_position", "accepted_auxiliary"):
        assert not np.any(getattr(info, flag, False))
