"""Simpson's rule: polynomials it must and must not integrate exactly, and products of functions."""

import math

import numpy as np
import pytest
from scipy import integrate

from experiments.foundations.sampling import product_quadrature
from experiments.foundations.sampling.product_quadrature import product_simpson, simpson_rule


@pytest.mark.parametrize("n_panels", [1, 2, 5])
def test_polynomials_up_to_degree_three_are_integrated_exactly(n_panels: int) -> None:
    points, weights = simpson_rule(n_panels)
    for degree in range(4):
        assert weights @ points**degree == pytest.approx(1.0 / (degree + 1), rel=1e-13)
    assert abs(weights @ points**4 - 0.2) > 1e-6


def test_the_rule_is_that_of_scipy() -> None:
    points, weights = simpson_rule(7)
    assert weights @ np.exp(points) == pytest.approx(integrate.simpson(np.exp(points), x=points), rel=1e-13)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_a_product_of_functions_is_the_product_of_their_integrals(
    dim: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    points, weights = simpson_rule(4)
    expected = (weights @ np.exp(points)) ** dim
    whole = product_simpson(lambda x: np.exp(x.sum(axis=1)), 4, dim)
    assert whole == pytest.approx(expected, rel=1e-12)
    assert whole == pytest.approx((math.e - 1.0) ** dim, rel=1e-4)
    monkeypatch.setattr(product_quadrature, "_CHUNK", 5)
    assert product_simpson(lambda x: np.exp(x.sum(axis=1)), 4, dim) == pytest.approx(whole, rel=1e-12)


def test_each_axis_of_the_grid_is_a_dimension() -> None:
    assert product_simpson(lambda x: x[:, 0] + 10.0 * x[:, 2] ** 2, 2, 3) == pytest.approx(0.5 + 10.0 / 3.0)
