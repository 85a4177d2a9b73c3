"""`auxmc.record` and the priors of inputs that are made of gamma and beta variables, against exact distributions."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import auxmc
from auxmc import prior


@pytest.mark.parametrize(
    ("own", "exact"),
    [
        (prior.gamma(4000, alpha=0.4, rate=2.0), stats.gamma(0.4, scale=0.5)),
        (prior.gamma(4000, alpha=30.0), stats.gamma(30.0)),
        (prior.inverse_gamma(4000, alpha=3.0, scale=2.0), stats.invgamma(3.0, scale=2.0)),
        (prior.beta(4000, alpha=0.5, beta=4.0), stats.beta(0.5, 4.0)),
        (prior.student_t(4000, df=2.5, mean=1.0, scale=3.0), stats.t(2.5, 1.0, 3.0)),
        (prior.uniform(-1, 1), stats.uniform(-1.0, 2.0)),
        (prior.normal(4000, mean=1.0, sd=2.0), stats.norm(1.0, 2.0)),
        (prior.log_normal(4000, log_mean=0.5, log_sd=0.4), stats.lognorm(0.4, scale=math.exp(0.5))),
        (prior.exponential(4000, rate=2.0), stats.expon(scale=0.5)),
    ],
)
def test_priors_have_their_distributions(own, exact):
    """The cdf of the values along a grid of u is that of its log density, and draws have it too."""
    one = lambda u: jnp.full(own.shape, u)
    n = max(1, int(np.prod(own.shape)))
    grid = np.linspace(-40.0, 40.0, 8001)
    density = np.exp(jax.lax.map(lambda u: own.log_density(one(u)) / n, jnp.asarray(grid)))
    assert np.sum(density) * 0.01 == pytest.approx(1.0, abs=1e-6)
    mean = np.sum(grid * density) * 0.01
    assert np.sum((grid - mean) ** 2 * density) * 0.01 == pytest.approx(1.0, abs=1e-4)
    u = own.draw(jax.random.key(0))
    if own.shape:
        assert stats.kstest(np.asarray(own.value(u)), exact.cdf).pvalue > 1e-4
    at = np.ravel(own.value(one(0.7)))[0]
    below = np.sum(density[grid < 0.7 - 1e-9]) * 0.01 + 0.005 * density[np.argmin(np.abs(grid - 0.7))]
    assert exact.cdf(at) == pytest.approx(below, abs=1e-4) or exact.sf(at) == pytest.approx(below, abs=1e-4)


def test_ordered_numbers_are_those_of_sorted_normal_ones():
    """Each by its beta distribution, their means and covariance (David and Nagaraja 2003, for three), and far out."""
    own = prior.ordered((20_000, 3), mean=2.0, sd=0.5)
    value = np.asarray(jax.jit(own.value)(own.draw(jax.random.key(1))))
    assert np.all(np.diff(value) > 0.0)
    z = (value - 2.0) / 0.5
    for k in range(3):
        assert stats.kstest(stats.norm.cdf(z[:, k]), stats.beta(k + 1, 3 - k).cdf).pvalue > 1e-4
    np.testing.assert_allclose(z.mean(axis=0), np.array([-1.5, 0.0, 1.5]) / math.sqrt(math.pi), atol=0.03)
    apart, middle = math.sqrt(3.0) / (2.0 * math.pi), math.sqrt(3.0) / math.pi
    exact = [[1.0 + apart - 9.0 / (4.0 * math.pi), apart], [apart, 1.0 - middle]]
    np.testing.assert_allclose(np.cov(z.T)[:2, :2], exact, atol=0.03)
    jacobian = np.asarray(jax.jacobian(prior.ordered(3).value)(jnp.array([9.0, -9.0, 30.0])))
    assert np.isfinite(jacobian).all()
    assert float(prior.ordered(1).value(jnp.array([-3.0]))[0]) == pytest.approx(-3.0)


def test_dirichlet_and_ends_of_a_uniform():
    own = prior.dirichlet((4000, 3), alpha=[1.0, 2.0, 5.0])
    value = np.asarray(own.value(own.draw(jax.random.key(1))))
    np.testing.assert_allclose(value.sum(axis=1), 1.0)
    for k, alpha in enumerate((1.0, 2.0, 5.0)):
        assert stats.kstest(value[:, k], stats.beta(alpha, 8.0 - alpha).cdf).pvalue > 1e-4
    assert prior.uniform([-1.0, 0.0], 1.0).shape == (2,)


def test_recorded_simulator_has_the_distribution_of_the_function():
    """Normal, uniform, exponential, gamma and what is made of them, also under vmap, in the order of the calls."""

    @jax.jit
    def noise(key):
        return jax.random.normal(key) * 2.0

    def simulate(key, v):
        keys = jax.random.split(key, 6)
        rows = jax.vmap(noise)(jax.random.split(keys[0], 3))
        spread = jax.random.uniform(keys[1], minval=v["low"], maxval=3.0)
        mean = {"beta": jax.random.beta(keys[2], 2.0, 3.0), "rate": jax.random.exponential(keys[3], (2,))}
        return {"y": rows + spread, "t": jax.random.t(keys[4], 5.0), **mean}

    generate, inputs = auxmc.record(simulate, {"low": prior.normal(sd=0.1)})
    low, *recorded = inputs
    assert low == "low"
    assert recorded == ["normal_0", "uniform_1", "gamma_2", "gamma_3", "exponential_4", "normal_5", "gamma_6"]
    assert [inputs[name].name for name in recorded] == [name.partition("_")[0] for name in recorded]

    def from_inputs(key):
        keys = dict(zip(inputs, jax.random.split(key, len(inputs)), strict=True))
        return generate({name: own.value(own.draw(keys[name])) for name, own in inputs.items()})

    def plain(key):
        first, second = jax.random.split(key)
        return simulate(first, {"low": 0.1 * jax.random.normal(second)})

    keys = jax.random.split(jax.random.key(3), 3000)
    pair = [jax.jit(jax.vmap(function))(keys) for function in (from_inputs, plain)]
    assert jax.tree.structure(pair[0]) == jax.tree.structure(pair[1])
    for one, other in zip(*map(jax.tree.leaves, pair), strict=True):
        assert stats.ks_2samp(np.ravel(one), np.ravel(other)).pvalue > 1e-4


def _in_loop(key):
    return jax.lax.scan(lambda x, k: (x + jax.random.normal(k), x), 0.0, jax.random.split(key, 3))[0]


@pytest.mark.parametrize(
    ("simulate", "message"),
    [
        (lambda key: jnp.float64(jax.random.poisson(key, 3.0)), r"jax.random.poisson cannot become an input"),
        (_in_loop, "a call inside scan cannot become an input"),
        (lambda key: jax.random.normal(key, dtype=jnp.float32), "jax.random.normal in float32"),
        (
            lambda key: jax.random.gamma(key, jnp.exp(jax.random.normal(key))),
            "jax.random.gamma whose parameter depends on an input",
        ),
        (lambda key: jnp.zeros(2), "expected calls of jax.random"),
        (
            lambda key: jax.random.normal(key) + jax.random.uniform(key),
            "uniform is given a key that was used before: split it",
        ),
        (
            lambda key: jax.random.normal(key) + np.random.default_rng().normal(),
            "other numbers whenever it is traced: draw them with jax.random",
        ),
        (lambda key: np.exp(jax.random.normal(key)), "simulate uses NumPy"),
    ],
)
def test_what_cannot_be_recorded_is_named(simulate, message):
    with pytest.raises((ValueError, TypeError), match=message):
        auxmc.record(simulate)
