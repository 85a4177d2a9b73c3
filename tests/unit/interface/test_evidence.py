"""`auxmc.evidence` against exact evidences; modes that are far from the start; what it rejects and warns of."""

import math
import pickle
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy.integrate import quad
from scipy.special import betaln, gammaln, ive

import auxmc
from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.diagnostics.tempered_evidence import Evidence, annealed_evidence
from auxmc.interface.tempered.advice import advise_chains, advise_evidence, few_runs
from auxmc.interface.tempered.annealing import N_RUNS, Annealed
from auxmc.interface.tempered.annealing import Path as TemperaturePath
from auxmc.interface.tempered.bases import Base, find_base
from auxmc.interface.tempered.evidence import CHAINS, METHODS, _deciding_runs, _looks, method_of
from auxmc.interface.tempered.mixture import fit_mixture, gaussian_mixture, log_densities, regions
from auxmc.interface.trees import dataset_of
from tests.unit.interface.comparison import is_right

pytestmark = pytest.mark.filterwarnings("ignore::auxmc.SamplingWarning")


def _half_normal(p):
    return jnp.where(p["x"] >= 0.0, -0.5 * p["x"] ** 2, -jnp.inf)


def test_mass_of_the_base_outside_of_the_support_is_counted():
    """A density cut off at zero: the evidence was too high by minus the log of the base's mass inside, 0.096."""
    found = auxmc.evidence(_half_normal, {"x": 1.0}, draws=1000, progress=False)
    assert is_right(found, 0.5 * math.log(0.5 * math.pi))
    assert found.standard_error < 0.02
    assert found.posterior["posterior"]["x"].shape == (4, 250)
    assert float(found.posterior["posterior"]["x"].min()) >= 0.0
    assert pickle.loads(pickle.dumps(found)) == found
    assert found not in [found._replace(log_evidence=0.0)]
    assert repr(found).endswith("(1 mode reached from the start)")


@pytest.mark.slow
@pytest.mark.parametrize("method", CHAINS)
def test_chains_know_the_mass_outside_of_the_support(method):
    base = auxmc.gaussian({"x": 0.8}, {"x": 0.6})
    found = auxmc.evidence(_half_normal, {"x": 1.0}, base=base, method=method, progress=False)
    assert is_right(found, 0.5 * math.log(0.5 * math.pi))


def test_tiny_support_leads_to_bounds():
    """Less than a hundredth of a given base lies inside."""
    base = auxmc.gaussian({"x": -2.5}, {"x": 1.0})
    with pytest.warns(auxmc.SamplingWarning, match=r"0.* % of the base lies where .* bounds=") as caught:
        auxmc.evidence(_half_normal, {"x": 1.0}, base=base, draws=100, progress=False)
    assert caught[0].filename == __file__  # where the user called, not inside the library


def test_bounds_and_a_prior_with_draws():
    """A rate with a uniform prior: declared bounds, draws on the natural scale."""
    prior = lambda p: jnp.zeros(()), lambda key: {"theta": jax.random.uniform(key)}
    binomial = lambda p: 7.0 * jnp.log(p["theta"]) + 13.0 * jnp.log1p(-p["theta"])
    model = auxmc.density(binomial, prior=prior, bounds={"theta": (0, 1)})
    found = auxmc.evidence(model, draws=1000, progress=False)
    assert is_right(found, betaln(8, 14))
    draws = found.posterior["posterior"]["theta"].to_numpy()
    assert np.all((draws > 0.0) & (draws < 1.0))
    assert abs(draws.mean() - 8 / 22) < 5.0 * draws.std() / math.sqrt(draws.size)
    assert repr(found).endswith("(1 mode reached from the prior)")


