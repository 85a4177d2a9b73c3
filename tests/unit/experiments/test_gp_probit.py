from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.special import log_ndtr, logsumexp

from experiments.gp_probit.model import estimator, gp_probit_model, load_biopsy, standardise

POSTERIOR_REGION = np.array([2.1, 1.0, 1.2, 1.1, 1.4, 1.3, 0.9, 1.2, 1.1, 1.3])


@pytest.fixture(scope="module")
def biopsy():
    return load_biopsy()


def _part_of_biopsy(biopsy, n_rows, collapse_duplicates=True):
    features = standardise(biopsy.features)[:n_rows]
    return gp_probit_model(features, biopsy.labels[:n_rows], collapse_duplicates)


def _toy(n_rows, seed=0, n_features=2):
    rng = np.random.default_rng(seed)
    features = rng.standard_normal((n_rows, n_features))
    return gp_probit_model(features, np.where(features.sum(axis=1) + rng.standard_normal(n_rows) > 0, 1, -1))


class DenseEstimate(NamedTuple):
    """One density estimate by the formulae as they are usually printed, in NumPy."""

    log_estimate: float
    log_marginal: float
    n_newton: int


def _dense_estimate(features, labels, x, u):
    """Newton iteration, dense covariance of the approximation, its Cholesky factor; u [row, importance]."""
    n_features = features.shape[1]
    lengths = np.exp(x[1:])
    difference = (features[:, None, :] - features[None, :, :]) / lengths
    covariance = np.exp(x[0]) * np.exp(-0.5 * (difference**2).sum(axis=-1)) + 1e-8 * np.eye(len(labels))
    z, n_newton = np.zeros(len(labels)), 0
    while True:
        n_newton += 1
        v = np.exp(-0.5 * z**2 - log_ndtr(labels * z) - 0.5 * np.log(2.0 * np.pi))
        w = np.maximum(v**2 + labels * z * v, 0.0)
        root = np.sqrt(w)
        b_matrix = np.eye(len(labels)) + root[:, None] * covariance * root
        b = w * z + labels * v
        a = b - root * np.linalg.solve(b_matrix, root * (covariance @ b))
        z, previous = covariance @ a, z
        if np.mean((z - previous) ** 2) < 1e-4:
            break
    sigma = covariance - covariance @ (root[:, None] * np.linalg.solve(b_matrix, root[:, None] * covariance))
    factor = np.linalg.cholesky(0.5 * (sigma + sigma.T))
    prior = np.linalg.cholesky(covariance)
    samples = z[:, None] + factor @ u
    log_weights = (
        log_ndtr(labels[:, None] * samples).sum(axis=0)
        - 0.5 * (np.linalg.solve(prior, samples) ** 2).sum(axis=0)
        - np.log(np.diag(prior)).sum()
        + 0.5 * (u**2).sum(axis=0)
        + np.log(np.diag(factor)).sum()
    )
    s = np.exp(x[0])
    log_prior = stats.gamma(1.1, scale=10.0).logpdf(s) + x[0]
    log_prior += (stats.expon(scale=np.sqrt(n_features)).logpdf(lengths) + x[1:]).sum()
    log_marginal = (
        -0.5 * a @ z + log_ndtr(labels * z).sum() - np.log(np.diag(np.linalg.cholesky(b_matrix))).sum()
    )
    return DenseEstimate(
        log_prior + logsumexp(log_weights) - np.log(u.shape[1]), float(log_marginal), n_newton
    )


def _evaluate(density, x, u):
    """Log estimate, cubic operations and failures, compiled; more axes of u in front are mapped over."""

    @jax.jit
    def evaluate(x, u):
        cache = density.prepare(x)
        values = jax.vmap(density.log_estimate, in_axes=(None, 0))(cache, u.reshape(-1, *u.shape[-2:]))
        return values.reshape(u.shape[:-2]), density.n_cubic(cache), density.n_failures(cache)

    return evaluate(jnp.asarray(x), jnp.asarray(u))


def test_biopsy_has_the_counts_of_its_description(biopsy):
    assert (biopsy.n_rows_read, biopsy.n_incomplete) == (699, 16)
    assert biopsy.features.shape == (683, 9)
    assert (np.sum(biopsy.labels == 1.0), np.sum(biopsy.labels == -1.0)) == (239, 444)
    assert biopsy.features.min() == 1.0
    assert biopsy.features.max() == 10.0
    assert biopsy.feature_names == tuple(f"V{i}" for i in range(1, 10))


def test_the_first_complete_row_can_be_dropped(biopsy):
    dropped = load_biopsy(drop_first_complete_row=True)
    np.testing.assert_array_equal(dropped.features, biopsy.features[1:])
    np.testing.assert_array_equal(dropped.labels, biopsy.labels[1:])
    assert dropped.n_rows_read == 699


