"""Gaussian process probit regression: model against dense algebra, special functions, runs of a few rows."""

from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import log_ndtr, logsumexp

from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.chains import Chains, RunContext
from experiments.gp_probit import claims, run
from experiments.gp_probit.measure import estimator_statistics, expected_acceptance, recorded
from experiments.gp_probit.model import estimator, gp_probit_model, load_biopsy, standardise, with_gradient
from experiments.gp_probit.settings import MAIN_METHODS, main_case
from experiments.gp_probit.special_functions import log_normal_cdf, probit_terms

STUDY = load_study("gp_probit")
TINY = ["preset=smoke", "n_draws=30", "n_chains=2", "n_importance=3", "batch_size=5", "n_batches=4"]


@pytest.fixture(scope="module")
def chains(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fruit")
    rng = np.random.default_rng(3)
    features = rng.normal(size=(14, 2)).round(2)
    kinds = np.where(features.sum(axis=1) + 0.3 * rng.normal(size=14) > 0, "ripe", "green")
    path = folder / "fruit.csv"
    pd.DataFrame(features, columns=["width", "height"]).assign(kind=kinds).to_csv(path, index=False)
    settings = STUDY.settings([*TINY, f"data={path}", "label=kind", "method=apm_mi_mh", "block_size=50"])
    return run.run(settings, RunContext("gp_probit", settings.seed, folder, "identity", "tiny"))


def test_main_runs_of_the_published_length_are_cut_into_pieces():
    pieces = {c.name: c.settings.resources["pieces"] for c in STUDY.cases("paper")}
    assert {pieces[main_case(method)] for method in MAIN_METHODS} == {5}
    assert {c.settings.resources["pieces"] for c in STUDY.cases("quick")} == {1}


def test_efficiency_is_ess_over_the_cubic_operations_of_the_main_run(chains):
    statistics, stats_of_draws = chains["statistics"], chains["sample_stats"]
    n_cubic = stats_of_draws["n_cubic"].sum("draw").values
    np.testing.assert_array_equal(statistics["cubic_operations"].values, n_cubic)
    expected = 1000 * statistics["ess"].values / n_cubic[:, None]
    np.testing.assert_allclose(statistics["ess_per_1000_cubic_operations"].values, expected, rtol=1e-12)
    # Every iteration factorises at least one Newton matrix and three others.
    assert (stats_of_draws["n_cubic"] >= 4).all()


def test_draws_are_kept_as_arviz_expects_them(chains):
    assert chains["posterior"]["x"].dims == ("chain", "draw", "coordinate")
    assert chains["posterior"].sizes == {"chain": 2, "draw": 30, "coordinate": 3}
    assert chains["warmup_posterior"].sizes["draw"] == 20
    kept = set(chains["sample_stats"].data_vars)
    assert {"accepted_position", "accepted_auxiliary", "n_cubic", "lp", "step_size"} <= kept
    assert set(np.unique(chains["observed_data"]["label"])) == {-1.0, 1.0}
    features = chains["constant_data"]["features"]
    np.testing.assert_allclose(features.mean("row"), 0.0, atol=1e-12)
    np.testing.assert_allclose(features.std("row"), 1.0, rtol=1e-12)


def test_the_step_size_adapts_in_the_warm_up_alone(chains):
    """How it adapts is tested in tests/unit/kernels/metropolis/test_metropolis.py."""
    warm_up, main = (chains[f"{part}sample_stats"]["step_size"].values for part in ("warmup_", ""))
    np.testing.assert_array_equal(warm_up[:, :5], 0.5)
    assert (warm_up[:, 5] != 0.5).all()
    adapted = chains["statistics"]["adapted_step_size"].values
    np.testing.assert_array_equal(main, np.tile(adapted[:, None], main.shape[1]))


def test_the_main_run_continues_where_the_warm_up_ended(chains):
    last = chains["warmup_posterior"]["x"].values[:, -1]
    first = chains["posterior"]["x"].values[:, 0]
    accepted = chains["sample_stats"]["accepted_position"].values[:, 0]
    np.testing.assert_array_equal((last == first).all(axis=1), ~accepted)


def test_curves_end_at_the_statistics(chains):
    statistics, curves = chains["statistics"], chains["curves"]
    last = curves.isel(end=-1)
    mean_cubic = float(statistics["cubic_operations"].mean())
    assert float(last["cubic_operations_so_far"]) == pytest.approx(mean_cubic)
    assert float(last["run_time_so_far"]) == pytest.approx(float(statistics["run_time"].mean()))
    expected = statistics["psrf"].mean().item()
    assert float(last["psrf"].sel(aggregate="mean over coordinates")) == pytest.approx(expected)
    for name in ("mean", "sd"):
        np.testing.assert_allclose(last[f"{name}_so_far"], statistics[f"chain_{name}"], rtol=1e-12)
    assert int(curves["histogram"].sum()) == 2 * 30


def test_summed_rises_are_those_of_paths_above_one():
    paths = np.array([[3.0, 2.0, 1.5, 1.25], [2.0, 3.0, 1.5, 2.0], [0.9, 2.0, 3.0, 1.0]])
    np.testing.assert_allclose(claims.summed_rises(paths), [0.0, 2.0 * np.log(2.0), np.log(2.0)])


def test_a_count_of_ours_limits_the_probability_of_the_documents():
    found = claims.tail_of_count(10, 10, 2, 5, "")
    assert found.value == pytest.approx(0.4**10)
    assert found.value + 2.0 * found.error > 0.025
    assert claims.tail_of_count(10, 10, 500, 500, "")[:2] == pytest.approx((1.0, 0.0), abs=0.05)


def test_expected_acceptance_agrees_with_all_pairs():
    rng = np.random.default_rng(2)
    current, proposed = rng.normal(size=7), rng.normal(size=7)
    e, f = np.exp(current), np.exp(proposed)
    pairs = [min(e[i], f[j]) for i in range(7) for j in range(7) if i != j]
    assert expected_acceptance(current, proposed) == pytest.approx(sum(pairs) / (6 * e.sum()), rel=1e-12)
    assert expected_acceptance(current, np.full(7, -np.inf)) == 0.0


def test_acceptance_with_fixed_auxiliaries_is_one_where_the_density_does_not_change():
    log_weights = np.random.default_rng(5).normal(size=(1, 1, 40))
    found = estimator_statistics(log_weights, log_weights, np.full((1, 1), 8), [1, 4])
    np.testing.assert_allclose(found["acceptance_apm_mh"], 1.0)


def test_a_chain_that_never_starts_is_an_error():
    draws = {"log_estimate": np.array([[[0.0, 0.0], [-np.inf, -np.inf]]])}
    with pytest.raises(ValueError, match=r"chains \[1\] found no start"):
        recorded(Chains(draws, {"scale": np.ones(1)}, 0.0, 1.0), ("a",))


POSTERIOR_REGION = jnp.array([2.1, 1.0, 1.2, 1.1, 1.4, 1.3, 0.9, 1.2, 1.1, 1.3])


@pytest.fixture(scope="module")
def biopsy():
    return load_biopsy()


def _part_of_biopsy(biopsy, n_rows, collapse_duplicates=True):
    features = standardise(biopsy.features)[:n_rows]
    return gp_probit_model(features, biopsy.labels[:n_rows], collapse_duplicates)


def _toy(n_rows):
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_rows, 2))
    return gp_probit_model(features, np.where(features.sum(axis=1) + rng.standard_normal(n_rows) > 0, 1, -1))