def test_a_prior_that_bounds_cut_off_counts_inside():
    """A normal prior of which a sixth is below the bound; draws there had no place on the line."""
    normal = jax.scipy.stats.norm.logpdf
    likelihood = lambda p: normal(0.2, p["x"], 0.5)
    prior = lambda p: normal(p["x"], 1.0), lambda key: {"x": 1.0 + jax.random.normal(key)}
    model = auxmc.density(likelihood, prior=prior, bounds={"x": (0, None)})
    with pytest.warns(auxmc.SamplingWarning, match=r"1\d\d\d of 8000 draws of the prior lie outside"):
        found = auxmc.evidence(model, draws=1000, progress=False)
    exact, _ = quad(lambda x: math.exp(-0.5 * (x - 1.0) ** 2 - 2.0 * (x - 0.2) ** 2) / math.pi, 0.0, 10.0)
    assert is_right(found, math.log(exact))
    outside = model._replace(draw_prior=lambda key: jnp.full(1, jnp.nan))
    with pytest.raises(ValueError, match="none of 512 draws lies inside of the bounds"):
        auxmc.evidence(outside, draws=100, progress=False)


def test_a_second_seed_traces_nothing():
    """All programs of a density serve all seeds."""
    calls = []

    def log_density(x):
        calls.append(1)
        return -0.5 * jnp.sum(x**2)

    model = auxmc.density(log_density, np.ones(2))
    first = auxmc.evidence(model, draws=300, progress=False)
    n_calls = len(calls)
    second = auxmc.evidence(model, draws=300, seed=1, progress=False)
    assert second.log_evidence != first.log_evidence
    assert len(calls) == n_calls


def test_periodic_variable_and_the_same_one_without_a_period():
    """An angle: log 2 pi I0(2) within one period, no evidence on the whole line."""
    log_density = lambda p: 2.0 * jnp.cos(p["angle"] - 1.0)
    model = auxmc.density(log_density, {"angle": 0.5}, periodic="angle")
    found = auxmc.evidence(model, draws=1000, progress=False)
    assert is_right(found, math.log(2.0 * math.pi * ive(0, 2.0)) + 2.0)
    with pytest.raises(ValueError, match="periodic"):
        auxmc.evidence(log_density, {"angle": 0.5}, progress=False)


@pytest.mark.slow
def test_two_modes_in_thirty_dimensions():
    """Correlated Student-t modes 11 apart with masses 0.3 and 0.7: from one start all methods missed a mode."""
    dim, nu, random = 30, 5.0, np.random.default_rng(3)
    parts = []
    for sign in (1.0, -1.0):
        factor = random.normal(size=(dim, 2 * dim)) * 0.5 / math.sqrt(2 * dim)
        parts.append((sign * np.where(np.arange(dim) % 2, 1.0, -1.0), np.linalg.cholesky(factor @ factor.T)))

    def log_density(p):
        logs = []
        for mean, root in parts:
            z = jax.scipy.linalg.solve_triangular(root, p["x"] - mean, lower=True)
            constant = gammaln((nu + dim) / 2) - gammaln(nu / 2) - dim / 2 * math.log(nu * math.pi)
            constant -= np.log(np.diag(root)).sum()
            logs.append(constant - (nu + dim) / 2 * jnp.log1p(z @ z / nu))
        return jnp.logaddexp(math.log(0.3) + logs[0], math.log(0.7) + logs[1])

    # The prior is divided out again: the evidence is that of the normalised mixture.
    log_prior = lambda p: jnp.sum(jax.scipy.stats.norm.logpdf(p["x"], 0.0, 3.0))
    prior = log_prior, lambda key: {"x": 3.0 * jax.random.normal(key, (dim,))}
    model = auxmc.density(lambda p: log_density(p) - log_prior(p), prior=prior)
    found = auxmc.evidence(model, progress=False)
    assert is_right(found, 0.0)
    assert found.standard_error < 0.1
    assert len(found.base.n_found) == 2
    first = float((found.posterior["posterior"]["x"][..., 1] > 0.0).mean())
    assert abs(first - 0.3) < 0.1


