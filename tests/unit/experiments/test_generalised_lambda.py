"""The generalised lambda study: model and exact answers, statistics of synthetic draws, tiny runs."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy import stats

from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.settings import SettingsError
from experiments.generalised_lambda import run
from experiments.generalised_lambda.measure import chain_statistics
from experiments.generalised_lambda.model import fibre, generator
from experiments.generalised_lambda.model.exact import TARGETS, log_likelihood, log_posterior, reference_draws
from experiments.generalised_lambda.model.reference_posterior import differential_evolution
from experiments.generalised_lambda.problem import build_problem
from experiments.generalised_lambda.reference import limit_statistics, targets
from experiments.generalised_lambda.settings import ROWS
from tests.unit.experiments.test_lotka_volterra import constraint_at

STUDY = load_study("generalised_lambda")
NAMES = ["z1", "z2", "z3", "z4"]
MEANS = np.array([4.705, 0.96, 0.53, -0.16])
SDS = np.array([0.108, 0.1, 0.085, 0.075])


def _run(tmp_path, words):
    settings = STUDY.settings(["preset=smoke", *words.split()])
    return run.run(settings, RunContext("generalised_lambda", settings.seed, tmp_path, "identity", "tiny"))


def _draws(dims, n_draws, counters):
    """Independent draws of a normal posterior at every point, with constant work and flags."""
    rng = np.random.default_rng(len(counters) + n_draws)
    shape = (*(len(values) for values in dims.values()), n_draws)
    z = MEANS + SDS * rng.normal(size=(*shape, 4))
    names = (*dims, "draw")
    variables = {
        "z": ((*names, "parameter"), z),
        "accepted": (names, rng.uniform(size=shape) < 0.9),
        "acceptance_probability": (names, np.full(shape, 0.9)),
        "log_density": (names, np.zeros(shape)),
        "n_evaluations": (names, np.full(shape, 10)),
        **{name: (names, np.zeros(shape, dtype=int)) for name in counters},
    }
    return xr.Dataset(variables, coords={**dims, "parameter": NAMES})


def _statistics(draws, words, seconds):
    redraws = draws["accepted"].isel(draw=0, drop=True).astype(float)
    return chain_statistics(draws, STUDY.settings([words]), seconds, redraws)


def test_statistics_are_those_of_the_draws_after_the_warm_up():
    errors = "n_not_converged n_not_converged_reverse n_irreversible n_not_finite n_singular n_fallback"
    counters = *errors.split(), "n_projections", "n_projection_iterations"
    draws = _draws({"prior": ["strong"], "chain": [0, 1, 2]}, 420, counters)
    draws["n_projections"] += 40
    draws["n_projection_iterations"] += 120
    draws["residual"] = xr.full_like(draws["log_density"], 1e-13)
    draws["z"][{"draw": slice(0, 20)}] = 1e6
    draws["n_not_converged"][{"chain": 1, "draw": 3}] = 2
    draws["n_irreversible"][{"chain": 2, "draw": 100}] = 1
    draws["n_evaluations"][{"chain": 1}] = 20
    found = _statistics(draws, "n_warm_up=20", 12.0).isel(prior=0)
    kept = draws.isel(prior=0, draw=slice(20, None))
    np.testing.assert_allclose(found["posterior_mean"], kept["z"].mean(["chain", "draw"]))
    np.testing.assert_allclose(found["acceptance"], kept["accepted"].mean("draw"))
    # Independent draws: about as many effective as there are.
    assert float(found["ess"].mean()) == pytest.approx(400.0, rel=0.15)
    # Run time is shared by work.
    np.testing.assert_allclose(found["chain_seconds"], [3.0, 6.0, 3.0])
    np.testing.assert_allclose(found["ess_per_second"], found["ess"] / found["chain_seconds"])
    np.testing.assert_allclose(found["failed_share"], [0.0, 0.0, 1.0 / 400.0])
    np.testing.assert_allclose(found["failed_warm_up"], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(found["failed_early"], [0.0, 1.0, 0.0])
    np.testing.assert_allclose(found["iterations_per_projection"], 3.0)


def test_where_no_chain_moved_nothing_is_said_of_the_posterior():
    draws = _draws({"step_size": [0.1, 9.0], "prior": ["strong"], "chain": [0, 1]}, 50, ())
    draws["accepted"][{"step_size": 1}] = False
    draws["z"][{"step_size": 1}] = 1.0
    found = _statistics(draws, "n_warm_up=0", 8.0)
    still = found.sel(step_size=9.0)
    for name in ("posterior_mean", "posterior_sd", "ess", "ess_per_second", "psrf", "r_hat"):
        assert bool(np.isnan(still[name]).all()), name
    assert bool(np.isfinite(found["posterior_mean"].sel(step_size=0.1)).all())
    np.testing.assert_array_equal(still["moved"], 0.0)
    np.testing.assert_array_equal(still["longest_run"], 50.0)


def test_the_limit_of_small_tolerances_is_approached_in_the_right_order():
    problem = build_problem(STUDY.settings([]))
    rng = np.random.default_rng(2)
    values = MEANS + 0.1 * SDS * rng.normal(size=(10, 16, 4))
    exact = xr.DataArray(values, dims=("draw", "walker", "parameter"))
    found = limit_statistics(problem, exact, [0.05, 0.2])
    small, large = np.abs(found["limit_shift"].values)
    assert np.all(small <= large)
    assert np.all(found["limit_shift_error"] >= 0.0)
    assert float(found["limit_weight_ess"].sel(limit_tolerance=0.05)) > 150.0


def test_reference_targets_are_named_as_the_figures_expect():
    settings = STUDY.settings(["design=reference", "tolerance=0.1"])
    assert {row.target for row in ROWS} == set(targets(settings))


@pytest.fixture(scope="module")
def own_data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "own.csv"
    values = np.random.default_rng(1).logistic(size=9)
    path.write_text("x\n" + "\n".join(f"{value:.3f}" for value in values))
    return path


@pytest.mark.slow
def test_modified_abc_runs_on_own_data_under_an_own_prior(tmp_path, own_data):
    words = "method=modified_abc prior=own prior_sd=2.0 prior_rate=0.5 tolerance=0.5 step_size=0.2"
    result = _run(tmp_path, f"data={own_data} {words} n_draws=60 n_warm_up=20 n_chains=2")
    statistics = result["statistics"]
    assert statistics["prior"].values.tolist() == ["own"]
    assert statistics["posterior_mean"].dims == ("prior", "parameter")
    assert 0.0 < float(statistics["acceptance"].mean()) < 1.0
    assert result["observed_data"]["x"].size == 9
    assert result["posterior"]["z"].sizes["draw"] == 60


@pytest.mark.slow
def test_hmc_runs_with_several_tolerances_and_the_same_starts(tmp_path, own_data):
    words = "method=abc_hmc step_unit=tolerance step_size=0.05 warm_up_step_size=1e-3 n_chains=2 n_warm_up=3"
    result = _run(tmp_path, f"data={own_data} {words} n_draws=12 ++batch.tolerance=[0.3,0.6]")
    statistics = result["statistics"]
    assert statistics["acceptance"].dims == ("prior", "tolerance", "chain")
    np.testing.assert_array_equal(statistics["tolerance"], [0.3, 0.6])
    # Starts depend on the data, the prior and the number of the chain alone.
    np.testing.assert_array_equal(statistics["start_redraws"].dims, ("prior", "chain"))


@pytest.mark.slow
def test_reference_posteriors_and_facts_of_the_prior_are_found_for_own_data(tmp_path, own_data):
    result = _run(
        tmp_path,
        f"data={own_data} design=reference ++batch.prior=[strong,weak] gaussian_tolerances=[0.5] "
        "limit_tolerances=[0.2] n_draws=20 n_burn_in=40 n_walkers=16 n_prior_draws=200",
    )
    statistics, curves = result["statistics"], result["curves"]
    assert statistics["target"].values.tolist() == ["exact", "cube_0.1", "gaussian_0.5"]
    assert statistics["reference_mean"].dims == ("prior", "target", "parameter")
    assert bool(np.isfinite(statistics["reference_mean"]).all())
    assert bool((statistics["reference_sd"] > 0.0).all())
    # A weak prior puts more of its draws where nine logistic values cannot come from, and more in far tails.
    fractions = statistics["prior_over_1e10_share"]
    assert float(fractions.sel(prior="weak")) > float(fractions.sel(prior="strong"))
    feasible = statistics["prior_feasible_share"]
    assert bool(((feasible > 0.0) & (feasible < 1.0)).all())
    assert bool(np.isnan(statistics["data_difference"]))
    assert curves["reference_z"].dims == ("prior", "target", "parameter", "index")
    assert curves["observation"].size == 9


@pytest.mark.slow
def test_chains_that_never_move_stop_the_case_and_say_what_to_change(tmp_path, own_data):
    words = "method=abc_hmc tolerance=0.1 step_size=500 n_draws=10 n_warm_up=0 n_chains=2"
    with pytest.raises(SettingsError, match=r"no proposal of 2 chains.*step_size=500.*smaller step_size"):
        _run(tmp_path, f"data={own_data} {words}")


def test_data_that_the_prior_cannot_generate_are_rejected_with_advice(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "_MOST_REDRAWS", 20)
    far = tmp_path / "far.csv"
    far.write_text("x\n" + "\n".join(str(1e12 + 1e9 * i) for i in range(9)))
    message = r"none of 20 draws from the prior \(strong: prior_sd=1.*prior=own"
    with pytest.raises(SettingsError, match=message):
        _run(tmp_path, f"data={far} method=modified_abc n_draws=10 n_warm_up=0 n_chains=1")


def test_a_data_file_with_two_columns_is_rejected(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(SettingsError, match=r"two.csv: has 2 columns, needs one column of observations"):
        STUDY.settings([f"data={path}"])


SHAPES = [(0.4, -0.1), (-0.3, 0.7), (0.0, 0.0), (1e-9, -1e-7), (0.02, 0.3), (2.5, 1.2)]
LOGITS = np.array([-30.0, -7.0, -1.3, -1e-3, 0.4, 3.0, 12.0, 35.0])


@pytest.fixture(scope="module")
def published():
    return generator.generalised_lambda_model(generator.published_observations())


@pytest.fixture(scope="module")
def point(published):
    """Inputs that generate the published data with their generating parameters."""
    own = fibre.inputs_of_parameters(jnp.array(generator.GENERATING_PARAMETERS), published)
    return fibre.fibre_point(own, published)


def test_the_published_data_come_back_from_their_seed():
    data = generator.published_observations()
    assert data.shape == (250,)
    expected = [4.83836382139023, 5.215753191959, 5.09538268678095, 3.88508587385887, 5.34801066334957]
    np.testing.assert_allclose(data[:5], expected, atol=1e-12)
    assert (data.min(), data.max()) == pytest.approx((2.8348044416219604, 18.26365849682167), abs=1e-12)
    other = generator.simulate_observations(7, 31)
    assert other.shape == (31,)
    assert not np.any(np.isin(other, data))


BUILD = generator.generalised_lambda_model


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: BUILD([1.0, np.nan, 3.0, np.inf]), r"nan at entry 1 \(counted from 0\); 2 of 4 entries"),
        (lambda: BUILD([[1.0, 2.0]]), r"must be a vector \[data\].*got shape \(1, 2\)"),
        (lambda: BUILD([1.0]), "at least 2 numbers"),
        (lambda: BUILD(["a", "b"]), "observations must be numbers"),
        *[
            (lambda prior={name: value}: BUILD([1.0, 2.0], **prior), f"{name} must be a positive number")
            for name in ("prior_sd", "prior_rate")
            for value in (0.0, -1.0, np.nan)
        ],
        (lambda: log_likelihood(BUILD([1.0, 2.0]), "ball", 0.1), "unknown target 'ball'"),
        (lambda: log_likelihood(BUILD([1.0, 2.0]), "cube", 0.0), "tolerance must be positive"),
        (lambda: log_likelihood(BUILD([1.0, 2.0]), "gaussian", -1.0), "tolerance must be positive"),
        (
            lambda: differential_evolution(None, None, jnp.zeros((7, 2)), 3),
            "even number of at least 8 walkers, got 7",
        ),
    ],
)
def test_wrong_arguments_are_rejected(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@jax.jit
def _quantiles(p, logits, z):
    """Quantiles at p; slopes and derivatives in the parameters at the logits, each in two ways."""
    slopes = jax.vmap(jax.grad(generator.quantile), in_axes=(0, None))(logits, z)
    by_parameters = jax.jacfwd(lambda z: generator.quantile(logits, z))(z)
    moved = jax.vmap(lambda z: generator.quantile(logits, z))
    differences = (moved(z[None] + 1e-5 * jnp.eye(4)) - moved(z[None] - 1e-5 * jnp.eye(4))).T / 2e-5
    pairs = (generator.quantile_slope(logits, z), slopes), (by_parameters, differences)
    return generator.quantile_at_probability(p, z), *pairs


@pytest.mark.parametrize("shapes", SHAPES)
def test_quantiles_are_the_closed_form_and_their_slopes_its_derivatives(shapes):
    z = jnp.array([1.5, 0.8, *shapes])
    p = np.array([0.01, 0.2, 0.5, 0.77, 0.999])

    def integral(base, power):
        return np.log(base) if abs(power) < 1e-6 else (base**power - 1.0) / power

    found, (slope, derivative), (by_parameters, differences) = _quantiles(p, LOGITS, z)
    expected = 1.5 + (integral(p, shapes[0]) - integral(1.0 - p, shapes[1])) / 0.8
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    assert bool(jnp.all(slope > 0.0))
    # Derivatives of the two terms cancel where the slope is small.
    np.testing.assert_allclose(slope, derivative, rtol=1e-9, atol=1e-16)
    np.testing.assert_allclose(by_parameters[1:-1], differences[1:-1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("logit", [-20.0, 0.3])
def test_second_derivatives_in_the_shapes_are_continuous_at_zero(logit):
    """The limit of the second derivative of (p^a - 1)/a in a is (log p)^3/3."""
    log_p = float(jax.nn.log_sigmoid(logit))
    of_shape = lambda a: generator.quantile(jnp.asarray(logit), jnp.array([0.0, 1.0, 0.0, 0.0]).at[2].set(a))
    second = jax.jit(jax.grad(jax.grad(of_shape)))
    for shape in (0.0, 1e-12, -1e-6, 1e-4):
        assert float(second(shape)) == pytest.approx(log_p**3 / 3.0, rel=3e-3 if abs(shape) > 1e-5 else 1e-4)
    # On both sides of the place where a series takes over.
    edge = 0.02 / abs(log_p)
    assert float(second(edge * (1 - 1e-9))) == pytest.approx(float(second(edge * (1 + 1e-9))), rel=1e-7)


def test_far_tails_do_not_lose_their_digits():
    """At l = 60, 1 - p is 9e-27 and rounds to zero; q is 5 + (0 - ((1-p)^-0.1 - 1)/-0.1)."""
    upper = float(generator.quantile(jnp.asarray(60.0), jnp.array(generator.GENERATING_PARAMETERS)))
    assert upper == pytest.approx(5.0 + (np.exp(6.0) - 1.0) / 0.1, rel=1e-12)


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ((0.4, -0.1), (1.5 - 1.0 / 0.32, np.inf)),
        ((-0.2, 0.5), (-np.inf, 1.5 + 1.0 / 0.4)),
        ((0.0, 0.0), (-np.inf, np.inf)),
    ],
)
def test_support_is_where_the_quantiles_end(shapes, expected):
    z = jnp.array([1.5, 0.8, *shapes])
    assert [float(end) for end in generator.support(z)] == pytest.approx(expected)
    ends = generator.quantile(jnp.array([-700.0, 700.0]), z)
    for end, reached in zip(expected, ends, strict=True):
        assert (abs(float(reached)) > 100.0) if np.isinf(end) else float(reached) == pytest.approx(end)


@pytest.mark.parametrize("prior", generator.PRIORS.values(), ids=generator.PRIORS.keys())
def test_inputs_of_parameters_inverts_the_map(prior):
    model = generator.generalised_lambda_model([1.0, 2.0], float(prior.sd), float(prior.rate))
    z = jnp.array(list(itertools.product([-2.0, 5.0], [1e-3, 1.0, 40.0], [0.4], [-0.1])))
    there_and_back = lambda z: generator.parameters(fibre.inputs_of_parameters(z, model), model.prior)
    np.testing.assert_allclose(jax.jit(jax.vmap(there_and_back))(z), z, rtol=1e-12)


def test_prior_of_the_inputs_is_that_of_the_parameters():
    """Change of variables: log density of (a, b, c, d) = log prior(z) + log |dz/du|, up to a constant."""
    prior = generator.LambdaPrior(3.0, 0.4)

    @jax.jit
    @jax.vmap
    def difference(key):
        own = generator.sample_parameter_inputs(key)
        jacobian = jax.jacfwd(lambda u: generator.parameters(u, prior))(own)
        density = generator.log_prior_parameters(generator.parameters(own, prior), prior)
        return density + jnp.linalg.slogdet(jacobian)[1] - generator.log_prior(own)

    differences = difference(jax.random.split(jax.random.key(4), 6))
    np.testing.assert_allclose(differences, differences[0], atol=1e-10)
    assert float(generator.log_prior_parameters(jnp.array([1.0, -0.1, 0.0, 0.0]), prior)) == -np.inf


def test_logistic_inputs_have_unit_variance():
    v = np.linspace(-30.0, 30.0, 20_001)
    density = np.exp(jax.vmap(lambda v: generator.log_prior(jnp.zeros(4).at[3].set(v)))(v))
    assert np.average(v**2, weights=density) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (10.0, 0.1)])
def test_the_structured_jacobian_is_that_of_the_constraint(prior):
    model = generator.generalised_lambda_model(generator.published_observations()[:7], *prior)
    own = fibre.inputs_of_parameters(jnp.array([4.0, 1.2, 0.3, -0.2]), model)
    inputs = jnp.concatenate([own, jnp.linspace(-1.8, 2.1, 7)])
    _, dense, structured, half_log_determinant = constraint_at(generator.conditioned_model(model), inputs)
    np.testing.assert_allclose(structured, dense, rtol=1e-10, atol=1e-12)
    _, log_determinant = np.linalg.slogdet(dense @ dense.T)
    assert float(half_log_determinant) == pytest.approx(0.5 * log_determinant, rel=1e-10)


def test_surface_density_in_the_chart_of_the_parameters_is_the_posterior(published):
    """rho(u) |det du2/dx| on the fibre, as a function of u1, is prior times likelihood up to a constant."""

    @jax.jit
    @jax.vmap
    def difference(z):
        own = fibre.inputs_of_parameters(z, published)
        inputs = fibre.fibre_point(own, published).inputs
        diagonal = generator.conditioned_model(published).jacobian(inputs).diagonal
        chart = generator.log_prior(inputs) - jnp.sum(jnp.log(diagonal))
        jacobian = jax.jacfwd(lambda u: generator.parameters(u, published.prior))(own)
        posterior = log_likelihood(published, "exact")(z) + generator.log_prior_parameters(z, published.prior)
        return chart - posterior - jnp.linalg.slogdet(jacobian)[1]

    z = jnp.array([[5.0, 1.0, 0.4, -0.1], [4.7, 0.9, 0.5, -0.15], [4.6, 1.1, 0.5, -0.2]])
    differences = difference(z)
    np.testing.assert_allclose(differences, differences[0], atol=1e-7)


def test_the_density_of_abc_has_a_gaussian_kernel_and_its_gradient(published, point):
    inputs = point.inputs + 0.01 * jnp.cos(jnp.arange(254.0))
    residual = np.asarray(generator.generate(inputs, published.prior) - published.observations)
    density = jax.jit(lambda u: generator.abc_log_density(published, u, 0.3))
    found = density(inputs) - generator.log_prior(inputs)
    assert float(found) == pytest.approx(-0.5 * np.sum(np.square(residual / 0.3)), rel=1e-10)
    direction = jnp.sin(jnp.arange(254.0))
    difference = (density(inputs + 1e-6 * direction) - density(inputs - 1e-6 * direction)) / 2e-6
    gradient = jax.jit(jax.grad(density))(inputs)
    assert float(jnp.vdot(gradient, direction)) == pytest.approx(float(difference), rel=1e-6)


def test_a_generator_that_overflows_has_density_zero(published):
    inputs = jnp.full(254, 30.0).at[2].set(-500.0)
    assert float(generator.abc_log_density(published, inputs, 0.25)) == -np.inf
    assert not bool(jnp.all(jnp.isfinite(generator.conditioned_model(published).constraint(inputs))))


def test_solved_logits_give_the_values(published, point):
    assert float(point.residual) < 1e-11
    assert bool(jnp.max(jnp.abs(generator.conditioned_model(published).constraint(point.inputs))) < 1e-8)
    uniforms = np.random.RandomState(20170628).uniform(size=250)
    logits = generator.LOGISTIC_RATE * np.asarray(point.inputs[4:])
    np.testing.assert_allclose(1.0 / (1.0 + np.exp(-logits)), uniforms, rtol=1e-9)


def test_data_outside_the_support_have_no_point(published):
    bounded = fibre.inputs_of_parameters(jnp.array([5.0, 1.0, 0.4, 0.2]), published)
    assert float(generator.support(generator.parameters(bounded, published.prior))[1]) < 18.0
    assert float(fibre.fibre_point(bounded, published).residual) == np.inf


def test_solutions_stop_at_the_end_of_the_interval():
    found = fibre.solve_logits(jnp.array([-500.0, 0.0, 500.0]), jnp.array([0.0, 1.0, 0.0, 0.0]))
    np.testing.assert_allclose(found, [-40.0, 0.0, 40.0], atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["strong", "weak"])
def test_initial_points_are_the_first_prior_draws_that_give_the_data(published, name):
    model = published._replace(prior=generator.PRIORS[name])
    keys = jax.random.split(jax.random.key(12), 40)
    points = jax.jit(jax.vmap(lambda key: fibre.initial_inputs(key, model)))(keys)
    assert float(points.residual.max()) < fibre.LARGEST_RESIDUAL
    assert int(points.n_redraws.max()) > 0

    @jax.jit
    @jax.vmap
    def attempts(key):
        drawn = lambda index: generator.sample_parameter_inputs(jax.random.fold_in(key, index))
        return jax.vmap(lambda index: fibre.fibre_point(drawn(index), model).residual)(jnp.arange(8))

    residuals = np.asarray(attempts(keys))
    possible = residuals < fibre.LARGEST_RESIDUAL
    # Eight draws are enough but for about one key in a hundred.
    early = np.asarray(points.n_redraws) < 8
    np.testing.assert_array_equal(possible.any(axis=1), early)
    np.testing.assert_array_equal(np.argmax(possible, axis=1)[early], np.asarray(points.n_redraws)[early])


def test_an_impossible_start_gives_up_and_says_so(published):
    hopeless = published._replace(observations=published.observations + 1e9)
    found = fibre.initial_inputs(jax.random.key(0), hopeless, max_redraws=5)
    assert int(found.n_redraws) == 5
    assert not float(found.residual) < 1e-8


@pytest.mark.parametrize("target", TARGETS)
def test_likelihoods_agree_with_integrals_over_the_quantile_function(target):
    data = np.array([3.1, 4.0, 6.5])
    likelihood = jax.jit(log_likelihood(generator.generalised_lambda_model(data), target, 0.2))
    for z in ((5.0, 1.0, 0.4, -0.1), (3.0, 0.5, 0.02, 0.01)):
        parameters_ = jnp.array(z)
        logits = np.linspace(-45.0, 45.0, 400_001)
        x = np.asarray(generator.quantile(jnp.asarray(logits), parameters_))
        mass = 1.0 / (1.0 + np.exp(-logits)) / (1.0 + np.exp(logits))
        if target == "exact":
            slope = np.interp(data, x, np.asarray(generator.quantile_slope(jnp.asarray(logits), parameters_)))
            expected = np.log(np.interp(data, x, mass) / slope).sum()
        elif target == "cube":
            ends = np.interp(np.stack([data - 0.2, data + 0.2]), x, logits, -np.inf, np.inf)
            expected = np.log(np.diff(stats.logistic.cdf(ends), axis=0)).sum()
        else:
            kernel = stats.norm.pdf(data[:, None], x, 0.2)
            expected = np.log(np.trapezoid(kernel * mass, logits, axis=1)).sum()
        assert float(likelihood(parameters_)) == pytest.approx(expected, rel=2e-4)
    # Parameters whose support ends at 1.25, far below all data.
    assert float(likelihood(jnp.array([1.0, 10.0, 0.5, 0.4]))) == -np.inf


def test_small_tolerances_lead_to_the_exact_likelihood(published):
    z = jnp.array(generator.GENERATING_PARAMETERS)

    def value(target, tolerance=0.0):
        return float(jax.jit(log_likelihood(published, target, tolerance))(z))

    exact = value("exact")
    assert value("cube", 1e-4) - 250 * np.log(2e-4) == pytest.approx(exact, abs=1e-4)
    errors = [abs(value("gaussian", eps) - exact) for eps in (0.2, 0.1, 0.05)]
    assert errors[0] > 2.0 * errors[1] > 4.0 * errors[2]


def test_posterior_in_the_log_of_the_scale_has_its_volume_element(published):
    point = jnp.array([4.8, np.log(0.9), 0.45, -0.12])
    z = point.at[1].set(0.9)
    expected = log_likelihood(published, "exact")(z) + generator.log_prior_parameters(z, published.prior)
    found = log_posterior(published, "exact")(point)
    assert float(found) == pytest.approx(float(expected) + np.log(0.9), rel=1e-12)


@pytest.mark.slow
def test_reference_posterior_of_the_published_data(published):
    """Mean and standard deviation of z1 read from the published figure: 4.705 and 0.108."""
    sizes = {"n_walkers": 40, "n_burn_in": 150, "n_draws": 150}
    draws, rate = jax.jit(lambda key: reference_draws(key, published, "exact", **sizes))(jax.random.key(8))
    assert draws.shape == (150, 40, 4)
    assert 0.4 < float(rate) < 0.95
    assert float(draws[..., 0].mean()) == pytest.approx(4.705, abs=0.015)
    assert float(draws[..., 0].std()) == pytest.approx(0.108, abs=0.008)
    assert bool(jnp.all(draws[..., 1] > 0.0))


def test_the_metric_of_abc_is_that_of_equation_4_52():
    model = generator.generalised_lambda_model([4.0, 5.5, 6.1])
    inputs = jnp.array([4.5, 0.3, 0.4, -0.2, -0.9, 0.1, 0.8])
    jacobian = np.asarray(jax.jacfwd(lambda u: generator.generate(u, model.prior))(inputs))
    expected = jacobian.T @ jacobian / 0.05**2 + np.eye(7)
    metric = generator.abc_metric(model, 0.05)(inputs)
    matrix, root = (jax.vmap(f, out_axes=1)(jnp.eye(7)) for f in (metric.times, metric.momentum))
    np.testing.assert_allclose(matrix, expected, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(root @ root.T, expected, rtol=1e-10, atol=1e-9)
    np.testing.assert_allclose(metric.solve(jnp.asarray(expected) @ inputs), inputs, rtol=1e-8)
    half_log_determinant = 0.5 * np.linalg.slogdet(expected)[1]
    assert float(metric.half_log_determinant) == pytest.approx(half_log_determinant, rel=1e-10)
