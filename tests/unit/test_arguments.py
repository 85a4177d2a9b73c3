"""Functions reject wrong arguments by name, before they compute anything; those of kernels have a file of their own."""

from pathlib import Path
from pkgutil import resolve_name

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml

import auxmc
from auxmc.approximations import advi, expectation_propagation
from auxmc.models.regression.linear_regression import linear_regression
from auxmc.sampling.rejection import Envelope
from tests.unit.interface import models

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
ENVELOPE = Envelope(lambda x: jnp.log(2.0 * x), jax.random.uniform, jnp.zeros_like, jnp.log(2.0))
# What YAML cannot hold: functions, models, keys.
OBJECTS = {
    "key": jax.random.key(0),
    "generator": np.random.default_rng(0),
    "zero": jnp.zeros_like,
    "uniform": jax.random.uniform,
    "above a half": lambda x: x > 0.5,
    "infinite": lambda log_q: np.inf,
    "first": lambda x: x[..., 0],
    "seed": lambda seed: seed,
    "start": advi.MeanField(jnp.zeros(1), jnp.zeros(1)),
    "adam": advi.decaying_adam(0.1, 1),
    "factor": expectation_propagation.gaussian_factor(0.0, 1.0),
    "linear": linear_regression(5),
    "envelope": ENVELOPE,
    "low envelope": ENVELOPE._replace(log_bound=0.5),
    "no envelope": ENVELOPE._replace(log_target=lambda x: jnp.where(x > 0.5, jnp.nan, 0.0)),
    # A log density and its slope.
    "normal": lambda x: (-0.5 * x**2, -x),
    "gamma": lambda x: (np.log(x) - x, 1.0 / x - 1.0),
    "two modes": lambda x: (
        np.logaddexp(-0.5 * (x + 2.0) ** 2, -0.5 * (x - 2.0) ** 2),
        -x + 2 * np.tanh(2 * x),
    ),
    "without a value": lambda x: (np.nan * x, -x),
    "of one value": lambda x: (0.0, -x),
    "density": models.normal_density(),
    "simulator": models.sum_of_normals(),
    "hmc": auxmc.hmc(models.normal_density()),
    "hmc with images": auxmc.with_symmetry(auxmc.hmc(models.normal_density()), lambda v: v),
    "pseudo_marginal": auxmc.pseudo_marginal(models.estimated_normal()),
    "sum": lambda v, u=0.0: sum((jnp.sum(x) for x in v.values()), jnp.sum(u)),
    "class": jax.Array,
    "nothing": iter(()),
}
MADE = {"zeros": np.zeros, "eye": np.eye, "float32": np.float32, "the": OBJECTS.__getitem__}


def made(given):
    """With what {zeros: shape}, {eye: n}, {float32: x} and {the: name of an object} stand for."""
    if isinstance(given, list):
        return [made(one) for one in given]
    if not isinstance(given, dict):
        return given
    if given.keys() <= MADE.keys() and given:
        ((name, argument),) = given.items()
        return MADE[name](argument)
    return {name: made(one) for name, one in given.items()}


@pytest.mark.parametrize(
    ("function", "given"), [(name, case) for name, cases in GIVEN.items() for case in cases]
)
def test_wrong_arguments_are_named(function, given):
    values, message, *names = given
    kind = TypeError if message.startswith("TypeError: ") else ValueError
    with pytest.raises(kind, match=message.removeprefix("TypeError: ")):
        resolve_name(f"auxmc.{function}")(*made(values), **made(names[0] if names else {}))