@pytest.mark.slow
def test_two_shells():
    """Both are found from a start in one, the evidence is right, the draws lie in both, and warned of is chance alone.

    The shells are thin: some of 512 exploring runs end in the other, each then a mode that one run has found.
    """
    centres = jnp.array([[3.5, 0.0], [-3.5, 0.0]])

    def log_density(p):
        radii = jnp.sqrt(jnp.sum((p["x"][None] - centres) ** 2, axis=1))
        return jax.nn.logsumexp(-0.5 * ((radii - 2.0) / 0.1) ** 2)

    mass = quad(lambda r: r * math.exp(-0.5 * ((r - 2.0) / 0.1) ** 2), 1.0, 3.0)[0]
    found = auxmc.evidence(log_density, {"x": [5.5, 0.0]}, progress=False)
    assert is_right(found, math.log(4.0 * math.pi * mass))
    assert found.standard_error < 0.1
    assert len(found.base.n_found) >= 2
    assert ["one exploring run" in text for text in found.warnings] == [True] * bool(1 in found.base.n_found)
    fraction = float((found.posterior["posterior"]["x"][..., 0] > 0.0).mean())
    assert 0.4 < fraction < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_correlated_normal(method):
    """Every method: evidence within four errors, moments of the draws."""
    covariance = np.array([[4.0, 1.8, 0.0], [1.8, 1.0, 0.0], [0.0, 0.0, 0.01]])
    precision = jnp.asarray(np.linalg.inv(covariance))

    def log_density(p):
        x = jnp.concatenate([p["first"], p["second"][None]])
        return -0.5 * x @ precision @ x

    start = {"first": [1.0, 0.0], "second": 0.1}
    found = auxmc.evidence(log_density, start, method=method, draws=1000, progress=False)
    assert is_right(found, 1.5 * math.log(2.0 * math.pi) + 0.5 * np.linalg.slogdet(covariance)[1])
    assert found.standard_error < 0.3
    first = found.posterior["posterior"]["first"].to_numpy().reshape(-1, 2)
    assert np.allclose(np.cov(first.T), covariance[:2, :2], rtol=0.35, atol=0.1)


@pytest.mark.slow
def test_base_far_from_the_target_is_warned_of():
    """A pilot in which one run counts gave an evidence 17 nats too low without a warning."""
    base = auxmc.gaussian({"x": 300.0 * np.ones(8)}, {"x": np.ones(8)})
    narrow = auxmc.density(lambda p: -0.5 * jnp.sum(p["x"] ** 2) / 0.01**2, {"x": np.zeros(8)})
    with pytest.warns(auxmc.SamplingWarning, match="in doubt"):
        found = auxmc.evidence(narrow, base=base, n_steps=1, draws=50, progress=False)
    assert math.isnan(found.standard_error)


def test_regions_are_told_apart_and_a_ring_is_one_mode():
    """Points of a ring and of a narrow mode next to it; each region gets a component."""
    random = np.random.default_rng(0)
    angles = random.uniform(0.0, 2.0 * math.pi, 200)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1) * 2.0
    apart = np.array([8.0, 0.0]) + 0.1 * random.normal(size=(40, 2))
    points = np.concatenate([ring + 0.05 * random.normal(size=ring.shape), apart])

    def on_ring(x):
        return -0.5 * ((jnp.linalg.norm(x) - 2.0) / 0.1) ** 2

    def log_density(x):
        return jnp.logaddexp(on_ring(x), -0.5 * jnp.sum((x - jnp.array([8.0, 0.0])) ** 2) / 0.01)

    like = gaussian_mixture(np.zeros(2), 3.0 * np.eye(2))
    labels, modes = regions(points, log_density, like)
    assert len(np.unique(modes)) == 2
    assert len(np.unique(modes[200:])) == 1
    mixture = fit_mixture(points, np.zeros(len(points)), labels, like)
    # Its density integrates to one, and its draws lie where the points are.
    draws = np.asarray(mixture.position(mixture.draws(random, 4000)))
    assert np.mean(np.linalg.norm(draws - [8.0, 0.0], axis=1) < 1.0) > 0.05
    grid = np.linspace(-15.0, 15.0, 401)
    y = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1).reshape(-1, 2)
    x = mixture.standard(y)
    total = float(jnp.sum(jnp.exp(jax.vmap(mixture.log_density)(jnp.asarray(x)) - mixture.log_volume())))
    assert abs(total * (grid[1] - grid[0]) ** 2 - 1.0) < 0.02
    # A sphere in many dimensions has no more pieces than its points tell apart.
    sphere = random.normal(size=(600, 10))
    sphere *= 2.0 / np.linalg.norm(sphere, axis=1, keepdims=True)
    labels, modes = regions(sphere, on_ring, gaussian_mixture(np.zeros(10), np.eye(10)))
    assert len(np.unique(labels)) == 600 // 20
    assert len(np.unique(modes)) == 1


