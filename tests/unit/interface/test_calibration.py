"""`auxmc.check`: a right model with bounds, planted faults, an estimate, uniformity of ranks, bad arguments."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import auxmc
from auxmc.interface.calibration import _p_value

_FAST = {"replicates": 100, "draws": 20, "warm_up": 100}


def _model(data, jacobian=1.0, scale=1.0):
    """The log of a half-normal scale of normal data, written by hand with its Jacobian."""

    def log_density(v):
        sd = jnp.exp(v["log_sd"])
        data_part = -0.5 * jnp.sum((data / sd) ** 2) - len(data) * v["log_sd"]
        return -0.5 * (sd / scale) ** 2 + jacobian * v["log_sd"] + data_part

    model = auxmc.density(log_density, {"log_sd": 0.0}, checks="off")
    return auxmc.hmc(model, n_steps=(2, 6), mass="unit")


def _draw_prior(key):
    return {"log_sd": jnp.log(jnp.abs(jax.random.normal(key)))}


def _simulate(key, v):
    return jnp.exp(v["log_sd"]) * jax.random.normal(key, (3,))


def test_right_model_passes_and_faults_are_found():
    found = auxmc.check(_model, _draw_prior, _simulate, **_FAST)
    assert not found.warnings
    assert repr(found).startswith("no fault found: smallest p-value ")
    assert [ranks.shape for ranks in found.ranks.values()] == [(100,), (100,)]
    with pytest.warns(
        auxmc.SamplingWarning, match=r"ranks of log_sd are not uniform \(p = .* in 100 replicates"
    ):
        wrong = auxmc.check(partial(_model, jacobian=-1.0), _draw_prior, _simulate, **_FAST)
    assert wrong.p_values["log_sd"] < 1e-4
    figure = wrong.plot()
    assert [axis.get_xlabel() for axis in figure.axes] == ["rank", "rank"]
    with pytest.raises(ValueError, match="expected variables log_sd, got x"):
        auxmc.check(
            _model, lambda key: {"x": jax.random.normal(key)}, lambda key, v: jax.random.normal(key, (3,))
        )
    with pytest.raises(TypeError, match="must return a density, or a method"):
        auxmc.check(lambda data: data, _draw_prior, _simulate)
    with pytest.raises(ValueError, match="simulate gives the same numbers for every key"):
        auxmc.check(_model, _draw_prior, lambda key, v: jnp.zeros(3))


@pytest.mark.slow
def test_estimated_likelihood_is_calibrated():
    """A normal mean whose likelihood is averaged over a latent variable."""

    def model(y):
        def log_estimate(v, u):
            return jax.nn.logsumexp(-0.5 * (y - v["a"] - 0.5 * u) ** 2) - math.log(8)

        made = auxmc.estimated(lambda v: -0.5 * v["a"] ** 2, log_estimate, 8, {"a": 0.0}, checks="off")
        return auxmc.pseudo_marginal(made)

    found = auxmc.check(
        model,
        lambda key: {"a": jax.random.normal(key)},
        lambda key, v: v["a"] + math.sqrt(1.25) * jax.random.normal(key),
        thin=10,
        replicates=200,
    )
    assert not found.warnings


@pytest.mark.slow
def test_periodic_variable_is_calibrated():
    """The vector has a radius that the angle does not determine: it was 1 at the true angle, and drawn elsewhere."""

    def model(y):
        point = lambda v: jnp.stack([jnp.cos(v["angle"]), jnp.sin(v["angle"])])
        return auxmc.hmc(
            auxmc.density(
                lambda v: -jnp.sum((y - point(v)) ** 2), {"angle": 0.5}, periodic="angle", checks="off"
            )
        )

    found = auxmc.check(
        model,
        lambda key: {"angle": jax.random.uniform(key, minval=-math.pi, maxval=math.pi)},
        lambda key, v: (
            jnp.stack([jnp.cos(v["angle"]), jnp.sin(v["angle"])])
            + math.sqrt(0.5) * jax.random.normal(key, (2,))
        ),
    )
    assert not found.warnings


def test_level_of_the_tests_of_uniformity():
    """Of 2000 uniform sets 5 % at most have p below 0.05; sets of 200 that are not have p below 1e-4."""
    random = np.random.default_rng(1)
    sets = random.uniform(size=(2000, 200))
    means = random.normal(size=200)
    assert np.mean([_p_value(ranks, means) < 0.05 for ranks in sets]) < 0.05 + 4.0 * 0.0049
    assert _p_value(sets[0] ** 1.6, means) < 1e-4
    assert _p_value(0.5 + 0.7 * (sets[0] - 0.5), means) < 1e-4
    assert _p_value(sets[0], sets[0] + 0.5 * means) < 1e-4
