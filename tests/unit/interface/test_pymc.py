"""Models of PyMC in `auxmc.sample`: the draws of PyMC's own NUTS, on the variables' own scales."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import auxmc
from tests.unit.interface.comparison import X, Y, assert_same_draws

pymc = pytest.importorskip("pymc")


@pytest.fixture(autouse=True)
def _promotion():
    """PyMC mixes numbers of different types."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


@pytest.mark.slow
def test_draws_are_those_of_pymc_on_their_own_scale():
    with pymc.Model() as model:
        slope = pymc.Normal("slope", 0.0, 2.0, shape=2)
        noise = pymc.HalfNormal("noise", 1.0)
        fractions = pymc.Dirichlet("fractions", np.array([2.0, 3.0, 4.0]))
        pymc.Deterministic("ratio", slope[0] / noise)
        pymc.Normal("y", X @ slope + 0.1 * fractions[0], noise, observed=Y)
    density = auxmc.from_pymc(model)
    assert set(density.layout.names) == {"slope", "noise_log__", "fractions_simplex__"}
    options = {"chains": 4, "cores": 1, "random_seed": 1, "progressbar": False}
    theirs = pymc.sample(draws=800, tune=400, model=model, **options).posterior
    assert_same_draws(density, {name: theirs[name].to_numpy() for name in theirs.data_vars})


def test_density_is_normalised_as_the_priors_are():
    """Log joint density and the transform's derivative, by hand: the integral is the evidence."""
    with pymc.Model() as model:
        rate = pymc.Exponential("rate", 2.0)
        pymc.Exponential("y", rate, observed=1.5)
    density = auxmc.from_pymc(model)
    log_rate = jnp.array([0.3])
    rate = float(jnp.exp(0.3))
    wanted = np.log(2.0) - 2.0 * rate + np.log(rate) - 1.5 * rate + 0.3
    found = float(density.log_density(log_rate))
    assert found == pytest.approx(float(model.compile_logp()({"rate_log__": 0.3})), abs=1e-12)
    # PyMC folds logarithms of constants in single precision.
    assert found == pytest.approx(wanted, abs=1e-7)
    assert float(density.values(log_rate)["rate"]) == pytest.approx(rate)
    assert not np.allclose(*[density.draw_start(jax.random.key(i)) for i in (0, 1)])


def test_models_that_cannot_be_sampled_are_rejected():
    with pymc.Model() as discrete:
        pymc.Bernoulli("which", 0.5)
        pymc.Normal("x")
    with pytest.raises(ValueError, match="the variables which are discrete"):
        auxmc.from_pymc(discrete)
    with pytest.raises(ValueError, match="the model has no free variable"):
        auxmc.from_pymc(pymc.Model())
    with pytest.raises(TypeError, match=r"model must be a pymc\.Model, got int"):
        auxmc.from_pymc(3)
