"""Names of variables, seeds and starts that cannot be used are rejected where they are given."""

import warnings

import jax.numpy as jnp
import numpy as np
import pytest

import auxmc
from tests.unit.interface import models

NORMAL = {"mean": auxmc.prior.normal(), "noise": auxmc.prior.normal()}


def _square(variables):
    return -0.5 * sum((jnp.sum(jnp.square(value)) for value in variables.values()), jnp.zeros(()))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"chain": 0.0}, "start: 'chain' is a dimension of every variable in results; give that"),
        ({"a": 1.0, "draw": 0.0}, "start: 'draw' is a dimension"),
        ({"a/b": 0.0}, "start: 'a/b' has a '/', which separates groups"),
        ({"a.b": 0.0, "a": {"b": 1.0}}, "start: 'a.b' is the name of two variables"),
        ({1: 0.0, "b": 0.0}, "start: the keys of a dictionary must all be text"),
        ({1: 0.0, 2: 0.0}, "start: the keys of a dictionary must all be text"),
        ({"b": np.zeros(2), "b_dim_0": 0.0}, "start: 'b_dim_0' is a dimension of another variable"),
    ],
)
def test_names_that_cannot_be_kept_are_rejected(start, message):
    with pytest.raises((ValueError, TypeError), match=message):
        auxmc.density(_square, start=start)
    with pytest.raises((ValueError, TypeError), match=message):
        auxmc.estimated(_square, lambda v, u: jnp.sum(u), auxiliary=2, start=start)


def test_a_start_of_another_kind_says_what_is_wanted():
    method = auxmc.hmc(models.normal_density())
    with pytest.raises(
        ValueError, match=r"start must have the variables a, b, in a dictionary .*got an array of shape"
    ):
        auxmc.sample(method, start=[0.0, 0.0], progress=False)


@pytest.mark.parametrize("seed", [-1, 2**63, 2**70, 1.5, True])
def test_seeds_out_of_range_are_rejected(seed):
    with pytest.raises(ValueError, match="seed must be an integer"):
        auxmc.sample(auxmc.hmc(models.normal_density()), seed=seed, progress=False)
    with pytest.raises(ValueError, match="seed must be an integer"):
        auxmc.evidence(models.normal_density(), seed=seed, progress=False)
    with pytest.raises(ValueError, match="seed must be an integer"):
        auxmc.replicate(abs, 1, seed=seed)


def test_results_say_their_seed():
    tree = auxmc.sample(auxmc.hmc(models.normal_density()), draws=8, warm_up=0, seed=3, progress=False)
    assert tree.attrs["seed"] == 3


def _simulator(**changes):
    given = {"generate": lambda i: i["mean"] + i["noise"], "observed": 1.0, "inputs": NORMAL} | changes
    return auxmc.simulator(given.pop("generate"), given.pop("observed"), given.pop("inputs"), **given)


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
    with pytest.raises(TypeError, match="takes from 0 to 1 positional"):
        auxmc.prior.normal(1, 2.0)


@pytest.fixture(autouse=True)
def _quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", auxmc.SamplingWarning)
        yield
