"""Models of NumPyro in `auxmc.sample`: the draws of NumPyro's own NUTS, on the variables' own scales."""

import math

import arviz_stats
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import auxmc
from tests.unit.interface.comparison import X, Y, assert_same_draws, is_right

numpyro = pytest.importorskip("numpyro")
dist = numpyro.distributions


@pytest.fixture(autouse=True)
def _promotion():
    """NumPyro mixes numbers of different types."""
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        yield


def regression(x, y=None):
    slope = numpyro.sample("slope", dist.Normal(0.0, 2.0).expand([2]).to_event(1))
    noise = numpyro.sample("noise", dist.HalfNormal(1.0))
    fractions = numpyro.sample("fractions", dist.Dirichlet(jnp.array([2.0, 3.0, 4.0])))
    numpyro.deterministic("ratio", slope[0] / noise)
    with numpyro.plate("rows", len(x)):
        numpyro.sample("y", dist.Normal(x @ slope + 0.1 * fractions[0], noise), obs=y)


@pytest.mark.slow
def test_draws_are_those_of_numpyro_on_their_own_scale():
    model = auxmc.from_numpyro(regression, X, y=Y)
    # Three fractions that sum to one are two numbers.
    assert model.layout.named_shapes == {"noise": (), "fractions": (2,), "slope": (2,)}
    options = {"num_chains": 4, "chain_method": "vectorized", "progress_bar": False}
    own = numpyro.infer.MCMC(numpyro.infer.NUTS(regression), num_warmup=400, num_samples=800, **options)
    own.run(jax.random.key(1), X, y=Y)
    assert_same_draws(model, own.get_samples(group_by_chain=True))


def test_density_is_normalised_as_the_priors_are():
    """Log joint density and the transform's derivative, by hand: the integral is the evidence."""

    def model(y):
        numpyro.sample("y", dist.Exponential(numpyro.sample("rate", dist.Exponential(2.0))), obs=y)

    density = auxmc.from_numpyro(model, 1.5)
    log_rate = jnp.array([0.3])
    rate = float(jnp.exp(0.3))
    wanted = np.log(2.0) - 2.0 * rate + np.log(rate) - 1.5 * rate + 0.3
    assert float(density.log_density(log_rate)) == pytest.approx(wanted, abs=1e-12)
    assert float(density.values(log_rate)["rate"]) == pytest.approx(rate)


def test_chains_begin_at_different_points():
    model = auxmc.from_numpyro(regression, X, y=Y)
    starts = [model.draw_start(jax.random.key(i)) for i in (0, 1)]
    assert not np.allclose(*starts)
    assert np.abs(starts).max() <= 2.0


def discrete():
    numpyro.sample("which", dist.Bernoulli(0.5))
    numpyro.sample("x", dist.Normal())


def part(y):
    mean = numpyro.sample("mean", dist.Normal())
    with numpyro.plate("rows", 30, subsample_size=5) as rows:
        numpyro.sample("y", dist.Normal(mean, 1.0), obs=y[rows])


