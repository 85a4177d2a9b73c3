"""`auxmc.evidence_of` on draws of known densities: exact evidences, chains in one mode or in several, bad input."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy.signal import lfilter
from scipy.special import betaln

import auxmc
from auxmc.diagnostics.tempered_evidence import bridge_evidence
from auxmc.interface.trees import dataset_of

_ERRORS = 4.0


def _is_right(found, exact):
    return abs(found.log_evidence - exact) < _ERRORS * found.standard_error


def _autocorrelated(random, shape, rho=0.8):
    """Standard normal draws [chain, draw, ...] of chains with this autocorrelation."""
    noise = random.normal(size=shape)
    noise[:, 1:] *= math.sqrt(1.0 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=1)


def test_normal_in_ten_dimensions_from_a_tree():
    """Autocorrelated draws of a correlated normal density: a small error and no warning."""
    random = np.random.default_rng(2)
    root = np.linalg.cholesky(0.6 * np.ones((10, 10)) + 0.4 * np.eye(10)) * 3.0
    draws = dataset_of({"x": _autocorrelated(random, (4, 2000, 10)) @ root.T})
    precision = jnp.asarray(np.linalg.inv(root @ root.T))
    found = auxmc.evidence_of(
        xr.DataTree.from_dict({"posterior": draws}), lambda v: -0.5 * v["x"] @ precision @ v["x"]
    )
    assert _is_right(found, 5.0 * math.log(2.0 * math.pi) + np.log(np.diag(root)).sum())
    assert 0.001 < found.standard_error < 0.05
    assert not found.warnings


@pytest.mark.slow
def test_bounded_variables_on_their_own_scales():
    """A beta and a gamma density; draws as a mapping of arrays."""
    random = np.random.default_rng(3)
    model = auxmc.density(
        lambda v: 7.0 * jnp.log(v["p"]) + 13.0 * jnp.log1p(-v["p"]) + 2.0 * jnp.log(v["rate"]) - v["rate"],
        {"p": 0.4, "rate": 2.0},
        bounds={"p": (0, 1), "rate": (0, None)},
    )
    draws = {"p": random.beta(8, 14, size=(4, 1000)), "rate": random.gamma(3.0, size=(4, 1000))}
    found = auxmc.evidence_of(draws, model)
    assert _is_right(found, betaln(8, 14) + math.log(2.0))
    assert found.standard_error < 0.02


def _two_modes(v):
    x = v["x"]
    return jnp.logaddexp(-0.5 * jnp.sum((x - 6.0) ** 2), -0.5 * jnp.sum((x + 6.0) ** 2))


def test_modes_without_draws_and_chains_in_different_modes_are_warned_of():
    random = np.random.default_rng(4)
    one = random.normal(size=(4, 500, 2)) + 6.0
    with pytest.warns(auxmc.SamplingWarning, match="annealed runs (found|ended)"):
        found = auxmc.evidence_of({"x": one}, _two_modes)
    assert found.log_evidence == pytest.approx(math.log(2.0 * math.pi), abs=0.1)
    signs = np.array([1.0, 1.0, -1.0, -1.0])[:, None, None]
    with pytest.warns(auxmc.SamplingWarning, match="the chains disagree"):
        auxmc.evidence_of({"x": one * signs}, _two_modes)
    mixed = one * random.choice([-1.0, 1.0], size=(4, 500, 1))
    found = auxmc.evidence_of({"x": mixed}, _two_modes)
    assert _is_right(found, math.log(4.0 * math.pi))
    assert not found.warnings


def test_error_of_a_bridge_knows_the_autocorrelation():
    """Normalised errors of 200 bridges between normal distributions, from chains with autocorrelation 0.8."""
    random, scores = np.random.default_rng(5), []
    ratio = lambda x: -0.5 * x**2 + 0.5 * (x / 1.3) ** 2 + math.log(1.3 * math.sqrt(2.0 * math.pi))
    for _ in range(200):
        found = bridge_evidence(
            ratio(_autocorrelated(random, (4, 500))), ratio(1.3 * random.normal(size=2000))
        )
        scores.append((found.value - 0.5 * math.log(2.0 * math.pi)) / found.standard_error)
    assert 0.85 < np.std(scores) < 1.2
    assert abs(np.mean(scores)) < 0.3


@pytest.mark.parametrize(
    ("draws", "message"),
    [
        ([1.0, 2.0], "expected an ArviZ tree"),
        ({"x": np.zeros((4, 5, 2))}, "at least 8 of each chain, got 5"),
        ({"x": np.ones((4, 20, 2))}, "the covariance is singular"),
    ],
)
def test_bad_draws_are_rejected(draws, message):
    with pytest.raises(ValueError, match=message):
        auxmc.evidence_of(draws, _two_modes)


def test_draws_of_something_else_are_rejected():
    model = auxmc.density(lambda v: -v["rate"], {"rate": 2.0}, bounds={"rate": (0, None)})
    with pytest.raises(ValueError, match=r"expected rate, got x"):
        auxmc.evidence_of({"x": np.ones((4, 20))}, model)
    with pytest.raises(ValueError, match="rate must lie inside"):
        auxmc.evidence_of({"rate": np.linspace(-1.0, 1.0, 80).reshape(4, 20)}, model)