def _dense_estimate(features, labels, x, u):
    """Log estimate and log marginal by the formulae as they are usually printed, and steps of Newton's method.

    Newton iteration, dense covariance of the approximation, its Cholesky factor; u [row, importance].
    """
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
    samples = (z[:, None] + factor @ u).T
    normal = lambda factor: stats.multivariate_normal(cov=stats.Covariance.from_cholesky(factor))
    log_weights = log_ndtr(labels * samples).sum(axis=1)
    log_weights += normal(np.linalg.cholesky(covariance)).logpdf(samples) - normal(factor).logpdf(samples - z)
    log_prior = stats.gamma(1.1, scale=10.0).logpdf(np.exp(x[0])) + x[0]
    log_prior += (stats.expon(scale=np.sqrt(n_features)).logpdf(lengths) + x[1:]).sum()
    log_marginal = -0.5 * a @ z + log_ndtr(labels * z).sum() - np.linalg.slogdet(b_matrix)[1] / 2.0
    return log_prior + logsumexp(log_weights) - np.log(u.shape[1]), log_marginal, n_newton


def _evaluate(density, x, u):
    """Log estimate, cubic operations, failures and log marginal, compiled; more axes of u in front are mapped over."""

    @jax.jit
    def evaluate(x, u):
        cache = density.prepare(x)
        values = jax.vmap(density.log_estimate, in_axes=(None, 0))(cache, u.reshape(-1, *u.shape[-2:]))
        counts = density.n_cubic(cache), density.n_failures(cache)
        return values.reshape(u.shape[:-2]), *counts, cache.log_marginal

    return evaluate(jnp.asarray(x), jnp.asarray(u))


