"""Simulators of stochastic equations against closed forms, and integrals along fibres."""

import math
from typing import get_args

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import k0, k1

from experiments.foundations.models.generators import (
    Branch,
    Scheme,
    fibre_integral,
    geometric_brownian_motion,
    hyperbola_branches,
    simulate_sde,
)

NOISE = np.random.default_rng(5).normal(size=(32, 2))
START = jnp.array([1.0, 2.0])
STEP = 0.05


def drift(y):
    return jnp.stack([0.5 * y[0] - y[1], jnp.sin(y[0])])


def diffusion(y):
    return 0.3 * jnp.sqrt(1.0 + y**2)


def loop(fraction_of_correction):
    y, states = np.array([1.0, 2.0]), []
    for n in NOISE:
        root = np.sqrt(1.0 + y**2)
        s, slope = 0.3 * root, 0.3 * y / root
        m = np.array([0.5 * y[0] - y[1], np.sin(y[0])])
        correction = fraction_of_correction * 0.5 * STEP * s * slope * (n**2 - 1.0)
        y = y + STEP * m + np.sqrt(STEP) * s * n + correction
        states.append(y)
    return np.array(states)


@pytest.mark.parametrize(("scheme", "fraction"), [("euler_maruyama", 0.0), ("milstein", 1.0)])
def test_steps_are_those_of_a_loop(scheme, fraction):
    found = simulate_sde(drift, diffusion, START, jnp.asarray(NOISE), STEP, scheme)
    np.testing.assert_allclose(found, loop(fraction), rtol=1e-12)


def test_constant_noise_makes_the_schemes_the_same():
    first, second = (
        simulate_sde(drift, lambda y: 0.2 * jnp.ones_like(y), START, jnp.asarray(NOISE), STEP, scheme)
        for scheme in get_args(Scheme)
    )
    np.testing.assert_array_equal(first, second)


def test_without_noise_the_path_is_eulers():
    path = simulate_sde(lambda y: -y, jnp.zeros_like, START, jnp.zeros((20, 2)), 0.1, "milstein")
    np.testing.assert_allclose(path[-1], 0.9**20 * np.asarray(START), rtol=1e-13)


def test_the_exact_path_solves_in_the_limit():
    # Noise refined by halving: Milstein's error falls about fourfold where steps are four times as many.
    fine = np.random.default_rng(11).normal(size=(512, 1))
    errors = []
    for n_steps in (32, 128, 512):
        noise = jnp.asarray(fine.reshape(n_steps, -1).sum(axis=1, keepdims=True) / np.sqrt(512 // n_steps))
        exact = geometric_brownian_motion(jnp.ones(1), 0.5, 0.4, noise, 1.0 / n_steps)
        path = simulate_sde(
            lambda y: 0.5 * y, lambda y: 0.4 * y, jnp.ones(1), noise, 1.0 / n_steps, "milstein"
        )
        errors.append(float(jnp.max(jnp.abs(path - exact))))
    assert errors[0] > 2.0 * errors[1] > 4.0 * errors[2]
    assert errors[2] < 2e-3


def test_the_exact_path_does_not_depend_on_the_resolution():
    fine = np.random.default_rng(3).normal(size=(64, 1))
    coarse = fine.reshape(8, 8).sum(axis=1, keepdims=True) / np.sqrt(8.0)
    ends = [
        geometric_brownian_motion(jnp.ones(1), 0.5, 1.0, jnp.asarray(noise), 1.0 / len(noise))[-1, 0]
        for noise in (fine, coarse)
    ]
    assert ends[0] == pytest.approx(float(ends[1]), rel=1e-12)


def gradient_norm(u):
    return 2.0 * np.linalg.norm(u, axis=1)


def along(output, function):
    return fibre_integral(function, gradient_norm, hyperbola_branches(output))


def density(output):
    return along(output, lambda u: np.ones(len(u)))


@pytest.mark.parametrize("output", [-3.0, -0.2, 1e-3, 0.5, 1.0, 9.0])
def test_the_density_of_the_output_is_a_bessel_function(output):
    assert density(output) == pytest.approx(k0(0.5 * abs(output)) / (2.0 * math.pi), rel=1e-12)


def test_conditional_moments_are_ratios_of_bessel_functions():
    # On the fibre of 1, u1^2 + u2^2 = cosh 2t has the mean K1(1/2) / K0(1/2).
    sizes = along(1.0, lambda u: np.sum(u**2, axis=1)) / density(1.0)
    assert sizes == pytest.approx(k1(0.5) / k0(0.5), rel=1e-12)


@pytest.mark.parametrize("output", [-0.7, 2.0])
def test_points_lie_on_the_fibre_and_move_at_their_speed(output):
    for branch in hyperbola_branches(output):
        t = np.linspace(-1.0, 1.0, 7)
        np.testing.assert_allclose(np.square(branch.points(t)) @ [1.0, -1.0], output, rtol=1e-13)
        slopes = (branch.points(t + 1e-6) - branch.points(t - 1e-6)) / 2e-6
        np.testing.assert_allclose(np.linalg.norm(slopes, axis=1), branch.speeds(t), rtol=1e-8)


def test_messages():
    with pytest.raises(ValueError, match="fibre of 0 is two crossing lines"):
        hyperbola_branches(0.0)
    first = hyperbola_branches(1.0)[0]
    short = Branch(first.points, first.speeds, (-1, 1))
    with pytest.raises(ValueError, match=r"has not vanished at the ends \(-1, 1\)"):
        fibre_integral(lambda u: np.ones(len(u)), gradient_norm, [short])
