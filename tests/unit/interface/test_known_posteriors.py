"""Problems with known answers through the public names alone: moments, evidence, `auxmc.evidence_of`, `auxmc.check`."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy import stats
from scipy.signal import lfilter
from scipy.special import betaln

import auxmc
from auxmc.diagnostics.tempered_evidence import bridge_evidence
from auxmc.interface.calibration import _p_value
from auxmc.interface.trees import dataset_of
from benchmarks import posterior_problems
from benchmarks.posterior_accuracy import largest_z, told_apart
from benchmarks.posterior_problems import N_EXACT, Found, linear_method, sampled
from tests.unit.interface.comparison import is_right


def gaussian_linear_uniform(random):
    """Ten parameters, each seen once with noise, and a uniform prior, whose ends cut the posterior off."""
    data, sd = random.uniform(-1.0, 1.0, 10), math.sqrt(0.1)
    low, high = (-1.0 - data) / sd, (1.0 - data) / sd
    exact = stats.truncnorm.rvs(low, high, data, sd, size=(N_EXACT, 10), random_state=random)
    return sampled(linear_method(data, auxmc.prior.uniform(10, low=-1.0, high=1.0)), "theta", exact, random)


def latent_mean(random):
    """A mean with a standard normal prior; 20 data of variance 1 around latent values of variance 1 around it."""
    data = random.normal(0.7, math.sqrt(2.0), 20)

    def log_estimate(v, u):
        terms = jax.scipy.stats.norm.logpdf(data[None, :], v["mean"] + u)
        return jnp.sum(jax.nn.logsumexp(terms, axis=0) - math.log(len(u)))

    model = auxmc.estimated(lambda v: -0.5 * v["mean"] ** 2, log_estimate, (8, 20), {"mean": 0.0})
    precision = 1.0 + 20.0 / 2.0
    exact = np.sum(data) / 2.0 / precision + random.normal(size=(N_EXACT, 1)) / math.sqrt(precision)
    return sampled(auxmc.auxiliary_pseudo_marginal(model), "mean", exact, random)


# Two and four modes, bounds, ten parameters, an estimated likelihood, evidences; the others are warned of.
RIGHT = [
    posterior_problems.two_moons_jumps,
    posterior_problems.slcp_jumps,
    posterior_problems.slcp_likelihood,
    posterior_problems.gaussian_linear,
    gaussian_linear_uniform,
    latent_mean,
    posterior_problems.two_modes,
]


@pytest.mark.slow
@pytest.mark.parametrize("problem", RIGHT, ids=lambda problem: problem.__name__)
def test_draws_are_those_of_the_posterior(problem):
    """Nothing else is warned of, and neither moments, nor neighbours, nor the evidence tell draws from exact ones."""
    found = problem(np.random.default_rng(0))
    # Exploring runs end in narrow modes by chance, and a mode that one run has found is warned of.
    assert [text for text in found.warnings if "one exploring run" not in text] == []
    # Of twenty scores at most the largest is above 4 in one of 800 cases.
    assert max(largest_z(found)) < 4.0
    right, error_of_right = told_apart(found)
    assert abs(right - 0.5) < 4.0 * error_of_right
    if found.log_evidence is not None:
        value, error, exact = found.log_evidence
        assert abs(value - exact) < 3.0 * error
        assert error < 0.2


def test_a_classifier_tells_draws_of_another_distribution():
    """The measure sees a shift of a third of a standard deviation, and one mode of two."""
    random = np.random.default_rng(1)
    same, other = random.normal(size=(2, 1, 2000, 2))
    exact = random.normal(size=(2000, 2))
    right, error = told_apart(Found(same, exact, []))
    assert error < 0.012
    assert abs(right - 0.5) < 0.03
    for wrong in (other + 0.33, np.abs(other)):
        right, error = told_apart(Found(wrong, exact, []))
        assert right > 0.5 + 4.0 * error


def _autocorrelated(random, shape):
    """Standard normal draws [chain, draw, ...] of chains with autocorrelation 0.8."""
    noise = random.normal(size=shape)
    noise[:, 1:] *= math.sqrt(1.0 - 0.8**2)
    return lfilter([1.0], [1.0, -0.8], noise, axis=1)


def test_normal_in_ten_dimensions_from_a_tree():
    """Autocorrelated draws of a correlated normal density: a small error and no warning."""
    random = np.random.default_rng(2)
    root = np.linalg.cholesky(0.6 * np.ones((10, 10)) + 0.4 * np.eye(10)) * 3.0
    draws = dataset_of({"x": _autocorrelated(random, (4, 2000, 10)) @ root.T})
    precision = jnp.asarray(np.linalg.inv(root @ root.T))
    tree = xr.DataTree.from_dict({"posterior": draws})
    found = auxmc.evidence_of(tree, lambda v: -0.5 * v["x"] @ precision @ v["x"])
    assert is_right(found, 5.0 * math.log(2.0 * math.pi) + np.log(np.diag(root)).sum())
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
    assert is_right(found, betaln(8, 14) + math.log(2.0))
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
    found = auxmc.evidence_of({"x": one * random.choice([-1.0, 1.0], size=(4, 500, 1))}, _two_modes)
    assert is_right(found, math.log(4.0 * math.pi))
    assert not found.warnings


def test_error_of_a_bridge_knows_the_autocorrelation():
    """Normalised errors of 200 bridges between normal distributions, from chains with autocorrelation 0.8."""
    random, scores = np.random.default_rng(5), []
    ratio = lambda x: -0.5 * x**2 + 0.5 * (x / 1.3) ** 2 + math.log(1.3 * math.sqrt(2.0 * math.pi))
    for _ in range(200):
        target, base = _autocorrelated(random, (4, 500)), 1.3 * random.normal(size=2000)
        found = bridge_evidence(ratio(target), ratio(base))
        scores.append((found.value - 0.5 * math.log(2.0 * math.pi)) / found.standard_error)
    assert 0.85 < np.std(scores) < 1.2
    assert abs(np.mean(scores)) < 0.3


def _normal(v):
    return -0.5 * v["x"] ** 2


_X = np.random.default_rng(5).normal(size=(4, 200))


@pytest.mark.parametrize(
    ("draws", "log_density", "message"),
    [
        ([1.0, 2.0], _two_modes, "expected an ArviZ tree"),
        ({"x": np.zeros((4, 5, 2))}, _two_modes, "at least 8 of each chain, got 5"),
        ({"x": np.ones((4, 20, 2))}, _two_modes, "the covariance is singular"),
        # It took the bridge to an evidence of its own scale.
        ({"x": _X, "scale": np.exp(_X)}, _normal, "log_density does not depend on scale: leave out what"),
    ],
)
def test_bad_draws_are_rejected(draws, log_density, message):
    with pytest.raises(ValueError, match=message):
        auxmc.evidence_of(draws, log_density)


def test_divergences_are_warned_of():
    groups = {"posterior": dataset_of({"x": _X}), "sample_stats": dataset_of({"diverging": _X > 2})}
    with pytest.warns(auxmc.SamplingWarning, match=r"of 800 trajectories diverged"):
        auxmc.evidence_of(xr.DataTree.from_dict(groups), _normal)


def test_draws_of_something_else_are_rejected():
    model = auxmc.density(lambda v: -v["rate"], {"rate": 2.0}, bounds={"rate": (0, None)})
    with pytest.raises(ValueError, match=r"expected rate, got x"):
        auxmc.evidence_of({"x": np.ones((4, 20))}, model)
    with pytest.raises(ValueError, match="rate must lie inside"):
        auxmc.evidence_of({"rate": np.linspace(-1.0, 1.0, 80).reshape(4, 20)}, model)


_FAST = {"replicates": 100, "draws": 20, "warm_up": 100}


def _model(data, jacobian=1.0):
    """The log of a half-normal scale of normal data, written by hand with its Jacobian."""

    def log_density(v):
        sd = jnp.exp(v["log_sd"])
        data_part = -0.5 * jnp.sum((data / sd) ** 2) - len(data) * v["log_sd"]
        return -0.5 * sd**2 + jacobian * v["log_sd"] + data_part

    model = auxmc.density(log_density, {"log_sd": 0.0}, checks="off")
    return auxmc.hmc(model, n_steps=(2, 6), mass="unit")


def _draw_prior(key):
    return {"log_sd": jnp.log(jnp.abs(jax.random.normal(key)))}


def _draw_data(key):
    return jax.random.normal(key, (3,))


def _simulate(key, v):
    return jnp.exp(v["log_sd"]) * _draw_data(key)


def test_right_model_passes_and_faults_are_found():
    found = auxmc.check(_model, _draw_prior, _simulate, **_FAST)
    assert not found.warnings
    assert repr(found).startswith("no fault found: smallest p-value ")
    assert [ranks.shape for ranks in found.ranks.values()] == [(100,), (100,)]
    warned = r"ranks of log_sd are not uniform \(p = .* in 100 replicates"
    with pytest.warns(auxmc.SamplingWarning, match=warned):
        wrong = auxmc.check(partial(_model, jacobian=-1.0), _draw_prior, _simulate, **_FAST)
    assert wrong.p_values["log_sd"] < 1e-4
    figure = wrong.plot()
    assert [axis.get_xlabel() for axis in figure.axes] == ["rank", "rank"]
    with pytest.raises(ValueError, match="expected variables log_sd, got x"):
        auxmc.check(_model, lambda key: {"x": jax.random.normal(key)}, lambda key, v: _draw_data(key))
    with pytest.raises(TypeError, match="must return a density, or a method"):
        auxmc.check(lambda data: data, _draw_prior, _simulate)
    with pytest.raises(ValueError, match="simulate gives the same numbers for every key"):
        auxmc.check(_model, _draw_prior, lambda key, v: jnp.zeros(3))


@pytest.mark.slow
def test_estimated_likelihood_is_calibrated():
    """A normal mean whose likelihood is averaged over a latent variable."""

    def model(y):
        log_estimate = lambda v, u: jax.nn.logsumexp(-0.5 * (y - v["a"] - 0.5 * u) ** 2) - math.log(8)
        made = auxmc.estimated(lambda v: -0.5 * v["a"] ** 2, log_estimate, 8, {"a": 0.0}, checks="off")
        return auxmc.pseudo_marginal(made)

    draw_prior = lambda key: {"a": jax.random.normal(key)}
    simulate = lambda key, v: v["a"] + math.sqrt(1.25) * jax.random.normal(key)
    assert not auxmc.check(model, draw_prior, simulate, thin=10, replicates=200).warnings


@pytest.mark.slow
def test_periodic_variable_is_calibrated():
    """The vector has a radius that the angle does not determine: it was 1 at the true angle, and drawn elsewhere."""
    point = lambda v: jnp.stack([jnp.cos(v["angle"]), jnp.sin(v["angle"])])

    def model(y):
        log_density = lambda v: -jnp.sum((y - point(v)) ** 2)
        return auxmc.hmc(auxmc.density(log_density, {"angle": 0.5}, periodic="angle", checks="off"))

    draw_prior = lambda key: {"angle": jax.random.uniform(key, minval=-math.pi, maxval=math.pi)}
    simulate = lambda key, v: point(v) + math.sqrt(0.5) * jax.random.normal(key, (2,))
    assert not auxmc.check(model, draw_prior, simulate).warnings


def test_level_of_the_tests_of_uniformity():
    """Of 2000 uniform sets 5 % at most have p below 0.05; sets of 200 that are not have p below 1e-4."""
    random = np.random.default_rng(1)
    sets = random.uniform(size=(2000, 200))
    means = random.normal(size=200)
    assert np.mean([_p_value(ranks, means) < 0.05 for ranks in sets]) < 0.05 + 4.0 * 0.0049
    assert _p_value(sets[0] ** 1.6, means) < 1e-4
    assert _p_value(0.5 + 0.7 * (sets[0] - 0.5), means) < 1e-4
    assert _p_value(sets[0], sets[0] + 0.5 * means) < 1e-4
