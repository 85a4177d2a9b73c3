"""Log densities and estimated likelihoods of a user's own: what is rejected, and with what message."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import auxmc
from tests.unit.interface import models

RANDOM, TIMES = np.random.default_rng(0), np.linspace(-1.5, 1.5, 20)


@pytest.mark.parametrize(
    ("log_density", "start", "message"),
    [
        (lambda p: -(p["x"] ** 2), {"x": np.zeros(2)}, r"one number, in nats, got shape \(2,\): sum"),
        (lambda p: jnp.log(p["x"]), {"x": -1.0}, "got nan. Give a start .*, and look for nan in the data"),
        (lambda p: jnp.log(p["x"]), {"x": 0.0}, "got -inf. Give a start inside the support"),
        (lambda p: -jnp.log(p["x"]), {"x": 0.0}, "got inf. Return log densities"),
        (lambda p: -jnp.sqrt(p["x"]), {"x": 0.0}, "1 of 1 derivatives at the start are not finite"),
        (lambda p: 0.5 * jnp.sum(p["x"] ** 2), {"x": np.ones(2)}, "may have the wrong sign"),
        (lambda p: -np.exp(p["x"]), {"x": 0.0}, "log_density uses NumPy"),
        (lambda p: -p["y"], {"x": 0.0}, "log_density asks for 'y', which is not there"),
        (lambda p: -(p["x"] ** 2), {"x": np.float32(1.0)}, "must be float64, got float32"),
        (lambda p: jnp.sum(p["x"].astype(int)), {"x": 0.0}, "real number .* got int64"),
        (lambda p: jax.lax.complex(-(p["x"] ** 2), p["x"]), {"x": 0.0}, "real number .* got complex128"),
        (lambda p: -1.0, {"x": 0.0}, "is the same everywhere"),
        (lambda p: -(p["x"] ** 2) + RANDOM.normal(), {"x": 0.0}, "other values for the same"),
        (lambda p: -jnp.abs(jnp.floor(p["k"])), {"k": 0.5}, "is a step function of k: it jumps"),
        (
            lambda p: -0.5 * p["x"] ** 2 - jnp.sum(jnp.round(p["k"]) ** 2),
            {"x": 0.0, "k": np.zeros(2)},
            r"is a step function of k\[0\]: .* Sum over what is discrete",
        ),
        (lambda p: -jnp.asarray(p["k"].astype(int) ** 2, float), {"k": 0.0}, "is a step function of k"),
        (
            lambda p: -0.5 * p["x"] ** 2,
            {"x": 0.0, "unused": np.zeros(2)},
            r"does not depend on unused\[0\], unused\[1\]: .* Give each variable a prior, or remove it",
        ),
        (
            # An energy with a log scale, which is infinite on the way to a scale of zero.
            lambda p: (
                0.5 * jnp.sum((TIMES - p["mean"]) ** 2) * jnp.exp(-2.0 * p["log_sd"]) + 20 * p["log_sd"]
            ),
            {"mean": 0.0, "log_sd": 0.0},
            "grows without end away from the start: it may have the wrong sign",
        ),
        (
            lambda p: -0.5 * jax.lax.while_loop(lambda x: x > 1.0, lambda x: 0.5 * x, p["x"] ** 2),
            {"x": 3.0},
            r"log_density has a lax.while_loop.* lax.fori_loop.*lax.custom_root",
        ),
    ],
)
def test_bad_densities_are_rejected(log_density, start, message):
    with pytest.raises((ValueError, TypeError), match=message):
        auxmc.density(log_density, start)


def test_a_density_begins_elsewhere_where_it_is_asked_to():
    model = models.normal_density()
    assert auxmc.density(model) is model
    moved = auxmc.density(model, {"a": 3.0, "b": [1.0, 2.0]})
    np.testing.assert_array_equal(moved.draw_start(jax.random.key(0)), [3.0, 1.0, 2.0])


@pytest.mark.filterwarnings("ignore:log_density does not fall:auxmc.SamplingWarning")
def test_flat_directions_and_growth_in_some_are_no_wrong_sign():
    for log_density in (
        lambda p: -jax.nn.softplus(p["x"]) - jax.nn.softplus(-0.1 * p["x"]),
        lambda p: jnp.maximum(-100.0, -(p["x"] ** 2)),
    ):
        made = auxmc.density(log_density, {"x": 0.0})
        assert float(made.log_density(jnp.zeros(1))) == float(log_density({"x": 0.0}))


def _noisy(x):
    return jax.pure_callback(lambda x: np.asarray(RANDOM.normal() + x), jax.ShapeDtypeStruct((), float), x)


def _estimated(**changed):
    settings = {
        "log_prior": lambda p: -0.5 * p["x"] ** 2,
        "log_estimate": lambda p, u: -0.5 * jnp.mean((p["x"] - u) ** 2),
        "auxiliary": 5,
        "start": {"x": 0.0},
    }
    return auxmc.estimated(**(settings | changed))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"log_prior": lambda p: 0.5 * p["x"] ** 2}, "log_prior grows without end .* wrong sign"),
        ({"log_estimate": lambda p, u: p["x"] - u}, r"log_estimate must return one number.*\(5,\)"),
        ({"log_prior": lambda p: p["x"] * jnp.nan}, "not finite for 20 draws"),
        ({"log_estimate": lambda p, u: np.exp(u).sum()}, "log_estimate uses NumPy"),
        ({"log_estimate": lambda p, u: RANDOM.normal() - u[0] ** 2}, "other values for the same arguments"),
        ({"log_estimate": lambda p, u: _noisy(p["x"])}, "other values for the same arguments"),
        ({"auxiliary": lambda key: {"u": 1.0}}, "auxiliary must return one array for a key, got dict"),
        ({"auxiliary": lambda key: jnp.ones(5)}, "auxiliary gives the same numbers for every key: draw them"),
        ({"auxiliary": lambda key: jnp.asarray(RANDOM.normal(size=5))}, "auxiliary gives other numbers for"),
    ],
)
def test_bad_estimates_are_rejected(changed, message):
    with pytest.raises((ValueError, TypeError), match=message):
        _estimated(**changed)


def test_estimate_that_ignores_its_random_numbers_is_warned_of():
    """With a key of its own it is one draw of the estimate, for ever."""
    log_estimate = lambda p, u: -0.5 * jnp.mean((p["x"] - jax.random.normal(jax.random.key(0), (5,))) ** 2)
    with pytest.warns(auxmc.SamplingWarning, match="the same value for 20 draws of the auxiliary variables"):
        _estimated(log_estimate=log_estimate)


def test_shapes_may_be_numbers_of_numpy():
    for shape in (np.int64(3), (np.int32(3),), [3]):
        assert _estimated(auxiliary=shape).estimator.draw_auxiliary(jax.random.key(0)).shape == (3,)


def test_slice_update_wants_normal_auxiliary_variables():
    model = _estimated(auxiliary=lambda key: jax.random.uniform(key, (5,), jnp.float64))
    with pytest.raises(ValueError, match='take u="independence"'):
        auxmc.auxiliary_pseudo_marginal(model, u="slice")
    auxmc.auxiliary_pseudo_marginal(model, u="independence")
    with pytest.raises(ValueError, match="u must be one of slice, independence, got 'hmc'"):
        auxmc.auxiliary_pseudo_marginal(model, u="hmc")


def test_auxiliary_variables_have_names_and_shapes():
    log_estimate = lambda p, u: -0.5 * jnp.mean(u["first"][:, 0] ** 2) - 0.5 * (p["x"] - u["second"][0]) ** 2
    model = _estimated(log_estimate=log_estimate, auxiliary={"first": (4, 2), "second": 1})
    assert model.estimator.draw_auxiliary(jax.random.key(0)).shape == (9,)