def test_biopsy_has_the_counts_of_its_description_and_collapses_to_its_distinct_rows(biopsy):
    assert (biopsy.n_rows_read, biopsy.n_incomplete) == (699, 16)
    assert biopsy.features.shape == (683, 9)
    assert (np.sum(biopsy.labels == 1.0), np.sum(biopsy.labels == -1.0)) == (239, 444)
    assert biopsy.features.min() == 1.0
    assert biopsy.features.max() == 10.0
    assert biopsy.feature_names == tuple(f"V{i}" for i in range(1, 10))
    # The first complete row can be dropped.
    dropped = load_biopsy(drop_first_complete_row=True)
    np.testing.assert_array_equal(dropped.features, biopsy.features[1:])
    np.testing.assert_array_equal(dropped.labels, biopsy.labels[1:])
    assert dropped.n_rows_read == 699
    model = gp_probit_model(biopsy.features, biopsy.labels)
    assert model.inputs.shape == (449, 9)
    assert (model.n_plus.sum(), model.n_minus.sum()) == (239.0, 444.0)
    assert not np.any((model.n_plus > 0) & (model.n_minus > 0))


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
    off = 5.0 * np.exp(-0.5 * (0.5**2 + 0.5**2))
    np.testing.assert_allclose(covariance, [[5.0 + 1e-8, off], [off, 5.0 + 1e-8]], rtol=1e-14)
    np.testing.assert_allclose(standardise([[0.0, 10.0], [2.0, 40.0]]), [[-1.0, -1.0], [1.0, 1.0]])


@pytest.mark.parametrize("n_importance", [1, 7])
def test_estimate_agrees_with_the_dense_formulae(n_importance):
    model = _toy(12)
    labels = np.where(model.n_plus > 0, 1.0, -1.0)
    x = np.array([1.0, -1.5, -1.0])
    u = np.random.default_rng(1).standard_normal((n_importance, 12))
    value, n_cubic, n_failures, log_marginal = _evaluate(estimator(model, n_importance), x, u)
    expected, expected_marginal, n_newton = _dense_estimate(model.inputs, labels, x, u.T)
    np.testing.assert_allclose(value, expected, rtol=1e-7)
    assert int(n_cubic) == n_newton + 3
    assert int(n_failures) == 0
    np.testing.assert_allclose(log_marginal, expected_marginal, rtol=1e-9)


@pytest.mark.parametrize("collapse_duplicates", [True, False])
def test_estimator_is_unbiased(collapse_duplicates):
    # Two distinct inputs, one of them seen three times with both labels.
    features, labels = np.array([[0.0], [1.0], [0.0], [0.0]]), np.array([1, -1, 1, -1])
    x = jnp.asarray([1.5, 0.3])
    model = gp_probit_model(features, labels, collapse_duplicates)
    covariance = np.asarray(gp_probit_model(features, labels).covariance(x))
    z = np.stack(np.meshgrid(*[np.linspace(-14.0, 14.0, 281)] * 2, indexing="ij"), axis=-1)
    log_likelihood = 2 * log_ndtr(z[..., 0]) + log_ndtr(-z[..., 0]) + log_ndtr(-z[..., 1])
    log_joint = log_likelihood + stats.multivariate_normal(cov=covariance).logpdf(z)
    exact = np.exp(logsumexp(log_joint) + float(model.log_prior(x))) * 0.1**2
    # Estimates are smooth functions of u: sums over an even grid with normal weights have no error to speak of.
    n_inputs = len(model.inputs)
    side = np.linspace(-7.8, 7.8, 27)
    u = np.stack(np.meshgrid(*[side] * n_inputs, indexing="ij"), axis=-1).reshape(-1, 1, n_inputs)
    log_values, *_ = _evaluate(estimator(model, 1), x, u)
    log_weights = stats.norm.logpdf(u).sum(axis=(1, 2)) + n_inputs * np.log(side[1] - side[0])
    assert np.exp(logsumexp(np.asarray(log_values) + log_weights)) == pytest.approx(exact, rel=1e-6)


def test_collapsing_duplicates_leaves_the_log_marginal_unchanged(biopsy):
    collapsed = _part_of_biopsy(biopsy, 200)
    single = _part_of_biopsy(biopsy, 200, collapse_duplicates=False)
    assert len(collapsed.inputs) < len(single.inputs) == 200
    caches = [jax.jit(estimator(model, 1).prepare)(POSTERIOR_REGION) for model in (collapsed, single)]
    np.testing.assert_allclose(*(cache.log_marginal for cache in caches), rtol=1e-7)


def test_vmap_over_positions_equals_single_runs():
    density = estimator(_toy(10), 3)
    positions = jnp.asarray([[1.0, 0.2, 0.4], [3.0, -1.0, 2.0], [-2.0, 1.0, 1.0]])
    u = jax.vmap(density.draw_auxiliary)(jax.random.split(jax.random.key(0), 3))

    def evaluate(x, u):
        cache = density.prepare(x)
        return density.log_estimate(cache, u), density.n_cubic(cache)

    values, n_cubic = jax.jit(jax.vmap(evaluate))(positions, u)
    singles, counts = zip(*map(jax.jit(evaluate), positions, u), strict=True)
    np.testing.assert_allclose(values, singles, rtol=1e-8)
    np.testing.assert_array_equal(n_cubic, counts)
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


