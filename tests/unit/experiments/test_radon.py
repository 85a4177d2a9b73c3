"""The grouped regression study: density and evidence against dense forms, data, tiny runs on the example file."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import yaml
from scipy import special, stats

from auxmc.errors import DataError
from auxmc.plots.style import use_style
from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.settings import SettingsError
from auxmc_pipeline.tables import MissingData, Tables, load_tables
from experiments.radon import settings as declared
from experiments.radon.exact import evidence_on_grid, exact_evidence, log_marginal, quadrature_grid
from experiments.radon.figures import DRAW
from experiments.radon.grouped import RADON_COLUMNS, RADON_FILE, GroupedColumns, GroupedData, read_grouped
from experiments.radon.measure import base_moment_scores, running_points
from experiments.radon.model import grouped_regression
from experiments.radon.run import run

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))

STUDY = load_study("radon")
EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "grouped.csv"
OWN = [f"data={EXAMPLE}", "outcome=score", "group=school", "row_regressors=[hours]"]
OWN += ["group_regressors=[funding]"]
TINY = ["n_draws=40", "n_chains=3", "n_warm_up=10", "n_fit_steps=400", "fit_rate=0.02", "n_bound_draws=200"]
SIZES = {"nuts": [], "gibbs_ct": [], "ct_hmc": [], "ais": ["n_draws=10", "n_temperatures=30", "n_steps=4"]}


@cache
def run_tiny(method, *words):
    settings = STUDY.settings(["preset=smoke", *OWN, *TINY, f"method={method}", *SIZES[method], *words])
    return run(settings, RunContext("radon", 5, Path(mkdtemp()), "identity", "test"))


def statistics(method):
    return run_tiny(method)["statistics"]


@pytest.mark.slow
def test_errors_of_posterior_moments_are_not_known_of_annealed_runs():
    for name in ("posterior_mean_error", "posterior_sd_error"):
        assert np.isnan(statistics("ais")[name]).all()
        assert np.isfinite(statistics("nuts")[name]).all()
    # All methods have one base.
    assert float(statistics("ais")["log_zeta"]) == float(statistics("nuts")["log_zeta"])


@pytest.mark.slow
@pytest.mark.parametrize("method", SIZES)
def test_every_method_estimates_the_evidence_of_the_users_own_data(method):
    found = statistics(method)
    exact, error = float(found["exact_log_evidence"]), float(found["log_evidence_error"])
    assert float(found["exact_log_evidence_error"]) < 1e-3
    # Chains this short begin at the base: the estimate is between log zeta and the truth, or near it.
    assert float(found["log_zeta"]) - 5.0 < float(found["log_evidence"]) < exact + 5.0
    assert 0.0 < error < 5.0
    # A control with little mass can be thrown out of range by a chain that has not settled: counted, not lost.
    assert int(found["n_not_finite"].sum()) <= 5
    assert float(found["lower_bound"]) < exact + 3.0 * float(found["lower_bound_error"])
    assert {int(found[name]) for name in ("n_rows", "n_groups", "n_parameters")} == {63, 8, 15}


@pytest.mark.slow
def test_chains_record_what_the_figures_need():
    result = run_tiny("nuts")
    curves, found = result["curves"], result["statistics"]
    assert curves["iteration"].values[-1] == 40
    pooled, log_density = float(curves["running_pooled"][-1]), curves["log_temperature_density"].values
    assert pooled == pytest.approx(float(found["log_evidence"]), abs=1e-9)
    assert log_density[0] == 0.0
    assert log_density[-1] == pytest.approx(pooled - float(found["log_zeta"]), abs=1e-9)
    assert result["posterior"]["effects"].shape == (3, 40, 7)
    assert curves.sizes["fit_step"] == 4


@pytest.mark.slow
def test_chains_start_where_the_notebook_starts_them():
    tiny = ("n_warm_up=0", "initial_step=1e-6", "max_doublings=1")  # the first state is nearly the start
    result = run_tiny("nuts", "start=notebook", *tiny)
    np.testing.assert_allclose(result["posterior"]["effects"][:, 0, [0, 2, 4]], np.log(2.5), atol=1e-3)
    np.testing.assert_allclose(result["sample_stats"]["inverse_temperature"][:, 0], 0.5, atol=1e-3)


@pytest.mark.slow
def test_another_optimiser_gives_another_base():
    # optax itself mixes types, which the tests' stricter rules of JAX reject.
    with jax.numpy_dtype_promotion("standard"):
        result = run_tiny("ais", "optimiser=adam", "n_fit_draws=2")
    assert float(result["statistics"]["log_zeta"]) != float(statistics("ais")["log_zeta"])


@pytest.mark.slow
def test_a_fit_that_is_lost_is_rejected():
    with pytest.raises(SettingsError, match="take a smaller fit_rate"):
        run_tiny("nuts", "fit_rate=10.0")


def test_wrong_columns_are_named_before_anything_runs():
    with pytest.raises(SettingsError, match=r"group: there is no column 'shcool'.*did you mean 'school'"):
        STUDY.settings([*OWN, "group=shcool"])


def test_data_are_compared_with_the_published_file_where_there_is_one(tmp_path, monkeypatch):
    settings = STUDY.settings([])
    monkeypatch.delenv("AUXMC_DATA_DIR", raising=False)
    assert declared.data_files(settings) == []
    monkeypatch.setenv("AUXMC_DATA_DIR", str(tmp_path))
    assert declared.published_file() is None
    file = tmp_path / "continuous_tempering" / "radon" / "radon-group.npz"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    assert declared.data_files(settings) == [str(file)]
    own = STUDY.settings(OWN)
    assert declared.data_files(own) == [str(EXAMPLE)]


def test_chains_that_end_far_from_the_evidence_have_not_converged():
    """Two sets of ten chains, whose estimates come near a log evidence of -10 and leave it again."""
    chains, iterations = np.indices((20, 3)).reshape(2, -1)
    rows = {
        "chain": chains,
        "iteration": iterations + 1.0,
        "running_by_chain": np.tile([-4.0, -9.0, -7.0], 20),
    }
    point = pd.DataFrame({"case": ["nuts_as_drawn"], "exact_log_evidence": [-10.0]})
    tables = Tables({"chain_iteration": pd.DataFrame({"case": "nuts_as_drawn", **rows}), "point": point})
    for name in ("iterations until near", "iterations until the mean is near"):
        assert STUDY.measures()["CT-D07"][name](tables).value == np.inf
    with pytest.raises(MissingData, match="does not stay near"):
        STUDY.measures()["CT-D07"]["seconds until near"](tables)


def test_an_unknown_error_has_no_bar():
    tables = dict(load_tables(ROOT / "published" / "paper" / "radon" / "tables"))
    unknown = tables | {"effect": tables["effect"].assign(posterior_mean_error=np.nan)}
    with use_style():
        figures = [DRAW["fig_temperature"](Tables(found)) for found in (tables, unknown)]
    bars = [figure.axes[1].containers[0].lines[2][0].get_segments() for figure in figures]
    assert len(bars[0]) > 0
    drawn, missing = ([s[1, 0] - s[0, 0] for s in segments if len(s)] for segments in bars)
    assert np.all(np.array(drawn) > 0.0)
    assert 0.0 not in missing


def test_base_moments_of_exact_draws_have_scores_of_size_one():
    rng = np.random.default_rng(0)
    scores = base_moment_scores(np.zeros((20, 200)), rng.normal(size=(20, 200, 50)))
    assert scores.shape == (100,)
    assert np.mean(scores**2) == pytest.approx(1.0, abs=0.6)
    shifted = base_moment_scores(np.zeros((20, 200)), 0.3 + rng.normal(size=(20, 200, 50)))
    assert np.abs(shifted[:50]).min() > 8.0


def test_running_points_are_increasing_and_hold_the_published_ones():
    points = running_points(2500)
    assert np.all(np.diff(points) > 0)
    assert {1, 100, 250, 500, 1000, 2500} <= set(points.tolist())
    assert running_points(40)[-1] == 40


SCALE = 1.7


@cache
def data():
    rng = np.random.default_rng(4)
    group = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2, 3])
    regressors = np.column_stack([rng.normal(size=10), np.array([0.3, -1.0, 0.8, 0.1])[group]])
    outcome = 50.0 + regressors @ [0.5, -0.2] + rng.normal(size=4)[group] + 0.4 * rng.normal(size=10)
    return GroupedData(outcome - 50.0, group, ("a", "b", "c", "d"), regressors, ("x", "u"))


@cache
def model(*, is_centred=False):
    return grouped_regression(data(), SCALE, is_centred=is_centred)


def dense_log_density(position, is_centred):
    """Every term as a product of textbook densities, row by row."""
    log_sigma_a, mean_a, log_sigma_b, mean_b, log_noise = position[:5]
    own_b, own_a = position[5:7], position[7:]
    sigma_a, sigma_b, noise = scales = np.exp([log_sigma_a, log_sigma_b, log_noise])
    if is_centred:
        b, a = own_b, own_a
        local = stats.norm(mean_b, sigma_b).logpdf(b).sum() + stats.norm(mean_a, sigma_a).logpdf(a).sum()
    else:
        b, a = mean_b + sigma_b * own_b, mean_a + sigma_a * own_a
        local = stats.norm.logpdf(position[5:]).sum()
    prior = (stats.halfcauchy(scale=SCALE).logpdf(scales) + np.log(scales)).sum()
    prior += stats.norm.logpdf([mean_a, mean_b]).sum()
    mean = a[data().group] + data().regressors @ b
    return float(local + prior + stats.norm(mean, noise).logpdf(data().outcome).sum())


@pytest.mark.parametrize("is_centred", [False, True])
def test_the_log_density_is_that_of_the_textbook_densities(is_centred):
    positions = 0.7 * np.random.default_rng(1).normal(size=(5, model().dim))
    found = jax.jit(jax.vmap(model(is_centred=is_centred).log_density))(positions)
    expected = [dense_log_density(position, is_centred) for position in positions]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_large_common_offset_costs_no_digits():
    shifted = grouped_regression(data()._replace(outcome=data().outcome + 1e6), SCALE, is_centred=True)
    centred = jnp.zeros(model().dim).at[7:].set(1.0)
    moved = centred.at[7:].add(1e6).at[1].set(1e6)
    difference = shifted.log_density(moved) - model(is_centred=True).log_density(centred)
    assert float(-difference) == pytest.approx(0.5e12, rel=1e-9)


def test_both_parametrisations_have_the_same_effects():
    standard = jnp.asarray(0.5 * np.random.default_rng(2).normal(size=model().dim))
    sigma_a, sigma_b = jnp.exp(standard[0]), jnp.exp(standard[2])
    slopes, intercepts = standard[3] + sigma_b * standard[5:7], standard[1] + sigma_a * standard[7:]
    centred = jnp.concatenate([standard[:5], slopes, intercepts])
    np.testing.assert_allclose(model().effects(standard), model(is_centred=True).effects(centred), rtol=1e-12)
    assert len(model().regressor_names) + 5 == len(model().effect_names)
    assert model().effect_names[-1] == "b[u]"


def test_the_start_is_at_the_medians_of_the_scales_and_an_extreme_noise_has_zero_density():
    start = np.asarray(model().start)
    np.testing.assert_allclose(start[[0, 2, 4]], np.log(SCALE))
    assert np.count_nonzero(start) == 3
    assert float(model().log_density(model().start.at[4].set(-800.0))) == -np.inf


def test_the_log_marginal_is_a_dense_gaussian():
    x = data().regressors
    for log_scales in ([-0.5, 0.2, -0.9], [-9.0, -11.0, 0.3], [1.5, 5.0, -1.5]):
        sigma_a, sigma_b, noise = scales = np.exp(log_scales)
        intercept = np.ones((10, 10)) + sigma_a**2 * (data().group[:, None] == data().group)
        slopes = x @ (np.ones((2, 2)) + sigma_b**2 * np.eye(2)) @ x.T
        covariance = intercept + slopes + noise**2 * np.eye(10)
        prior = (stats.halfcauchy(scale=SCALE).logpdf(scales) + log_scales).sum()
        dense = stats.multivariate_normal(cov=covariance).logpdf(data().outcome) + prior
        assert log_marginal(model(), np.array([log_scales]))[0] == pytest.approx(dense, rel=1e-9)


@pytest.mark.slow
def test_the_evidence_settles_and_does_not_depend_on_the_box():
    found = exact_evidence(model(), 1e-6)
    assert found.error < 3e-6
    wider = quadrature_grid(model(), (20, 20, 61))
    wider[:2] = [np.linspace(points[0] - 3, points[-1] + 3, 101) for points in wider[:2]]
    again = evidence_on_grid(model(), wider)
    assert found.log_evidence == pytest.approx(again.log_evidence, abs=1e-5)
    np.testing.assert_allclose(found.mean, again.mean, atol=1e-4)
    np.testing.assert_allclose(found.sd, again.sd, rtol=1e-3)


def test_the_evidence_and_the_moments_agree_with_weighted_prior_draws():
    """Importance sampling from the prior: 2e5 draws know the evidence of ten rows within a few per cent."""

    @jax.jit
    def weigh(key):
        def one(key):
            keys = jax.random.split(key, 3)
            position = jax.random.normal(keys[0], (model().dim,))
            log_scales = jnp.log(SCALE * jnp.abs(jax.random.cauchy(keys[1], (3,))))
            ratio = log_scales - jnp.log(SCALE)
            log_prior = jnp.sum(jax.scipy.stats.norm.logpdf(jnp.delete(position, np.array([0, 2, 4]))))
            log_prior += jnp.sum(ratio + jnp.log(2 / jnp.pi) - jax.nn.softplus(2 * ratio))
            position = position.at[jnp.array([0, 2, 4])].set(log_scales)
            return model().log_density(position) - log_prior, model().effects(position)

        return jax.vmap(one)(jax.random.split(key, 200_000))

    log_weights, values = (np.asarray(array) for array in weigh(jax.random.key(0)))
    weights, exact = special.softmax(log_weights), exact_evidence(model())
    estimate = special.logsumexp(log_weights) - np.log(weights.size)
    # Six standard errors of the log of the mean weight.
    assert estimate == pytest.approx(exact.log_evidence, abs=6.0 * np.linalg.norm(weights))
    means = weights @ values
    errors = np.sqrt(weights**2 @ (values - means) ** 2)
    assert np.all(np.abs(means - exact.mean) < 6.0 * errors)


def test_the_radon_evidence_is_the_published_line():
    found = exact_evidence(grouped_regression(read_grouped(RADON_FILE, RADON_COLUMNS)))
    assert found.log_evidence == pytest.approx(-1081.02, abs=0.005)
    assert found.error < 1e-4
    assert found.mean[5:] == pytest.approx([-0.663, 0.715], abs=0.002)


def test_a_grid_that_cannot_settle_is_rejected(monkeypatch):
    monkeypatch.setattr("experiments.radon.exact._MOST_POINTS", 100_000)
    with pytest.raises(ValueError, match="take a larger tolerance"):
        exact_evidence(model(), 1e-300)


COLUMNS = GroupedColumns("score", "school", ("hours",), ("funding",))
ROWS = ("A,1.0,0.5,2.0", "A,2.0,0.5,3.0", "B,1.5,-1.0,1.0", "B,0.5,-1.0,0.5")


def read(folder, rows, columns=COLUMNS, header="school,hours,funding,score"):
    path = folder / "rows.csv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return read_grouped(path, columns)


def test_radon_has_the_published_size_and_groups_in_order():
    data = read_grouped(RADON_FILE, RADON_COLUMNS)
    assert data.outcome.shape == (919,)
    assert len(data.group_names) == 85
    assert data.group_names[:2] == ("AITKIN", "ANOKA")
    assert data.regressor_names == ("first_floor", "log_uranium")
    assert data.regressors[:, 0].sum() == 153
    assert data.outcome.min() == pytest.approx(np.log(0.1), abs=1e-8)
    np.testing.assert_array_equal(np.unique(data.group), np.arange(85))


def test_rows_keep_their_order_and_other_columns_are_passed_over(tmp_path):
    rows = (f"note {i},{row}" for i, row in enumerate(ROWS))
    data = read(tmp_path, rows, header="remark,school,hours,funding,score")
    np.testing.assert_array_equal(data.outcome, [2.0, 3.0, 1.0, 0.5])
    np.testing.assert_array_equal(data.group, [0, 0, 1, 1])
    np.testing.assert_array_equal(data.regressors[:, 1], [0.5, 0.5, -1.0, -1.0])


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [(rows, {}, message) for rows, message in GIVEN["wrong_rows"]]
    + [(ROWS, *wrong) for wrong in GIVEN["wrong_columns"]],
)
def test_what_cannot_be_used_is_named(tmp_path, rows, columns, message):
    with pytest.raises(DataError) as raised:
        read(tmp_path, rows, COLUMNS._replace(**columns))
    assert message in str(raised.value)
