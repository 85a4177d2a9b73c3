"""Modes: jumps to mirror images, points apart from draws, starts apart from each other."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import auxmc
from auxmc.interface.checks.modes import lie_apart
from auxmc.interface.sampling import spread_starts
from tests.unit.interface import models


def test_modes_of_a_density_keep_their_fractions():
    """30 and 70 % of the mass, 16 standard deviations apart: jumps there and back are not alike."""
    model = auxmc.density(
        lambda v: jnp.logaddexp(
            math.log(0.3) - 0.5 * jnp.sum((v["x"] + 8.0) ** 2),
            math.log(0.7) - 0.5 * jnp.sum((v["x"] - 8.0) ** 2),
        ),
        {"x": np.full(2, 8.0)},
    )
    method = auxmc.with_symmetry(auxmc.hmc(model), lambda v: {"x": -v["x"]})
    tree = auxmc.sample(method, draws=3000, warm_up=300, progress=False)
    fraction = float((tree["posterior"]["x"][..., 0] > 0.0).mean())
    # Jumps with probabilities 1 and 3 / 7 make neighbours unlike: the error is below that of independent draws.
    assert abs(fraction - 0.7) < 4.5 * math.sqrt(0.21 / 12000.0)


@pytest.mark.slow
def test_arcs_of_a_manifold_keep_their_fractions():
    """The square of an input is observed with noise; its prior is about 0.5: exact by quadrature."""
    about = auxmc.prior.custom((), lambda x: -0.5 * (x - 0.2) ** 2, lambda key: 0.2 + jax.random.normal(key))
    inputs = {"x": about, "noise": auxmc.prior.normal()}
    model = auxmc.simulator(lambda own: own["x"] ** 2 + 0.5 * own["noise"], 4.0, inputs)
    method = auxmc.with_symmetry(auxmc.constrained_hmc(model), lambda v: v | {"x": -v["x"]})
    tree = auxmc.sample(method, draws=2000, warm_up=300, progress=False)
    fraction = float((tree["posterior"]["x"] > 0.0).mean())
    density = lambda x: math.exp(-0.5 * (x - 0.2) ** 2 - 0.5 * ((4.0 - x**2) / 0.5) ** 2)
    right, left = quad(density, 0.0, 6.0)[0], quad(density, -6.0, 0.0)[0]
    exact = right / (right + left)
    assert 0.6 < exact < 0.8
    assert abs(fraction - exact) < 4.5 * math.sqrt(exact * (1.0 - exact) / 8000.0)


def test_images_that_leave_the_manifold_are_not_jumped_to():
    """The observed sum changes its sign with its terms."""
    mirrored = lambda v: {name: -value for name, value in v.items()}
    method = auxmc.with_symmetry(auxmc.constrained_hmc(models.sum_of_normals()), mirrored)
    tree = auxmc.sample(method, draws=300, warm_up=200, progress=False)
    assert not tree["sample_stats"]["jumped"].any()
    mean, noise = (tree["posterior"][name].to_numpy() for name in ("mean", "noise"))
    np.testing.assert_allclose(mean + 0.5 * noise, 1.5, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (lambda v: v | {"a": 2.0 * v["a"]}, "images must undo itself"),
        (lambda v: v | {"a": 1.0 / v["a"]}, "images must keep distances"),
        (lambda v: {"a": v["a"]}, "images must return the variables a, b"),
        (lambda v: v | {"b": v["b"][:1]}, "images must return the variables a, b"),
        ([lambda v: v, lambda v: v["c"]], r"images\[1\] asks for 'c', which is not there"),
        ([lambda v: v, 3], r"images\[1\] must be a function that maps .*, got int"),
    ],
)
def test_images_that_are_none_are_rejected(images, message):
    with pytest.raises((ValueError, TypeError), match=message):
        auxmc.with_symmetry(auxmc.hmc(models.normal_density()), images)


@pytest.mark.parametrize("dim", [1, 2, 30])
def test_points_of_another_mode_lie_apart(dim):
    """Far to one side, and between two modes that were visited; others of the same distribution do not."""
    random = np.random.default_rng(dim)
    draws, points = random.normal(size=(2000, dim)), random.normal(size=(500, dim))
    assert not lie_apart(draws, points).any()
    shift = np.zeros(dim)
    shift[0] = 12.0
    assert lie_apart(draws, random.normal(size=(50, dim)) + shift).all()
    if dim <= 2:
        both = np.concatenate([draws - 3.0 * shift, draws + 3.0 * shift])
        assert lie_apart(both, 0.1 * random.normal(size=(50, dim))).all()


def test_starts_come_from_every_cluster():
    points = np.random.default_rng(0).normal(size=(16, 3)) * 0.1
    points[:2] += 5.0
    for seed in range(5):
        chosen = spread_starts(points, 4, seed)
        assert len(set(chosen)) == 4
        assert set(chosen) & {0, 1}
        assert set(chosen) - {0, 1}
    # Few points are repeated.
    assert spread_starts(np.zeros((2, 3)), 5, 0).tolist() == [0, 1, 0, 1, 0]