def test_chains_start_at_the_base():
    """Chains that started in the middle of the temperatures froze there, 3 nats off."""
    model = auxmc.density(lambda p: -0.5 * jnp.sum(p["x"] ** 2), {"x": np.zeros(2)})
    base = _base()
    for name in CHAINS:
        method = method_of(name, model, base, 5)
        assert method.draw_start is not None
        start = method.draw_start(jax.random.key(0))
        state = method.build(jnp.ones(())).init(jnp.asarray(start), key=jax.random.key(1))
        assert float(method.of_state(state)["inverse_temperature"]) < 0.05


def test_base_of_chains_has_the_tails_of_the_target():
    """A Gaussian lies thousands of nats below a Student-t far out, where chains came too rarely to know their error."""
    model = auxmc.density(lambda p: -4.0 * jnp.log1p(jnp.sum(p["x"] ** 2) / 3.0), {"x": np.zeros(5)})
    base = find_base(model, "automatic", jax.random.key(0), 5, one_component=True).mixture
    far = 100.0 * np.eye(5)
    above = log_densities(model.log_density, far) - jax.vmap(base.log_density)(base.standard(far))
    assert np.ptp(above) < 5.0
    assert np.max(np.abs(above)) < 30.0


def test_stuck_chains_are_named_and_few_chains_with_all_the_weight_are_warned_of():
    """Chains without moves, weights that all sit at one end, and annealed runs that say something else."""
    random = np.random.default_rng(0)
    values = random.normal(size=(6, 40, 2))
    values[2] = values[2, 0]
    temperatures = np.tile(np.linspace(0.0, 1.0, 40), (6, 1))
    temperatures[2] = 0.5
    target = random.normal(size=(6, 40))
    target[4] += 30.0
    weights = {"log_target_weight": target, "log_base_weight": random.normal(size=(6, 40))}
    stats = dataset_of(weights | {"inverse_temperature": temperatures})
    tree = xr.DataTree.from_dict({"posterior": dataset_of({"x": values}), "sample_stats": stats})
    text = " ".join(advice.text for advice in advise_chains(tree, _base(), Evidence(3.0, 2.0)))
    assert "chain 2 never moved after the warm-up" in text
    assert "1 of 6 chains did not get from the base to the target" in text
    assert "few chains carry the weight, in effect 1.0 of 6" in text
    assert "annealed runs 0.00" not in text
    text = " ".join(advice.text for advice in advise_chains(tree, _base(), Evidence(9.0, 0.1)))
    assert "the chains give 9.00 nats, annealed runs 0.00" in text


