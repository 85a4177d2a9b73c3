"""Simulators of a user's own: what is rejected, with what message, and starts on the manifold."""

from collections import OrderedDict
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import auxmc
from auxmc.diagnostics.convergence import summarise_chains
from benchmarks import posterior_problems
from tests.unit.interface import models

NORMAL = {"x": auxmc.prior.normal(3)}
SUM = {"mean": auxmc.prior.normal(), "noise": auxmc.prior.normal()}
DATA = jnp.array([0.1, 0.2])
RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("generate", "observed", "inputs", "message"),
    [
        (lambda i: i["x"][:1], DATA, NORMAL, r"expected the shapes of the observed data"),
        (lambda i: jnp.tile(i["x"], 2), jnp.zeros(6), NORMAL, "3 inputs for 6 observed values"),
        (lambda i: np.exp(i["x"])[:2], DATA, NORMAL, r"generate uses NumPy, float\(\) or Python's if"),
        (lambda i: float(i["x"][0]) * DATA, DATA, NORMAL, "generate uses NumPy"),
        (lambda i: i["y"], DATA, NORMAL, "generate asks for 'y', which is not there"),
        (lambda i: i["x"][:2], DATA, {"x": 3}, r"inputs\['x'\]: expected a prior, such as"),
        (lambda i: i["x"][:2], DATA, {}, "inputs is empty"),
        (lambda i: i["x"][:2], np.zeros(2, np.float32), NORMAL, "observed must be float64, got float32"),
        (lambda i: i["x"][:2], ["a", "b"], NORMAL, "observed must be an array of numbers, got list"),
        (lambda i: i["x"][:2], [0.1, np.nan], NORMAL, r"observed\[1\]: missing value"),
        (lambda i: jnp.log(-jnp.exp(i["x"][:2])), DATA, NORMAL, "no finite outputs for 16 draws"),
        (3, DATA, NORMAL, "generate must be a function that maps inputs to outputs, got int"),
        (lambda i: i["x"][:2], DATA, [auxmc.prior.normal(3)], "inputs must be a dictionary of priors"),
        (lambda i: i["x"][:2].astype(int), DATA, NORMAL, "expected real outputs in float64.* got int64"),
        (lambda i: i["x"][:2], np.array([1j, 2.0]), NORMAL, "array of numbers, got complex128"),
        (lambda i: jnp.float32(i["x"][:2]), DATA, NORMAL, "real outputs in float64.* got float32"),
        (lambda i: i["x"][:2] + RANDOM.normal(), DATA, NORMAL, r"for the same inputs\. Make its random"),
        (
            lambda i: OrderedDict(y=i["x"][0], a=i["x"][1]),
            {"y": 0.1, "a": 0.2},
            NORMAL,
            "expected the order of the observed data, a, y, got y, a. Give both in the same kind of container",
        ),
    ],
)
def test_bad_simulators_are_rejected(generate, observed, inputs, message):
    with pytest.raises((ValueError, TypeError), match=message):
        auxmc.simulator(generate, observed, inputs)


@pytest.mark.parametrize("value", [0.0, -1.0, np.inf, np.nan])
def test_bad_scales_are_rejected(value):
    pair = np.full(2, value)
    for scale, message in (value, "a positive number"), (pair, "one positive number, got array"):
        with pytest.raises((ValueError, TypeError), match=f"noise_scale must be {message}"):
            auxmc.simulator(lambda i: i["x"][:2], DATA, NORMAL, noise_scale=scale)
    constrained = (auxmc.constrained_hmc, auxmc.constrained_nuts)
    for method, model, name in (
        *product(constrained, [models.sum_of_normals()], ("step_size", "tolerance")),
        (auxmc.hmc, models.normal_density(), "step_size"),
        (auxmc.pseudo_marginal, models.estimated_normal(), "scale"),
    ):
        with pytest.raises(ValueError, match=f"{name} must be a positive number"):
            method(model, **{name: value})


def test_rank_deficient_constraint_is_rejected_at_the_start():
    """Two outputs that are the same (trap 3): chains stay where they are; now they do not begin."""
    model = auxmc.simulator(lambda i: jnp.stack([i["x"][0], i["x"][0]]), jnp.zeros(2), NORMAL)
    start = {"x": np.zeros(3)}
    with pytest.raises(ValueError, match=r"chain 0: at the start the outputs' derivative lacks full rank"):
        auxmc.sample(auxmc.constrained_hmc(model), start, draws=5, progress=False)


def _pair(key):
    return jax.random.normal(key, (2,))


def test_prior_without_a_finite_derivative_is_rejected():
    """It is fine where chains would begin, its derivative is not."""
    prior = auxmc.prior.custom(2, lambda u: -jnp.sum(jnp.sqrt(jnp.abs(u))), _pair)
    model = auxmc.simulator(lambda i: i["x"][:1], jnp.zeros(1), {"x": prior})
    with pytest.raises(ValueError, match="log density of the prior or a derivative of the generator is not"):
        auxmc.sample(auxmc.constrained_hmc(model), {"x": np.zeros(2)}, draws=5, progress=False)


