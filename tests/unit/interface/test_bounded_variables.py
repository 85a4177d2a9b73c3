"""Variables with bounds or a period: maps to the real line against derivatives, and models that use them."""

import math
import warnings
from pathlib import Path
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import yaml

import auxmc
from auxmc.interface.transforms import bounded, of_distribution, periodic
from tests.unit.interface.comparison import is_right

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

_INF, _normal = math.inf, jax.scipy.stats.norm.logpdf


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.0, 3.0), (2.0, _INF), (-_INF, -1.0), (-_INF, _INF), ([0.0, -_INF], [1.0, 0.0])],
    ids=str,
)
def test_bounded_variables(low, high):
    """Inside the bounds, inverted by the inverse; a uniform variable is standard normal on the line."""
    transform = bounded((2,), low, high)
    slopes = jax.jit(jax.jacobian(transform.forward))
    for u in np.random.default_rng(0).normal(size=(20, 2)) * 2.0:
        v = transform.forward(jnp.asarray(u))
        assert np.all((v > np.asarray(low)) & (v < np.asarray(high)))
        assert np.allclose(transform.inverse(v), u, rtol=1e-9, atol=1e-9)
        log_volume = transform.log_volume(jnp.asarray(u))
        assert np.isclose(log_volume, np.linalg.slogdet(slopes(u))[1], rtol=1e-9)
        if np.all(np.isfinite([low, high])):
            assert np.isclose(log_volume, 2.0 * np.log(np.subtract(high, low)) + np.sum(_normal(u)))


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-1.0, _INF), (-_INF, 2.0)])
def test_far_out_values_stay_inside_the_bounds(low, high):
    """Rounding gives no bound itself, where a beta density of 1/2 and 1/2 is infinite."""
    far = bounded((5,), low, high).forward(jnp.array([-700.0, -40.0, 0.0, 40.0, 700.0]))
    assert np.all((far > low) & (far < high))


@pytest.mark.slow
def test_evidence_of_a_density_that_is_infinite_at_its_bounds():
    arcsine = lambda v: -0.5 * jnp.log(v["p"]) - 0.5 * jnp.log1p(-v["p"])
    model = auxmc.density(arcsine, {"p": 0.5}, bounds={"p": (0, 1)})
    found = auxmc.evidence(model, draws=100, progress=False)
    assert not found.warnings
    assert is_right(found, math.log(math.pi))