def test_runs_of_which_few_count_have_no_error_and_rare_modes_are_named():
    model = auxmc.density(lambda p: -0.5 * jnp.sum(p["x"] ** 2), {"x": np.zeros(2)})
    random = np.random.default_rng(0)
    draws, even = random.normal(size=(100, 2)), np.zeros((2, N_RUNS))

    def said(base, logs, error=0.1):
        found = [*few_runs(logs), *advise_evidence(model, draws, base, Evidence(0.0, error), 1.0)]
        return " ".join(advice.text for advice in found)

    assert said(_base(), even) == ""
    one = even.copy()
    one[0, 0] = 30.0
    doubt = "1.0 of 256 runs count, in effect: the evidence is in doubt, and the error is not known"
    assert doubt in said(_base(), one)
    assert "Pareto index" in said(_base(), 0.9 * random.exponential(size=(16, N_RUNS)))
    rare = _base()._replace(n_found=np.array([500, 1]))
    assert "of 2 modes, 1 were found by one exploring run of 501" in said(rare, even)
    assert "the standard error is 2.00 nats" in said(_base(), even, 2.0)
    given = _base()._replace(n_found=np.zeros(0, int))
    assert [base.remedy for base in (given, _base(), _base()._replace(from_prior=True))] == [
        'Give base="automatic"',
        "Give prior= to auxmc.density",
        "Compare with other seeds",
    ]


def _base():
    """A standard normal base whose runs found the log evidence zero."""
    mixture = gaussian_mixture(np.zeros(2), np.eye(2))
    path = TemperaturePath(np.array([0.5, 1.0]), np.zeros(2), np.ones(2))
    ends = np.random.default_rng(1).normal(size=(N_RUNS, 2))
    runs = Annealed(mixture, path, ends, np.zeros(N_RUNS), -0.5 * np.sum(ends**2, axis=1))
    return Base(mixture, runs, (runs,), (runs,), np.array([N_RUNS]), False, ())


def test_model_has_its_start_and_keeps_its_own_scales():
    """A rate with a gamma density, moved as its log."""
    model = auxmc.density(lambda p: 3.0 * p["log_rate"] - jnp.exp(p["log_rate"]), {"log_rate": 0.0})
    model = model._replace(constrained=lambda p: {"rate": jnp.exp(p["log_rate"])})
    found = auxmc.evidence(model, draws=300, progress=False)
    assert is_right(found, math.log(2.0))
    draws = found.posterior["posterior"]["rate"]
    assert draws.shape == (4, 75)
    # States with a large weight are chosen several times, and moved apart.
    assert len(np.unique(draws)) == 300
    assert 2.5 < float(draws.mean()) < 3.5


def test_runs_end_at_the_tolerance_and_go_on_bit_for_bit(tmp_path):
    """The exact evidence of a mode with heavy tails; a run with too small a maximum continues from its checkpoint."""
    model = auxmc.density(lambda p: -3.0 * jnp.sum(jnp.log1p(p["x"] ** 2 / 5.0)), {"x": np.ones(3)})
    exact = 3.0 * (0.5 * math.log(5.0 * math.pi) + math.lgamma(2.5) - math.lgamma(3.0))
    run = partial(auxmc.evidence, model, n_steps=2, draws=100, progress=False)
    whole = run(tolerance=0.01)
    n_batches = whole.chains["sample_stats"].sizes["chain"]
    assert n_batches in (16, 32, 64)
    assert whole.standard_error <= 0.01
    assert not any("tolerance" in text for text in whole.warnings)
    assert is_right(whole, exact)
    assert whole.posterior["posterior"]["x"].shape == (4, 25, 3)
    with pytest.warns(auxmc.SamplingWarning, match=r"after 1024 runs, above 0.01. Give max_draws=[12]e\+03"):
        run(tolerance=0.01, max_draws=1024, checkpoint=tmp_path)
    again = run(tolerance=0.01, checkpoint=tmp_path)
    assert again.log_evidence == whole.log_evidence
    assert again.posterior.equals(whole.posterior)
    assert len(list(tmp_path.glob("runs*.npz"))) == n_batches
    # Of the same shape and with the same settings.
    other = auxmc.density(lambda p: -3.0 * jnp.sum(jnp.log1p(p["x"] ** 2 / 4.0)), {"x": np.ones(3)})
    with pytest.raises(ValueError, match="holds a run of something else"):
        run.func(other, **run.keywords, tolerance=0.01, checkpoint=tmp_path)


