"""Integrals along fibres against closed forms and against a double integral over the inputs."""

import math

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import k0, k1

from experiments.foundations.models.fibre_integrals import (
    Branch,
    fibre_integral,
    hyperbola_branches,
    hyperbola_generator,
    noisy_output_density,
)


def gradient_norm(u: np.ndarray) -> np.ndarray:
    return 2.0 * np.linalg.norm(u, axis=1)


def along(output: float, function) -> float:  # type: ignore[no-untyped-def]
    return fibre_integral(function, gradient_norm, hyperbola_branches(output))


def density(output: float) -> float:
    return along(output, lambda u: np.ones(len(u)))


@pytest.mark.parametrize("output", [-3.0, -0.2, 1e-3, 0.5, 1.0, 9.0])
def test_the_density_of_the_output_is_a_bessel_function(output: float) -> None:
    assert density(output) == pytest.approx(k0(0.5 * abs(output)) / (2.0 * math.pi), rel=1e-12)


def test_conditional_moments_are_ratios_of_bessel_functions() -> None:
    # On the fibre of 1, u1^2 + u2^2 = cosh 2t has the mean K1(1/2) / K0(1/2).
    sizes = along(1.0, lambda u: np.sum(u**2, axis=1)) / density(1.0)
    assert sizes == pytest.approx(k1(0.5) / k0(0.5), rel=1e-12)


@pytest.mark.parametrize("output", [-0.7, 2.0])
def test_points_lie_on_the_fibre_and_move_at_their_speed(output: float) -> None:
    for branch in hyperbola_branches(output):
        t = np.linspace(-1.0, 1.0, 7)
        np.testing.assert_allclose(hyperbola_generator(branch.points(t)), output, rtol=1e-13)
        slopes = (branch.points(t + 1e-6) - branch.points(t - 1e-6)) / 2e-6
        np.testing.assert_allclose(np.linalg.norm(slopes, axis=1), branch.speeds(t), rtol=1e-8)


def test_the_noisy_density_is_a_double_integral_over_the_inputs() -> None:
    scale = 0.5

    def joint(v: float, u: float) -> float:
        standard = (1.0 - (u * u - v * v)) / scale
        return math.exp(-0.5 * (u * u + v * v + standard**2))

    double = dblquad(joint, 0.0, 7.0, 0.0, 7.0, epsabs=1e-9, epsrel=1e-9)[0]
    expected = 4.0 * double / ((2.0 * math.pi) ** 1.5 * scale)
    assert noisy_output_density(density, 1.0, scale, singularities=[0.0]) == pytest.approx(expected, rel=1e-7)


def test_little_noise_changes_little() -> None:
    assert noisy_output_density(density, 1.0, 1e-3) == pytest.approx(density(1.0), rel=1e-5)


def test_messages() -> None:
    with pytest.raises(ValueError, match="fibre of 0 is two crossing lines"):
        hyperbola_branches(0.0)
    with pytest.raises(ValueError, match="noise_scale must be positive, got 0"):
        noisy_output_density(density, 1.0, 0.0)
    first = hyperbola_branches(1.0)[0]
    short = Branch(first.points, first.speeds, (-1, 1))
    with pytest.raises(ValueError, match=r"has not vanished at the ends \(-1, 1\)"):
        fibre_integral(lambda u: np.ones(len(u)), gradient_norm, [short])
