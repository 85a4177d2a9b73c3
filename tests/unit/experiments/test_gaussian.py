"""Roots of covariances."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from experiments.foundations.sampling.gaussian import covariance_root, multivariate_normal

HALF = np.random.default_rng(8).normal(size=(4, 4))
COVARIANCE = HALF @ HALF.T + 0.1 * np.eye(4)


@pytest.mark.parametrize("kind", ["cholesky", "symmetric"])
def test_a_root_times_its_transpose_is_the_covariance(kind: str) -> None:
    root = covariance_root(COVARIANCE, kind)
    np.testing.assert_allclose(root @ root.T, COVARIANCE, atol=1e-13)


def test_each_kind_has_its_shape() -> None:
    assert np.all(np.triu(covariance_root(COVARIANCE), 1) == 0.0)
    symmetric = covariance_root(COVARIANCE, "symmetric")
    np.testing.assert_allclose(symmetric, symmetric.T, atol=1e-14)


def test_draws_with_the_same_key_differ_by_mean_and_root_alone() -> None:
    key = jax.random.key(9)
    standard = multivariate_normal(key, np.zeros(4), np.eye(4), 50)
    drawn = multivariate_normal(key, np.arange(4.0), COVARIANCE, 50)
    assert drawn.dtype == jnp.float64
    np.testing.assert_allclose(
        drawn, np.arange(4.0) + np.asarray(standard) @ covariance_root(COVARIANCE).T, rtol=1e-12
    )


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((2, 3)), r"square matrix, got shape \(2, 3\)"),
        ([[1.0, 0.5], [0.4, 1.0]], "symmetric, its mirrored entries differ by 0.1"),
        ([[1.0, 2.0], [2.0, 1.0]], "positive definite, its least eigenvalue is -1"),
        ([[1.0, 1.0], [1.0, 1.0]], "positive definite"),
        ([[np.nan, 0.0], [0.0, 1.0]], "covariance must be finite"),
    ],
)
def test_matrices_that_are_no_covariance_are_rejected(bad, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        covariance_root(bad)


def test_a_mean_of_another_length_and_an_unknown_kind_are_rejected() -> None:
    with pytest.raises(ValueError, match=r"mean must be \[4\] to go with the covariance, got shape \(3,\)"):
        multivariate_normal(jax.random.key(0), np.zeros(3), COVARIANCE, 2)
    with pytest.raises(ValueError, match="kind must be cholesky or symmetric, got 'qr'"):
        covariance_root(COVARIANCE, "qr")  # type: ignore[arg-type]
