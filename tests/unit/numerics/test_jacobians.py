"""Every structured form agrees with dense linear algebra, in values and in derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.scipy.linalg import block_diag

from auxmc.numerics.jacobians import (
    block_jacobian,
    dense_jacobian,
    diagonal_jacobian,
    markovian_jacobian,
    noisy_jacobian,
)

N, K = 12, 3
FORMS = ("dense", "block", "diagonal", "markovian", "noisy_wide", "noisy_tall")


def _forms(name, seed, strength=1.0):
    """A structured Jacobian and its matrix; `strength` scales a part of it, for derivatives."""
    rng = np.random.default_rng(seed)
    block = strength * jnp.asarray(rng.normal(size=(N, K)))
    if name == "dense":
        matrix = strength * jnp.asarray(rng.normal(size=(N, N + 4)))
        return dense_jacobian(matrix), matrix
    if name == "block":
        own = strength * jnp.asarray(rng.normal(size=(N // 2, 2, 5)))
        return block_jacobian(block, own), jnp.concatenate([block, block_diag(*own)], axis=1)
    if name == "diagonal":
        diagonal = strength * jnp.asarray(rng.uniform(0.3, 2.0, N) * rng.choice([-1.0, 1.0], N))
        return diagonal_jacobian(block, diagonal), jnp.concatenate([block, jnp.diag(diagonal)], axis=1)
    if name == "markovian":
        n_steps, d = N // 2, 2
        inverse_diagonal = strength * jnp.asarray(rng.normal(size=(n_steps, d, d)) + 3.0 * np.eye(d))
        inverse_subdiagonal = jnp.asarray(rng.normal(size=(n_steps - 1, d, d)))
        inverse = jnp.zeros((N, N))
        for step in range(n_steps):
            own = slice(d * step, d * step + d)
            inverse = inverse.at[own, own].set(inverse_diagonal[step])
            if step:
                inverse = inverse.at[own, d * (step - 1) : d * step].set(inverse_subdiagonal[step - 1])
        triangular = jnp.linalg.inv(inverse)
        matrix = jnp.concatenate([triangular @ block, triangular], axis=1)
        return markovian_jacobian(block, inverse_diagonal, inverse_subdiagonal), matrix
    width = N + 5 if name == "noisy_wide" else N - 5
    inner = strength * jnp.asarray(rng.normal(size=(N, width)))
    return noisy_jacobian(inner, 0.3), jnp.concatenate([inner, 0.3 * jnp.eye(N)], axis=1)


@pytest.mark.parametrize("name", FORMS)
def test_operations_are_those_of_the_matrix(name):
    jacobian, matrix = _forms(name, 1)
    previous, previous_matrix = _forms(name, 2)
    rng = np.random.default_rng(3)
    v, b = jnp.asarray(rng.normal(size=matrix.shape[1])), jnp.asarray(rng.normal(size=N))
    close = {"rtol": 1e-10, "atol": 1e-10}
    np.testing.assert_allclose(jacobian.times(v), matrix @ v, **close)
    np.testing.assert_allclose(jacobian.transposed_times(b), matrix.T @ b, **close)
    np.testing.assert_allclose(matrix @ (matrix.T @ jacobian.solve_gram(b)), b, rtol=1e-8, atol=1e-8)
    cross = jacobian.solve_cross(previous, b)
    np.testing.assert_allclose(matrix @ (previous_matrix.T @ cross), b, rtol=1e-7, atol=1e-7)
    _, log_determinant = np.linalg.slogdet(matrix @ matrix.T)
    np.testing.assert_allclose(jacobian.half_log_determinant, 0.5 * log_determinant, **close)


@pytest.mark.parametrize("name", FORMS)
def test_derivative_of_the_log_determinant_is_that_of_the_dense_form(name):
    structured = jax.grad(lambda s: _forms(name, 4, s)[0].half_log_determinant)(1.1)

    def dense(strength):
        matrix = _forms(name, 4, strength)[1]
        return 0.5 * jnp.linalg.slogdet(matrix @ matrix.T)[1]

    np.testing.assert_allclose(structured, jax.grad(dense)(1.1), rtol=1e-9)


def test_a_singular_matrix_gives_no_finite_log_determinant():
    matrix = jnp.ones((2, 3))
    assert not np.isfinite(dense_jacobian(matrix).half_log_determinant)
    assert not np.isfinite(diagonal_jacobian(jnp.ones((2, 1)), jnp.array([1.0, 0.0])).half_log_determinant)


def test_wrong_shapes_are_rejected():
    with pytest.raises(ValueError, match="at least as many inputs as constraints, got 2 inputs and 3"):
        dense_jacobian(jnp.ones((3, 2)))
    with pytest.raises(ValueError, match=r"diagonal must have shape \(3,\), got \(2,\)"):
        diagonal_jacobian(jnp.ones((3, 2)), jnp.ones(2))
    with pytest.raises(ValueError, match=r"own must be \[group, d, k\] with d <= k and 4 outputs, got"):
        block_jacobian(jnp.ones((4, 1)), jnp.ones((2, 2, 1)))
    with pytest.raises(ValueError, match="whitened must have 4 rows, got 3"):
        markovian_jacobian(jnp.ones((3, 1)), jnp.ones((2, 2, 2)), jnp.ones((1, 2, 2)))
    with pytest.raises(ValueError, match=r"\[step, d, d\]"):
        markovian_jacobian(jnp.ones((4, 1)), jnp.ones((2, 2, 2)), jnp.ones((2, 2, 2)))
