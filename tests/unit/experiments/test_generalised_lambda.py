"""The generalised lambda distribution, the model conditioned on its data, and its exact answers."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from experiments.generalised_lambda.model import fibre, generator
from experiments.generalised_lambda.model.exact import TARGETS, log_likelihood, log_posterior, reference_draws

SHAPES = [(0.4, -0.1), (-0.3, 0.7), (0.0, 0.0), (1e-9, -1e-7), (0.02, 0.3), (2.5, 1.2)]
LOGITS = np.array([-30.0, -7.0, -1.3, -1e-3, 0.4, 3.0, 12.0, 35.0])


def _parameters(shapes, location=1.5, scale=0.8):
    return jnp.array([location, scale, *shapes])


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


def test_another_seed_gives_other_data_of_the_asked_size():
    data = generator.simulate_observations(7, 31)
    assert data.shape == (31,)
    assert not np.any(np.isin(data, generator.published_observations()))


@pytest.mark.parametrize(
    ("observations", "message"),
    [
        ([1.0, np.nan, 3.0, np.inf], r"got nan at entry 1 \(counted from 0\); 2 of 4 entries"),
        ([[1.0, 2.0]], r"must be a vector \[data\].*got shape \(1, 2\)"),
        ([1.0], "at least 2 numbers"),
        (["a", "b"], "observations must be numbers"),
    ],
)
def test_bad_observations_are_named(observations, message):
    with pytest.raises(ValueError, match=message):
        generator.generalised_lambda_model(observations)


@pytest.mark.parametrize("name", ["prior_sd", "prior_rate"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_a_prior_must_be_positive(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a positive number"):
        generator.generalised_lambda_model([1.0, 2.0], **{name: value})


@pytest.mark.parametrize("shapes", SHAPES)
def test_the_quantile_function_is_the_closed_form(shapes):
    z = _parameters(shapes)
    p = np.array([0.01, 0.2, 0.5, 0.77, 0.999])

    def integral(base, power):
        return np.log(base) if abs(power) < 1e-6 else (base**power - 1.0) / power

    expected = 1.5 + (integral(p, shapes[0]) - integral(1.0 - p, shapes[1])) / 0.8
    np.testing.assert_allclose(
        generator.quantile_at_probability(jnp.asarray(p), z), expected, rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("shapes", SHAPES)
def test_quantiles_increase_and_their_slope_is_the_derivative(shapes):
    z, logits = _parameters(shapes), jnp.asarray(LOGITS)
    slope = jax.vmap(jax.grad(generator.quantile), in_axes=(0, None))(logits, z)
    # Derivatives of the two terms cancel where the slope is small.
    np.testing.assert_allclose(generator.quantile_slope(logits, z), slope, rtol=1e-9, atol=1e-16)
    assert bool(jnp.all(slope > 0.0))
    step = 1e-5
    middle = jnp.asarray(LOGITS[1:-1])
    difference = (generator.quantile(middle + step, z) - generator.quantile(middle - step, z)) / (2.0 * step)
    np.testing.assert_allclose(generator.quantile_slope(middle, z), difference, rtol=1e-5)


@pytest.mark.parametrize("shapes", SHAPES)
def test_derivatives_in_the_parameters_agree_with_differences(shapes):
    z, logits = _parameters(shapes), jnp.asarray(LOGITS[1:-1])
    derivative = jax.jacfwd(lambda z: generator.quantile(logits, z))(z)
    for index in range(4):
        shift = jnp.zeros(4).at[index].set(1e-5)
        difference = (generator.quantile(logits, z + shift) - generator.quantile(logits, z - shift)) / 2e-5
        np.testing.assert_allclose(derivative[:, index], difference, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("logit", [-20.0, -0.7, 0.3, 9.0])
def test_second_derivatives_in_the_shapes_are_continuous_at_zero(logit):
    """The limit of the second derivative of (p^a - 1)/a in a is (log p)^3/3."""
    log_p = float(jax.nn.log_sigmoid(logit))
    second = jax.grad(
        jax.grad(
            lambda a: generator.quantile(jnp.asarray(logit), jnp.array([0.0, 1.0, 0.0, 0.0]).at[2].set(a))
        )
    )
    for shape in (0.0, 1e-12, -1e-6, 1e-4):
        assert float(second(shape)) == pytest.approx(log_p**3 / 3.0, rel=3e-3 if abs(shape) > 1e-5 else 1e-4)
    # On both sides of the place where a series takes over.
    edge = 0.02 / abs(log_p)
    assert float(second(edge * (1 - 1e-9))) == pytest.approx(float(second(edge * (1 + 1e-9))), rel=1e-7)


def test_far_tails_do_not_lose_their_digits():
    """At l = 60, 1 - p is 9e-27 and rounds to zero; q is 5 + (0 - ((1-p)^-0.1 - 1)/-0.1)."""
    upper = float(generator.quantile(jnp.asarray(60.0), jnp.array(generator.GENERATING_PARAMETERS)))
    assert upper == pytest.approx(5.0 + (np.exp(6.0) - 1.0) / 0.1, rel=1e-12)


def test_the_other_sign_could_not_give_the_published_data():
    z = np.array(generator.GENERATING_PARAMETERS)
    p = np.linspace(1e-6, 1.0 - 1e-6, 20001)
    printed = z[0] + ((p ** z[2] - 1.0) / z[2] + ((1.0 - p) ** z[3] - 1.0) / z[3]) / z[1]
    assert printed.max() < 6.0 < generator.published_observations().max()
    assert np.any(np.diff(printed) < 0.0)


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ((0.4, -0.1), (1.5 - 1.0 / 0.32, np.inf)),
        ((-0.2, 0.5), (-np.inf, 1.5 + 1.0 / 0.4)),
        ((0.0, 0.0), (-np.inf, np.inf)),
    ],
)
def test_support_is_where_the_quantiles_end(shapes, expected):
    z = _parameters(shapes)
    assert [float(end) for end in generator.support(z)] == pytest.approx(expected)
    ends = generator.quantile(jnp.array([-700.0, 700.0]), z)
    for end, reached in zip(expected, ends, strict=True):
        assert (abs(float(reached)) > 100.0) if np.isinf(end) else float(reached) == pytest.approx(end)


@pytest.mark.parametrize("prior", generator.PRIORS.values(), ids=generator.PRIORS.keys())
def test_inputs_of_parameters_inverts_the_map(prior):
    model = generator.generalised_lambda_model([1.0, 2.0], float(prior.sd), float(prior.rate))
    for z in itertools.product([-2.0, 5.0], [1e-3, 1.0, 40.0], [0.4], [-0.1]):
        own = fibre.inputs_of_parameters(jnp.array(z), model)
        np.testing.assert_allclose(generator.parameters(own, model.prior), z, rtol=1e-12)


def test_prior_of_the_inputs_is_that_of_the_parameters():
    """Change of variables: log density of (a, b, c, d) = log prior(z) + log |dz/du|, up to a constant."""
    prior = generator.LambdaPrior(3.0, 0.4)
    keys = jax.random.split(jax.random.key(4), 6)
    differences = []
    for key in keys:
        own = generator.sample_parameter_inputs(key)
        jacobian = jax.jacfwd(lambda u: generator.parameters(u, prior))(own)
        density = (
            generator.log_prior_parameters(generator.parameters(own, prior), prior)
            + jnp.linalg.slogdet(jacobian)[1]
        )
        differences.append(float(density - generator.log_prior(own)))
    np.testing.assert_allclose(differences, differences[0], atol=1e-10)
    assert float(generator.log_prior_parameters(jnp.array([1.0, -0.1, 0.0, 0.0]), prior)) == -np.inf


def test_logistic_inputs_have_unit_variance():
    density = lambda v: np.exp(float(generator.log_prior(jnp.array([0.0, 0.0, 0.0, v]))))
    mass = integrate.quad(density, -30, 30)[0]
    assert integrate.quad(lambda v: v**2 * density(v), -30, 30)[0] / mass == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize("prior", [(1.0, 1.0), (10.0, 0.1)])
def test_the_structured_jacobian_is_that_of_the_constraint(prior):
    model = generator.generalised_lambda_model(generator.published_observations()[:7], *prior)
    conditioned = generator.conditioned_model(model)
    own = fibre.inputs_of_parameters(jnp.array([4.0, 1.2, 0.3, -0.2]), model)
    inputs = jnp.concatenate([own, jnp.linspace(-1.8, 2.1, 7)])
    dense = jax.jit(jax.jacrev(conditioned.constraint))(inputs)
    structured = jax.jit(conditioned.jacobian)(inputs)
    identity = jnp.eye(generator.input_dim(model))
    np.testing.assert_allclose(jax.jit(jax.vmap(structured.times))(identity).T, dense, rtol=1e-10, atol=1e-12)
    _, log_determinant = jnp.linalg.slogdet(dense @ dense.T)
    assert float(structured.half_log_determinant) == pytest.approx(0.5 * float(log_determinant), rel=1e-10)


def test_surface_density_in_the_chart_of_the_parameters_is_the_posterior(published):
    """rho(u) |det du2/dx| on the fibre, as a function of u1, is prior times likelihood up to a constant."""
    differences = []
    for z in ([5.0, 1.0, 0.4, -0.1], [4.7, 0.9, 0.5, -0.15], [4.6, 1.1, 0.5, -0.2]):
        own = fibre.inputs_of_parameters(jnp.array(z), published)
        inputs = jax.jit(fibre.fibre_point)(own, published).inputs
        diagonal = jax.jit(generator.conditioned_model(published).jacobian)(inputs).diagonal
        chart = generator.log_prior(inputs) - jnp.sum(jnp.log(diagonal))
        jacobian = jax.jacfwd(lambda u: generator.parameters(u, published.prior))(own)
        likelihood = jax.jit(log_likelihood(published, "exact"))(jnp.array(z))
        posterior = likelihood + generator.log_prior_parameters(jnp.array(z), published.prior)
        differences.append(float(chart - posterior - jnp.linalg.slogdet(jacobian)[1]))
    np.testing.assert_allclose(differences, differences[0], atol=1e-7)


def test_gaussian_kernel_density_and_its_gradient(published, point):
    inputs = point.inputs + 0.01 * jnp.cos(jnp.arange(254.0))
    density = lambda u: generator.abc_log_density(published, u, 0.3)
    residual = generator.generate(inputs, published.prior) - published.observations
    expected = stats.norm(scale=0.3).logpdf(np.asarray(residual)).sum() + 250 * np.log(
        0.3 * np.sqrt(2 * np.pi)
    )
    assert float(density(inputs) - generator.log_prior(inputs)) == pytest.approx(expected, rel=1e-10)
    direction = jnp.sin(jnp.arange(254.0))
    difference = (density(inputs + 1e-6 * direction) - density(inputs - 1e-6 * direction)) / 2e-6
    assert float(jnp.vdot(jax.grad(density)(inputs), direction)) == pytest.approx(float(difference), rel=1e-6)


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
    z = jnp.array([0.0, 1.0, 0.0, 0.0])
    np.testing.assert_allclose(
        fibre.solve_logits(jnp.array([-500.0, 0.0, 500.0]), z), [-40.0, 0.0, 40.0], atol=1e-9
    )


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


ORACLE_PARAMETERS = [(5.0, 1.0, 0.4, -0.1), (0.0, 0.8, -0.1, -0.3), (3.0, 0.5, 0.02, 0.01)]


@pytest.mark.parametrize("z", ORACLE_PARAMETERS)
@pytest.mark.parametrize("target", TARGETS)
def test_likelihoods_agree_with_integrals_over_the_quantile_function(target, z):
    data = np.array([3.1, 4.0, 6.5])
    model, tolerance = generator.generalised_lambda_model(data), 0.2
    parameters_ = jnp.array(z)
    logits = np.linspace(-45.0, 45.0, 400_001)
    x = np.asarray(generator.quantile(jnp.asarray(logits), parameters_))
    mass = 1.0 / (1.0 + np.exp(-logits)) / (1.0 + np.exp(logits))
    cdf = stats.logistic.cdf(np.interp(np.concatenate([data - 0.2, data + 0.2]), x, logits, -np.inf, np.inf))
    if target == "exact":
        slope = np.interp(data, x, np.asarray(generator.quantile_slope(jnp.asarray(logits), parameters_)))
        expected = np.log(np.interp(data, x, mass) / slope).sum()
    elif target == "cube":
        expected = np.log(cdf[3:] - cdf[:3]).sum()
    else:
        kernel = (
            np.exp(-0.5 * ((data[:, None] - x[None, :]) / tolerance) ** 2) / np.sqrt(2 * np.pi) / tolerance
        )
        expected = np.log(np.trapezoid(kernel * mass, logits, axis=1)).sum()
    assert float(log_likelihood(model, target, tolerance)(parameters_)) == pytest.approx(expected, rel=2e-4)


def test_small_tolerances_lead_to_the_exact_likelihood(published):
    z = jnp.array(generator.GENERATING_PARAMETERS)

    def value(target, tolerance=0.0):
        return float(jax.jit(log_likelihood(published, target, tolerance))(z))

    exact = value("exact")
    assert value("cube", 1e-4) - 250 * np.log(2e-4) == pytest.approx(exact, abs=1e-4)
    errors = [abs(value("gaussian", eps) - exact) for eps in (0.2, 0.1, 0.05)]
    assert errors[0] > 2.0 * errors[1] > 4.0 * errors[2]


def test_parameters_that_exclude_a_datum_have_likelihood_zero(published):
    z = jnp.array([5.0, 1.0, 0.5, 0.2])
    for target in TARGETS:
        assert float(jax.jit(log_likelihood(published, target, 0.1))(z)) == -np.inf


@pytest.mark.parametrize(
    ("target", "tolerance", "message"),
    [
        ("ball", 0.1, "unknown target 'ball'"),
        ("cube", 0.0, "tolerance must be positive"),
        ("gaussian", -1.0, "positive"),
    ],
)
def test_wrong_targets_are_rejected(published, target, tolerance, message):
    with pytest.raises(ValueError, match=message):
        log_likelihood(published, target, tolerance)


def test_posterior_in_the_log_of_the_scale_has_its_volume_element(published):
    point = jnp.array([4.8, np.log(0.9), 0.45, -0.12])
    z = point.at[1].set(0.9)
    expected = (
        log_likelihood(published, "exact")(z)
        + generator.log_prior_parameters(z, published.prior)
        + np.log(0.9)
    )
    assert float(log_posterior(published, "exact")(point)) == pytest.approx(float(expected), rel=1e-12)


@pytest.mark.slow
def test_reference_posterior_of_the_published_data(published):
    """Mean and standard deviation of z1 read from the published figure: 4.705 and 0.108."""
    draws, rate = jax.jit(
        lambda key: reference_draws(key, published, "exact", n_walkers=40, n_burn_in=150, n_draws=150)
    )(jax.random.key(8))
    assert draws.shape == (150, 40, 4)
    assert 0.4 < float(rate) < 0.95
    assert float(draws[..., 0].mean()) == pytest.approx(4.705, abs=0.015)
    assert float(draws[..., 0].std()) == pytest.approx(0.108, abs=0.008)
    assert bool(jnp.all(draws[..., 1] > 0.0))
