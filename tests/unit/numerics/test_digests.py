"""Digests of programs: every constant counts; host code is seen."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import io_callback

from auxmc.numerics.digests import host_calls, program_digest


def _traced(value, kind):
    data = jnp.full(3, value) if kind == "jax" else np.full(3, value)

    def inner(x):
        return jax.lax.cond(x[0] > 0.0, lambda: jnp.sum(x * jnp.asarray(data)), lambda: jnp.zeros(()))

    return jax.jit(jax.vmap(jax.jit(inner))).trace(jnp.zeros((2, 3)))


@pytest.mark.parametrize("kind", ["numpy", "jax"])
@pytest.mark.parametrize("simplified", [False, True])
def test_data_within_a_program_count_wherever_jax_keeps_them(kind, simplified):
    setting = "jax_use_simplified_jaxpr_constants"
    if not hasattr(jax.config, setting):
        pytest.skip("this version of JAX has one way to keep constants")
    before = getattr(jax.config, setting)
    jax.config.update(setting, simplified)
    try:
        digests = [program_digest(_traced(value, kind)) for value in (1.0, 1.0, 9.0)]
    finally:
        jax.config.update(setting, before)
    assert digests[0] == digests[1] != digests[2]


def test_host_code_is_seen_within_loops_and_derivatives():
    shape = jax.ShapeDtypeStruct((), jnp.float64)
    calls = {
        "pure_callback": lambda x: jax.pure_callback(np.sin, shape, x, vmap_method="sequential"),
        "io_callback": lambda x: io_callback(np.sin, shape, x),
    }
    for name, call in calls.items():
        loop = lambda x, call=call: jax.lax.fori_loop(0, 3, lambda i, y: call(y), x)
        assert host_calls(jax.jit(loop).trace(1.0)) == [name]
    assert host_calls(jax.jit(lambda x: jax.debug.print("{}", x) or x).trace(1.0)) == []