def test_intervals_hold_at_the_look_at_which_runs_end():
    """Log-normal weights with mean 1: 95 % intervals of runs that end at a tolerance, in 400 repeats."""
    random, looks, n_within = np.random.default_rng(5), _looks(0, 0.05, 65536), 0
    assert looks == [8, 16, 32, 64, 128, 256, 512]
    for _ in range(400):
        logs = random.normal(size=N_RUNS * looks[-1]) * 1.2 - 0.72
        for n in looks:
            value, error = annealed_evidence(logs[: n * N_RUNS])
            error *= few_replicates(1.0 + _deciding_runs(logs[: n * N_RUNS]), len(looks))
            if error <= 0.05:
                break
        n_within += abs(value) < 1.96 * error
    # Without the factor for looks 375.
    assert n_within >= 388


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"chains": 1}, r"chains must be .*, at least 2: their spread is the error"),
        ({"method": "nuts"}, "method must be one of annealed_importance, simulated_tempering"),
        ({"base": "flow"}, "base must be one of automatic, advi, laplace or auxmc.gaussian"),
        ({"base": auxmc.gaussian({"x": [0.0]}, {"x": [-1.0]})}, "scale must hold positive"),
        ({"base": auxmc.gaussian({"x": [0.0]}, np.array([[-1.0]]))}, "scale is no covariance"),
        ({"base": auxmc.gaussian({"y": [0.0]}, {"x": [1.0]})}, "mean must have the variables x"),
        ({"n_steps": 0}, "n_steps must be an integer, at least 1"),
        ({"draws": 0}, r"draws must be .*, at least 1, got 0"),
        ({"tolerance": 0.0}, "tolerance must be a positive number"),
        ({"tolerance": 0.1, "method": "simulated_tempering"}, "expected method=.annealed_importance"),
        ({"max_draws": 0}, r"max_draws must be .*, at least 1, got 0"),
        ({"warm_up": -1}, r"warm_up must be .*, at least 0, got -1"),
    ],
    ids=str,
)
def test_bad_arguments_are_rejected_before_the_search(monkeypatch, settings, message):
    """The search for a base takes longer than anyone waits for a message."""

    def search(*arguments, **options):
        raise AssertionError("a base was sought")

    if not settings.keys() & {"base", "n_steps"}:
        monkeypatch.setattr("auxmc.interface.tempered.evidence.find_base", search)
    with pytest.raises((ValueError, TypeError), match=message):
        auxmc.evidence(lambda p: -jnp.sum(p["x"] ** 2), {"x": [0.0]}, **settings, progress=False)


def test_search_that_ends_on_a_ridge_gives_no_base():
    """On a circle of maxima the curvature along it is rounding: the same answer wherever the search begins."""
    log_ring = lambda v: -0.5 * ((jnp.linalg.norm(v["x"]) - 2.0) / 0.1) ** 2
    for angle in (0.1, 0.73, 1.51, 2.29, 3.23, 4.32):
        start = {"x": [2.1 * math.cos(angle), 2.1 * math.sin(angle)]}
        ring = auxmc.density(log_ring, start, checks="off")
        with pytest.raises(ValueError, match="no base was found"):
            find_base(ring, "laplace", jax.random.key(0), n_steps=10)


@pytest.mark.parametrize(("shape", "least", "most"), [(np.inf, 600.0, 800.0), (1.5, 1.0, 8.0)])
def test_few_runs_decide_the_spread_of_heavy_tailed_weights(shape, least, most):
    """A third of normal weights do in effect, and the largest few of weights whose variance is infinite."""
    random = np.random.default_rng(1)
    weights = random.pareto(shape, 2048) if shape < np.inf else 10.0 + random.normal(size=2048)
    assert least < _deciding_runs(np.log(weights)) < most
