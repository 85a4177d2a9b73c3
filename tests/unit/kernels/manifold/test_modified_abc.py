"""Modified ABC for quantile models: brackets, accept probabilities, counts, bad inputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from auxmc.kernels.manifold.modified_abc import bracket_uniforms, modified_abc
from tests.unit.kernels.toys import chain, log_normal

OBSERVATIONS = jnp.array([-0.8, 0.3, 2.5])
TOLERANCE = 0.2


def logistic_quantile(p, z):
    """Location family: z + logit(p)."""
    return z[0] + jnp.log(p) - jnp.log1p(-p)


def _kernel(**changes):
    settings = {"quantile": logistic_quantile, "log_prior": log_normal, "observations": OBSERVATIONS}
    numbers = {"tolerance": TOLERANCE, "step_size": 0.5, "dim": 1, "n_bisections": 16}
    return modified_abc(**settings | numbers | changes)


def _noise(kernel, offset, uniform):
    """Random numbers with which every proposal that has a density is accepted."""
    moves = {"offsets": jnp.array([offset]), "uniforms": jnp.full(3, uniform)}
    return kernel.draw(jax.random.key(0))._replace(**moves, log_uniform=jnp.asarray(-np.inf))


def _allowed(z):
    data = np.asarray(OBSERVATIONS)
    return stats.logistic.cdf(data - TOLERANCE - z), stats.logistic.cdf(data + TOLERANCE - z)


@pytest.mark.parametrize("n_bisections", [3, 12, 24])
@pytest.mark.parametrize("z", [-2.0, 0.1, 1.7])
def test_brackets_hold_the_allowed_uniforms_and_little_more(n_bisections, z):
    brackets = bracket_uniforms(logistic_quantile, jnp.array([z]), OBSERVATIONS, TOLERANCE, n_bisections)
    low, high = _allowed(z)
    cell = 2.0**-n_bisections
    for excess in (low - np.asarray(brackets.lower), np.asarray(brackets.upper) - high):
        assert np.all(excess >= 0.0)
        assert np.all(excess <= cell)
    # Ends are multiples of the cell: a function of the parameters alone.
    np.testing.assert_array_equal(np.asarray(brackets.lower) / cell % 1.0, 0.0)


def test_an_end_that_is_never_reached_stays_at_zero_or_one():
    bounded = lambda p, z: z[0] + p
    brackets = bracket_uniforms(bounded, jnp.array([0.0]), jnp.array([0.05, 0.95, 7.0]), 0.1, 20)
    assert float(brackets.lower[0]) == 0.0
    assert float(brackets.upper[1]) == 1.0
    # A datum beyond the range has a bracket at the end of the interval, and no uniform in it is allowed.
    np.testing.assert_allclose([brackets.lower[2], brackets.upper[2]], 1.0, atol=2.0**-19)


def test_the_start_gives_the_data():
    state = _kernel().init(jnp.array([0.4]))
    generated = logistic_quantile(state.uniforms, state.position)
    np.testing.assert_allclose(generated, OBSERVATIONS, atol=1e-12)
    assert float(state.log_density) == pytest.approx(-0.08)
    low, high = _allowed(0.4)
    assert float(state.log_width) == pytest.approx(np.log(high - low).sum(), abs=1e-3)


def test_the_accept_probability_is_the_ratio_of_priors_and_widths():
    kernel = _kernel()
    state = kernel.init(jnp.array([0.0]))
    noise = _noise(kernel, 0.8, 0.5)
    new, info = kernel.apply(noise, state)
    assert float(new.position[0]) == pytest.approx(0.4)
    before, after = (np.prod(np.subtract(*_allowed(z)[::-1])) for z in (0.0, 0.4))
    expected = min(1.0, np.exp(-0.08) * after / before)
    assert float(info.acceptance_rate) == pytest.approx(expected, rel=1e-3)
    assert bool(info.is_accepted)
    assert int(info.n_quantiles) == 33
    # The other way the ratio is inverted.
    back = kernel.apply(noise._replace(offsets=jnp.array([-0.8])), new)[1]
    inverted = min(1.0, np.exp(0.08) * before / after)
    assert float(back.acceptance_rate) == pytest.approx(inverted, rel=1e-3)


@pytest.mark.parametrize(
    ("changes", "uniform", "counts"),
    [
        ({"n_bisections": 2, "step_size": 1e-9}, 0.999, (1, 0)),
        ({"log_prior": lambda z: jnp.where(z[0] < 0.05, 0.0, -jnp.inf)}, 0.5, (0, 1)),
        ({"quantile": lambda p, z: jnp.where(z[0] < 0.05, logistic_quantile(p, z), jnp.nan)}, 0.5, (1, 0)),
    ],
    ids=["in the slack of its bracket", "outside the prior", "not a number"],
)
def test_a_proposal_without_density_is_rejected_and_counted(changes, uniform, counts):
    kernel = _kernel(**changes)
    state = kernel.init(jnp.array([0.0]))
    new, info = kernel.apply(_noise(kernel, 0.9, uniform), state)
    assert not bool(info.is_accepted)
    assert (int(info.n_outside_tolerance), int(info.n_outside_prior)) == counts
    assert float(info.acceptance_rate) == 0.0
    jax.tree.map(np.testing.assert_array_equal, new, state)


def test_a_start_that_cannot_give_the_data_is_left_at_the_first_allowed_proposal():
    kernel = _kernel(quantile=lambda p, z: z[0] + p, observations=jnp.array([0.5, 0.6]), step_size=1.0)
    state = kernel.init(jnp.array([1.0]))
    assert float(state.log_density) == -np.inf
    noise = kernel.draw(jax.random.key(2))._replace(offsets=jnp.array([-0.9]), uniforms=jnp.full(2, 0.5))
    new, info = kernel.apply(noise, state)
    assert bool(info.is_accepted)
    assert np.isfinite(float(new.log_density))


def test_finer_bisection_accepts_more_and_may_be_traced():
    def rate(n_bisections):
        kernel = _kernel(n_bisections=n_bisections)
        keys = jax.random.split(jax.random.key(4), 1500)
        _, (_, infos) = chain(kernel, kernel.init(jnp.array([0.5])), keys)
        return jnp.mean(infos.is_accepted, dtype=jnp.float64)

    coarse, fine = jax.jit(jax.vmap(rate))(jnp.array([4, 20], jnp.int32))
    # Independent draws of a Bernoulli variable this often would differ by 0.04 with probability under 1e-3.
    assert float(fine) > float(coarse) + 0.1