def test_failure_is_counted_and_gives_minus_infinity():
    density = estimator(_toy(8), 2)
    u = density.draw_auxiliary(jax.random.key(0))

    @jax.jit
    @jax.vmap
    def evaluate(x):
        cache = density.prepare(x)
        return density.log_estimate(cache, u), density.n_failures(cache)

    # Infinite variance, not a number, zero length scale, rounding beyond the jitter.
    positions = [[800.0, 0.0, 0.0], [jnp.nan, 0.0, 0.0], [0.0, -800.0, 0.0], [45.0, 5.0, 5.0]]
    values, n_failures = evaluate(jnp.asarray(positions))
    np.testing.assert_array_equal(values, -np.inf)
    np.testing.assert_array_equal(n_failures, 1)


def test_log_normal_cdf_agrees_with_scipy():
    whole, extremes = np.linspace(-45.0, 37.0, 5001), [-1e6, -1e4, -300.0]
    start_of_the_tail, around_zero = np.linspace(-20.001, -19.999, 101), np.linspace(-1e-6, 1e-6, 101)
    z = np.concatenate([whole, start_of_the_tail, around_zero, extremes])
    np.testing.assert_allclose(log_normal_cdf(jnp.asarray(z)), log_ndtr(z), rtol=1e-12)
    np.testing.assert_array_equal(log_normal_cdf(jnp.asarray([40.0, 1e3, 1e6, jnp.inf])), 0.0)
    assert bool(jnp.isnan(log_normal_cdf(jnp.asarray(jnp.nan))))


def test_slope_and_curvature_are_derivatives_of_the_log():
    z, step = jnp.asarray([-30.0, -20.0, -8.0, -1.0, 0.0, 2.0, 5.0]), 1e-4
    terms = probit_terms(z)
    difference = (log_normal_cdf(z + step) - log_normal_cdf(z - step)) / (2.0 * step)
    np.testing.assert_allclose(terms.slope, difference, rtol=1e-6, atol=1e-12)
    slope_difference = (probit_terms(z + step).slope - probit_terms(z - step).slope) / (2.0 * step)
    np.testing.assert_allclose(terms.curvature, -slope_difference, rtol=1e-5, atol=1e-11)


def test_curvature_keeps_its_digits_in_the_lower_tail():
    """Curvature of -log Phi at -distance, by the continued fraction of the Mills ratio with 60 digits."""
    distances, expected = [12, 19, 20, 25, 100, 1_000_000], []
    for distance in distances:
        with localcontext(prec=60):
            slope = Decimal(distance)
            for k in range(4000, 0, -1):
                slope = distance + k / slope
            expected.append(float(slope * (slope - distance)))
    np.testing.assert_allclose(probit_terms(-jnp.asarray(distances, float)).curvature, expected, rtol=1e-10)


def test_terms_are_in_range_everywhere():
    z = jnp.asarray(np.concatenate([np.linspace(-60.0, 60.0, 4001), [-1e8, 1e8]]))
    terms = probit_terms(z)
    assert bool(jnp.all(jnp.isfinite(terms.log_cdf) & (terms.log_cdf <= 0.0)))
    assert bool(jnp.all(jnp.isfinite(terms.slope) & (terms.slope >= 0.0)))
    assert bool(jnp.all((terms.curvature >= 0.0) & (terms.curvature <= 1.0)))


def test_derivatives_are_exact_in_u_and_those_of_laplaces_approximation_in_x():
    model = _toy(12)
    density = estimator(model, 3)
    smooth = with_gradient(model, density)
    x, u = jnp.asarray([1.0, 0.2, 0.4]), density.draw_auxiliary(jax.random.key(2))
    along = density.draw_auxiliary(jax.random.key(3))

    def value(density):
        return jax.jit(lambda x, u: density.log_estimate(density.prepare(x), u))

    def laplace(x):
        cache = density.prepare(x)
        return cache.log_prior + cache.log_marginal

    def slope(function, step=1e-4):
        return (function(step) - function(-step)) / (2.0 * step)

    of_x, of_u = jax.grad(value(smooth), (0, 1))(x, u)
    assert value(smooth)(x, u) == value(density)(x, u)
    slope_in_u = slope(lambda h: value(density)(x, u + h * along))
    np.testing.assert_allclose(jnp.sum(of_u * along), slope_in_u, rtol=1e-6)
    slopes_in_x = [slope(lambda h, e=e: laplace(x + h * e)) for e in jnp.eye(3)]
    np.testing.assert_allclose(of_x, slopes_in_x, rtol=1e-2)