@pytest.mark.parametrize(
    ("log_density", "bounds", "is_lost"),
    [
        (lambda x: -jnp.log(x) - x, (0, None), True),
        (lambda x: -0.999 * jnp.log(x) - x, (0, None), True),
        (lambda x: -0.98 * jnp.log(x) - x, (0, None), False),
        (lambda x: 2.0 * jnp.log(x) - 0.95 * jnp.log1p(-x), (0, 1), True),
        (lambda x: 2.0 * jnp.log(x) - 0.5 * jnp.log1p(-x), (0, 1), False),
    ],
)
def test_mass_nearer_to_a_bound_than_numbers_is_named(log_density, bounds, is_lost):
    """Half of a gamma variable of shape 0.001 is below 1e-308; 1 / x has an infinite integral there."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = auxmc.density(lambda v: log_density(v["x"]), {"x": 0.5}, bounds={"x": bounds})
    assert ["mass beyond the last number is lost" in str(one.message) for one in said] == [True] * is_lost
    if is_lost:
        with pytest.raises(ValueError, match="does not fall far out along x towards a bound"):
            auxmc.evidence(model, progress=False)


def test_evidence_names_a_prior_without_its_constant_and_a_narrow_support():
    prior = (lambda v: -0.5 * v["x"] ** 2, lambda key: {"x": jax.random.normal(key)})
    warned = r"log integral is 0\.92 .* the evidence is off by as much"
    with pytest.warns(auxmc.SamplingWarning, match=warned):
        auxmc.evidence(auxmc.density(lambda v: -(v["x"] ** 2), prior=prior), draws=50, progress=False)
    narrow = auxmc.density(lambda v: jnp.where(jnp.abs(v["x"]) < 1e-4, 0.0, -jnp.inf), {"x": 0.0})
    with pytest.raises(ValueError, match="no annealed run reached the target"):
        auxmc.evidence(narrow, draws=50, progress=False)


def test_periodic_variable():
    """The density of the plane integrates to that of the variable; the inverse gives the same variable again."""
    transform = periodic((), 1.0, 4.0)
    for v in (1.0, 1.7, 3.99):
        u = transform.fill(jax.random.key(3), transform.inverse(jnp.asarray(v)))
        assert np.isclose(transform.forward(u), v)
    grid = np.linspace(-8.0, 8.0, 321)
    plane = jnp.asarray(np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2))

    def integrand(u):
        return jnp.exp(transform.log_volume(u) + jnp.cos(2.0 * jnp.pi * transform.forward(u) / 3.0))

    total = float(jnp.sum(jax.vmap(integrand)(plane))) * (grid[1] - grid[0]) ** 2
    assert np.isclose(total, 3.0 * np.i0(1.0), rtol=1e-3)


def test_draws_are_on_the_scale_of_the_variables():
    """A beta distribution by `auxmc.sample`: starts and draws are proportions."""
    log_density = lambda p: 2.0 * jnp.log(p["a"]["b"]) + 4.0 * jnp.log1p(-p["a"]["b"])
    model = auxmc.density(log_density, {"a": {"b": 0.5}}, bounds={"a.b": (0, 1)})
    tree = auxmc.sample(auxmc.hmc(model), {"a": {"b": 0.3}}, draws=1000, warm_up=300, progress=False)
    draws = tree["posterior"]["a.b"].to_numpy()
    assert np.all((draws > 0.0) & (draws < 1.0))
    # Mean 3/8 with standard deviation 0.16: five errors of 500 independent draws.
    assert abs(draws.mean() - 3.0 / 8.0) < 5.0 * 0.16 / math.sqrt(500)


@pytest.mark.parametrize(("settings", "message"), GIVEN["bad"])
def test_bad_bounds_and_priors_are_rejected(settings, message):
    with pytest.raises((ValueError, TypeError), match=message):
        auxmc.density(lambda p: -(p["x"] ** 2), {"x": 0.5}, **settings)


def test_prior_of_numpyro():
    """Supports become bounds, and the log prior is part of the density."""
    dist = pytest.importorskip("numpyro.distributions")
    prior = {
        "p": dist.Uniform(-1.0, 1.0),
        "s": dist.HalfNormal(2.0),
        "w": dist.Dirichlet(jnp.ones(3)),
        "m": dist.Normal(0.0, 1.0).expand([2]),
    }
    model = auxmc.density(lambda v: -jnp.sum(v["m"] ** 2) - v["p"] ** 2 - v["s"] - v["w"][0], prior=prior)
    assert model.layout.dim == 1 + 1 + 2 + 2
    assert model.draw_prior is not None
    vector = model.draw_prior(jax.random.key(0))
    values = model.values(vector)
    assert -1.0 < values["p"] < 1.0
    assert np.isclose(jnp.sum(values["w"]), 1.0)
    likelihood = -jnp.sum(values["m"] ** 2) - values["p"] ** 2 - values["s"] - values["w"][0]
    assert model.log_prior is not None
    assert np.isclose(model.log_density(vector), model.log_prior(vector) + likelihood)
    with pytest.raises(ValueError, match="n has a discrete distribution"):
        auxmc.density(lambda v: v["n"] * 1.0, prior={"n": dist.Poisson(3.0)})


def test_prior_of_tensorflow_probability():
    """By its public methods alone: a half-normal distribution with the exponential as its bijector."""
    volume = lambda u, event_ndims: u
    bijector = SimpleNamespace(forward=jnp.exp, inverse=jnp.log, forward_log_det_jacobian=volume)
    distribution = SimpleNamespace(
        batch_shape=(),
        event_shape=(),
        log_prob=lambda v: math.log(2.0) + _normal(v),
        sample=lambda seed: jnp.abs(jax.random.normal(seed, dtype=jnp.float64)),
        experimental_default_event_space_bijector=lambda: bijector,
    )
    assert of_distribution("s", distribution).shape == ()
    model = auxmc.density(lambda v: -v["s"], prior={"s": distribution})
    found = auxmc.evidence(model, draws=1000, progress=False)
    assert is_right(found, math.log(math.erfc(math.sqrt(0.5))) + 0.5)


@pytest.mark.slow
def test_evidence_of_ordered_variables():
    """Three sorted normal numbers, of whose sum there is a datum: as if they were not sorted."""
    log_prior = lambda v: jnp.sum(_normal(v["x"])) + math.log(6.0)
    prior = log_prior, lambda key: {"x": jnp.sort(jax.random.normal(key, (3,)))}
    model = auxmc.density(lambda v: _normal(2.0, jnp.sum(v["x"]), 1.0), prior=prior, bounds={"x": "ordered"})
    found = auxmc.evidence(model, draws=1000, progress=False)
    assert not found.warnings
    assert abs(found.log_evidence - float(_normal(2.0, 0.0, 2.0))) < 4.0 * found.standard_error < 0.2
    x = found.posterior["posterior"]["x"].to_numpy()
    assert np.all(np.diff(x) > 0.0)
    assert abs(x.sum(axis=-1).mean() - 1.5) < 0.1
    with pytest.raises(ValueError, match="start: x must lie inside increasing numbers"):
        auxmc.density(lambda v: -jnp.sum(v["x"] ** 2), {"x": [1.0, 0.0]}, bounds={"x": "ordered"})


@pytest.mark.slow
def test_exchangeable_labels():
    """Two normal means whose labels can be exchanged: the evidence of both orders, draws in increasing order."""
    data = jnp.asarray([-1.0, 2.5])

    def log_density(v):
        terms = _normal(data[:, None], v["mean"][None], 0.5) - math.log(2.0)
        return jnp.sum(jax.nn.logsumexp(terms, axis=1)) + jnp.sum(_normal(v["mean"], 0.0, 3.0))

    model = auxmc.density(log_density, {"mean": [2.0, -1.0]}, exchangeable="mean")
    found = auxmc.evidence(model, draws=1000, progress=False)
    # Each datum has one of two labels: both the same one, or different ones, with normal integrals of their own.
    one, two = 9.0 + 0.25, np.array([[9.25, 9.0], [9.0, 9.25]])
    apart = np.sum(_normal(data, 0.0, math.sqrt(one)))
    together = jax.scipy.stats.multivariate_normal.logpdf(data, jnp.zeros(2), two)
    assert is_right(found, float(jnp.logaddexp(apart, together) - math.log(2.0)))
    assert np.all(np.diff(found.posterior["posterior"]["mean"], axis=-1) > 0.0)
    unlike = lambda v: -(v["mean"][0] ** 2) - 2.0 * v["mean"][1] ** 2
    with pytest.raises(ValueError, match=r"the log density changes from .* when the labels of mean are"):
        auxmc.density(unlike, {"mean": [0.0, 1.0]}, exchangeable="mean")
