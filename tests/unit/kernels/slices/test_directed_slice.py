"""Slice sampling along lines of a chosen distribution: lengths of directions, agreement with the plain kernel."""

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.kernels.slices.directed_slice import along_axes, along_gaussian, directed_slice
from auxmc.kernels.slices.linear_slice import linear_slice

CHOLESKY = jnp.array([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [-1.0, 0.3, 0.2]])
KEYS = jax.random.split(jax.random.key(2), 200)


def log_normal(x):
    return -0.5 * jnp.sum(x**2)


def test_gaussian_directions_are_scaled_to_unit_length_where_that_is_asked_for():
    long, unit = (jax.vmap(along_gaussian(CHOLESKY, unit_length=unit))(KEYS) for unit in (False, True))
    np.testing.assert_allclose(long / np.linalg.norm(long, axis=1, keepdims=True), unit, atol=1e-13)


def test_with_the_same_numbers_it_does_what_the_plain_kernel_does():
    plain, directed = (
        linear_slice(log_normal, 1.2, 3, 2),
        directed_slice(log_normal, along_axes(3), 1.2, 3, 2),
    )
    state = plain.init(jnp.array([0.2, -1.0, 0.5]))
    noise = plain.draw(jax.random.key(5))
    first, second = (jax.tree.leaves(jax.jit(kernel.apply)(noise, state)) for kernel in (plain, directed))
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