@pytest.mark.parametrize(
    ("model", "arguments", "message"),
    [
        (discrete, (), "the sites which are discrete and not observed"),
        (part, (jnp.asarray(Y),), "the plate rows takes 5 of 30 rows: give it all rows"),
        (lambda: None, (), "the model draws nothing"),
        (3, (), "model must be a function that draws sites of NumPyro, got int"),
        (
            lambda: numpyro.deterministic("draw", numpyro.sample("x", dist.Normal())),
            (),
            "'draw' is a dimension of every variable in results; give that variable another name",
        ),
    ],
)
def test_models_that_cannot_be_sampled_are_rejected(model, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        auxmc.from_numpyro(model, *arguments)


def test_an_improper_prior_needs_no_draws():
    """A flat prior of the mean: the integral of the likelihood."""

    def model(y):
        mean = numpyro.sample("mean", dist.ImproperUniform(dist.constraints.real, (), ()))
        numpyro.sample("y", dist.Normal(mean, 1.0), obs=y)

    y = np.array([1.0, 2.0, 1.5])
    found = auxmc.evidence(auxmc.from_numpyro(model, y), draws=300, progress=False)
    exact = -0.5 * np.sum((y - y.mean()) ** 2) - math.log(2.0 * math.pi) - 0.5 * math.log(3.0)
    assert is_right(found, exact)
    prior = {"mean": dist.ImproperUniform(dist.constraints.real, (), ())}
    with pytest.raises(ValueError, match="prior: ImproperUniform has no draws, as improper ones: give"):
        auxmc.density(lambda v: -(v["mean"] ** 2), prior=prior)


@pytest.mark.parametrize(
    "prior", [dist.Normal(0.0, 2.0).expand([2]), dist.Normal(jnp.zeros(2), 2.0).to_event(1)]
)
def test_labels_with_a_prior_on_the_whole_line_are_exchanged(prior):
    """Two normal means: half of the integral over the plane, twice."""
    y = np.array([[-2.0], [2.1]])

    normal = jax.scipy.stats.norm.logpdf

    def log_density(v):
        return jnp.sum(jax.nn.logsumexp(normal(y, v["mean"][None], 0.5) - math.log(2.0), axis=1))

    model = auxmc.density(log_density, prior={"mean": prior}, exchangeable="mean")
    found = auxmc.evidence(model, draws=300, progress=False)
    grid = np.linspace(-8.0, 8.0, 401)
    means = {"mean": jnp.asarray(np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2))}
    values = jax.vmap(lambda v: log_density(v) + jnp.sum(normal(v["mean"], 0.0, 2.0)))(means)
    assert is_right(found, float(jax.nn.logsumexp(values)) + 2.0 * math.log(grid[1] - grid[0]))


def test_arviz_takes_the_log_likelihoods_of_numpyro() -> None:
    """The estimate is below the mean of the log likelihood by about the number of parameters, four."""
    method = auxmc.hmc(auxmc.from_numpyro(regression, X, y=Y))
    tree = auxmc.sample(method, draws=50, warm_up=50, progress=False)
    draws = {str(name): jnp.asarray(array.to_numpy()) for name, array in tree["posterior"].data_vars.items()}
    found = numpyro.infer.log_likelihood(regression, draws, X, y=Y, batch_ndims=2)
    tree["log_likelihood"] = xr.DataTree(
        xr.Dataset({"y": (("chain", "draw", "row"), np.asarray(found["y"]))}, coords=tree["posterior"].coords)
    )
    estimate = arviz_stats.loo(tree)
    assert estimate.n_data_points == len(Y)
    assert estimate.elpd == pytest.approx(float(tree["log_likelihood/y"].sum("row").mean()), abs=6.0)


def test_evidence_of_draws_on_their_own_scale():
    """A normal mean and a positive rate without data: the exact evidence from draws on the scales of the model."""
    data = np.array([0.3, 1.2, -0.4])

    def model():
        mean = numpyro.sample("mean", dist.Normal(0.0, 1.0))
        numpyro.deterministic("double", 2.0 * numpyro.sample("rate", dist.Exponential(2.0)))
        numpyro.sample("y", dist.Normal(mean, 1.0), obs=data)

    random, n = np.random.default_rng(1), len(data)
    mean = data.sum() / (n + 1) + random.normal(size=(4, 500)) / np.sqrt(n + 1)
    rate = random.exponential(0.5, size=(4, 500))
    draws = {"mean": mean, "rate": rate, "double": 2.0 * rate}
    found = auxmc.evidence_of(draws, auxmc.from_numpyro(model), checks="off")
    exact = -0.5 * (n * np.log(2.0 * np.pi) + np.log(n + 1) + data @ data - data.sum() ** 2 / (n + 1))
    assert abs(found.log_evidence - exact) < 4.0 * found.standard_error < 0.08