@pytest.mark.parametrize(
    ("log_density", "draw", "message"),
    [
        (lambda u: -0.5 * u**2, _pair, r"expected the shape \(\), got \(2,\)"),
        (lambda u: -0.5 * jnp.sum(u**2), jax.random.normal, r"expected the shape \(2,\), got \(\)"),
        (lambda u: 0.5 * jnp.sum(u**2), _pair, "may have the wrong sign"),
        (lambda u: jnp.sum(u) * jnp.nan, _pair, r"log_density of inputs\['x'\]: expected a finite value at"),
    ],
)
def test_custom_priors_that_do_not_fit_are_rejected(log_density, draw, message):
    prior = auxmc.prior.custom(2, log_density, draw)
    with pytest.raises(ValueError, match=message):
        auxmc.simulator(lambda i: i["x"][:1], jnp.zeros(1), {"x": prior})


@pytest.mark.parametrize("model", [posterior_problems.two_moons_model, posterior_problems.slcp_model])
def test_starts_on_manifolds_are_found(model):
    """Trap 11: plain projection found 39 % on SLCP; every start generates the data, and they differ."""
    simulator = model()
    vectors = jax.vmap(simulator.layout.vector)(auxmc.start_on_manifold(simulator, chains=6))
    assert float(jnp.max(jnp.abs(jax.vmap(simulator.model.constraint)(vectors)))) < 1e-8
    assert float(jnp.min(jnp.std(vectors, axis=0))) > 0.0


@pytest.mark.parametrize("name", ["theta", "θ", "~z", "\U0010fffe"])
def test_noise_is_behind_all_inputs_whatever_they_are_called(name):
    """Dictionaries are flattened in the order of their keys, where Greek letters come behind "~"."""
    inputs = {name: auxmc.prior.normal()}
    model = auxmc.simulator(lambda i: i[name][None] * 1.0, [2.0], inputs, noise_scale=0.1)
    start = model.draw_start(jax.random.key(0))
    np.testing.assert_allclose(model.model.constraint(start), 0.0, atol=1e-12)
    assert float(model.values(start)[name] + 0.1 * start[-1]) == pytest.approx(2.0)


def test_noise_is_an_input_and_starts_are_exact():
    """With noise_scale outputs may be more than inputs; the posterior of the mean is that of a normal model."""
    data = jnp.array([0.4, 0.8, 1.2, 0.0])
    model = auxmc.simulator(
        lambda i: i["mean"] * jnp.ones(4),
        data,
        {"mean": auxmc.prior.normal()},
        noise_scale=1.0,
        derived=lambda i: {"double": 2.0 * i["mean"]},
    )
    tree = auxmc.sample(auxmc.constrained_hmc(model), draws=1000, warm_up=300, progress=False)
    mean = tree["posterior"]["mean"]
    found = summarise_chains(mean)
    assert abs(found.mean - 0.6 * 4 / 5) < 4.0 * found.mcse_mean
    assert abs(found.sd - np.sqrt(0.2)) < 4.0 * found.mcse_sd
    assert found.bulk_ess > 400
    assert tree.attrs["warnings"] == []
    assert set(tree["posterior"].data_vars) == {"mean", "double"}
    assert np.array_equal(tree["posterior"]["double"], 2.0 * mean)


def _simulator(**changes):
    given = {"generate": lambda i: i["mean"] + i["noise"], "observed": 1.0, "inputs": SUM}
    return auxmc.simulator(**given | changes)


@pytest.mark.parametrize(
    ("derived", "message"),
    [
        (lambda i: {"mean": 100.0 + i["mean"]}, "derived: mean is an input already"),
        (lambda i: {"m": i["mm"]}, "derived asks for 'mm', which is not there"),
        (lambda i: {"draw": i["mean"]}, "derived: 'draw' is a dimension"),
        (3, "derived must be a function"),
        (lambda i: None, "derived: expected a dictionary of further variables by name, got None"),
        (lambda i: i["mean"], "derived: expected a dictionary of further variables by name, got "),
    ],
)
def test_what_is_derived_is_looked_at_when_the_model_is_made(derived, message):
    with pytest.raises((ValueError, TypeError), match=message):
        _simulator(derived=derived)


@pytest.mark.parametrize(
    ("generate", "observed", "message"),
    [
        (lambda i: jnp.exp(i["mean"]) + jnp.exp(i["noise"]), -1.0, r"the nearest differ by 1\S*. Check"),
        (
            lambda i: 1e10 * (0.3 + i["mean"] + i["noise"]),
            3100000000.000002,  # which no sum of numbers gives
            "which is rounding. Give data and outputs in units",
        ),
    ],
)
def test_the_search_says_why_it_found_nothing(generate, observed, message):
    model = _simulator(generate=generate, observed=observed)
    with pytest.raises(ValueError, match=message):
        auxmc.start_on_manifold(model, chains=1, tries=20)


def test_what_is_printed_of_models_is_short():
    model = _simulator()
    assert repr(model) == "Simulator of 1 outputs from inputs mean, noise"
    assert repr(auxmc.constrained_hmc(model)) == "constrained_hmc on mean, noise"
    assert repr(models.normal_density()) == "Density of a, b (3 numbers)"


def test_parameters_of_priors_may_be_arrays():
    """One for each element, of location and of width."""
    prior = auxmc.prior.normal(np.int64(2), mean=[1.0, -1.0], sd=[0.5, 3.0])
    np.testing.assert_allclose(prior.value(jnp.asarray([1.0, 1.0])), [1.5, 2.0])
    columns = auxmc.prior.uniform((4, 2), low=[0.0, 2.0], high=[1.0, 4.0])
    np.testing.assert_allclose(columns.value(jnp.zeros((4, 2))), [[0.5, 3.0]] * 4)