def test_biopsy_collapses_to_its_distinct_rows(biopsy):
    model = gp_probit_model(biopsy.features, biopsy.labels)
    assert model.inputs.shape == (449, 9)
    assert (model.n_plus.sum(), model.n_minus.sum()) == (239.0, 444.0)
    assert not np.any((model.n_plus > 0) & (model.n_minus > 0))


def test_standardise_uses_the_population_standard_deviation():
    scaled = standardise([[0.0, 10.0], [2.0, 40.0]])
    np.testing.assert_allclose(scaled, [[-1.0, -1.0], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: standardise([[1.0, 2.0], [1.0, 3.0]]), r"features \[0\].*constant"),
        (lambda: standardise([1.0, 2.0]), "matrix"),
        (lambda: gp_probit_model([[1.0]], [0.5]), r"\+1 or -1, got \[0.5\]"),
        (lambda: gp_probit_model([[1.0], [2.0]], [1]), r"shape \(2,\), got shape \(1,\)"),
        (lambda: gp_probit_model([[np.nan]], [1]), "finite"),
        (lambda: gp_probit_model([1.0], [1]), "matrix"),
        (lambda: estimator(gp_probit_model([[1.0]], [1]), 0), "positive integer, got 0"),
    ],
)
def test_bad_input_is_rejected_with_a_reason(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("n_features", [1, 4, 9])
def test_log_prior_is_that_of_logs_of_gamma_variables(n_features):
    model = gp_probit_model(np.zeros((1, n_features)), [1])
    x = np.random.default_rng(0).normal(0.5, 1.0, n_features + 1)
    expected = stats.loggamma(1.1, loc=np.log(10.0)).logpdf(x[0])
    expected += stats.loggamma(1.0, loc=0.5 * np.log(n_features)).logpdf(x[1:]).sum()
    np.testing.assert_allclose(model.log_prior(jnp.asarray(x)), expected, rtol=1e-12)


def test_covariance_is_the_squared_exponential_with_jitter():
    model = gp_probit_model([[0.0, 0.0], [1.0, 3.0]], [1, -1])
    covariance = model.covariance(jnp.log(jnp.asarray([5.0, 2.0, 6.0])))
    off_diagonal = 5.0 * np.exp(-0.5 * (0.5**2 + 0.5**2))
    np.testing.assert_allclose(
        covariance, [[5.0 + 1e-8, off_diagonal], [off_diagonal, 5.0 + 1e-8]], rtol=1e-14
    )


@pytest.mark.parametrize("n_importance", [1, 7])
def test_estimate_agrees_with_the_dense_formulae(n_importance):
    model = _toy(12)
    labels = np.where(model.n_plus > 0, 1.0, -1.0)
    x = np.array([1.0, -1.5, -1.0])
    u = np.random.default_rng(1).standard_normal((n_importance, 12))
    value, n_cubic, n_failures = _evaluate(estimator(model, n_importance), x, u)
    expected = _dense_estimate(model.inputs, labels, x, u.T)
    np.testing.assert_allclose(value, expected.log_estimate, rtol=1e-7)
    assert int(n_cubic) == expected.n_newton + 3
    assert int(n_failures) == 0


def test_log_marginal_agrees_with_the_dense_formulae():
    model = _toy(12)
    labels = np.where(model.n_plus > 0, 1.0, -1.0)
    x = np.array([1.0, -1.5, -1.0])
    expected = _dense_estimate(model.inputs, labels, x, np.zeros((12, 1))).log_marginal
    cache = jax.jit(estimator(model, 1).prepare)(jnp.asarray(x))
    np.testing.assert_allclose(cache.log_marginal, expected, rtol=1e-9)


def test_estimate_agrees_with_the_dense_formulae_on_data(biopsy):
    model = _part_of_biopsy(biopsy, 150)
    labels = np.repeat(1.0, len(model.inputs))
    labels[model.n_plus == 0] = -1.0
    single = gp_probit_model(model.inputs, labels, collapse_duplicates=False)
    u = np.random.default_rng(2).standard_normal((5, len(labels)))
    value, n_cubic, _ = _evaluate(estimator(single, 5), POSTERIOR_REGION, u)
    expected = _dense_estimate(single.inputs, labels, POSTERIOR_REGION, u.T)
    # The dense formula subtracts nearly equal matrices and loses digits: it limits the comparison.
    np.testing.assert_allclose(value, expected.log_estimate, rtol=1e-6)
    assert 8 <= int(n_cubic) == expected.n_newton + 3 <= 15


@pytest.mark.parametrize("collapse_duplicates", [True, False])
def test_estimator_is_unbiased(collapse_duplicates):
    # Two distinct inputs, one of them seen three times with both labels.
    features, labels = np.array([[0.0], [1.0], [0.0], [0.0]]), np.array([1, -1, 1, -1])
    x = jnp.asarray([1.5, 0.3])
    model = gp_probit_model(features, labels, collapse_duplicates)
    covariance = np.asarray(gp_probit_model(features, labels).covariance(x))
    latent_prior = stats.multivariate_normal(cov=covariance)

    def integrand(z2, z1):
        log_likelihood = 2 * log_ndtr(z1) + log_ndtr(-z1) + log_ndtr(-z2)
        return np.exp(log_likelihood + latent_prior.logpdf([z1, z2]))

    exact, _ = integrate.dblquad(integrand, -14, 14, -14, 14, epsabs=1e-8)
    exact *= np.exp(float(model.log_prior(x)))
    # Estimates are smooth functions of u: sums over an even grid with normal weights have no error to speak of.
    n_inputs = len(model.inputs)
    side = np.linspace(-7.8, 7.8, 27)
    u = np.stack(np.meshgrid(*[side] * n_inputs, indexing="ij"), axis=-1).reshape(-1, 1, n_inputs)
    log_values, *_ = _evaluate(estimator(model, 1), x, u)
    log_weights = stats.norm.logpdf(u).sum(axis=(1, 2)) + n_inputs * np.log(side[1] - side[0])
    assert np.exp(logsumexp(np.asarray(log_values) + log_weights)) == pytest.approx(exact, rel=1e-6)


def test_many_samples_estimate_the_mean_of_single_ones():
    model = _toy(4)
    x = jnp.asarray([1.0, 0.0, 0.5])
    many, one = estimator(model, 50), estimator(model, 1)
    u = many.draw_auxiliary(jax.random.key(4))
    value, *_ = _evaluate(many, x, u)
    singles, *_ = _evaluate(one, x, u[:, None, :])
    np.testing.assert_allclose(value, logsumexp(singles) - np.log(50), rtol=1e-12)


def test_collapsing_duplicates_leaves_the_log_marginal_unchanged(biopsy):
    collapsed = _part_of_biopsy(biopsy, 200)
    single = _part_of_biopsy(biopsy, 200, collapse_duplicates=False)
    assert len(collapsed.inputs) < len(single.inputs) == 200
    values = [
        jax.jit(estimator(model, 1).prepare)(jnp.asarray(POSTERIOR_REGION)).log_marginal
        for model in (collapsed, single)
    ]
    np.testing.assert_allclose(*values, rtol=1e-7)


def test_prepare_is_a_function_of_the_position_alone():
    density = estimator(_toy(20), 3)
    prepare = jax.jit(density.prepare)
    x, elsewhere = jnp.asarray([1.0, 0.2, 0.4]), jnp.asarray([4.0, -3.0, 2.0])
    first = prepare(x)
    prepare(elsewhere)
    jax.tree.map(np.testing.assert_array_equal, first, prepare(x))


def test_vmap_over_positions_equals_single_runs():
    density = estimator(_toy(10), 3)
    positions = jnp.asarray([[1.0, 0.2, 0.4], [3.0, -1.0, 2.0], [-2.0, 1.0, 1.0]])
    u = jax.vmap(density.draw_auxiliary)(jax.random.split(jax.random.key(0), 3))

    def evaluate(x, u):
        cache = density.prepare(x)
        return density.log_estimate(cache, u), density.n_cubic(cache)

    values, n_cubic = jax.jit(jax.vmap(evaluate))(positions, u)
    single = jax.jit(evaluate)
    singles = [single(x, u_x) for x, u_x in zip(positions, u, strict=True)]
    np.testing.assert_allclose(values, [value for value, _ in singles], rtol=1e-8)
    np.testing.assert_array_equal(n_cubic, [count for _, count in singles])
    assert len(set(n_cubic.tolist())) > 1  # lanes that stop at different steps


def test_prior_draws_survive(biopsy):
    model = _part_of_biopsy(biopsy, 40)
    density = estimator(model, 2)

    def evaluate(key):
        key_x, key_u = jax.random.split(key)
        cache = density.prepare(model.sample_prior(key_x))
        value = density.log_estimate(cache, density.draw_auxiliary(key_u))
        return value, density.n_failures(cache), density.n_cubic(cache)

    keys = jax.random.split(jax.random.key(5), 1000)
    values, n_failures, n_cubic = jax.jit(lambda k: jax.lax.map(evaluate, k))(keys)
    assert bool(jnp.all(jnp.isfinite(values)))
    assert int(n_failures.sum()) == 0
    assert int(n_cubic.min()) > 4
    assert int(n_cubic.max()) < 40


@pytest.mark.parametrize(
    "x",
    [[800.0, 0.0, 0.0], [jnp.nan, 0.0, 0.0], [0.0, -800.0, 0.0], [45.0, 5.0, 5.0]],
    ids=["infinite variance", "not a number", "zero length scale", "rounding beyond the jitter"],
)
def test_failure_is_counted_and_gives_minus_infinity(x):
    density = estimator(_toy(8), 2)
    value, _, n_failures = _evaluate(density, x, density.draw_auxiliary(jax.random.key(0)))
    assert float(value) == -np.inf
    assert int(n_failures) == 1
