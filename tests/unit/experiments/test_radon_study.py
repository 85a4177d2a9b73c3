"""The grouped regression study: tiny real runs on the example file, figures, claims and settings."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import jax
import numpy as np
import pandas as pd
import pytest

from auxmc.driver.chains import RunContext
from auxmc.errors import DataError
from auxmc.plots.style import use_style
from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.settings import PRESETS, SettingsError
from auxmc_pipeline.tables import MissingData, Tables, load_tables
from experiments.radon import settings as declared
from experiments.radon.figures import DRAW
from experiments.radon.measure import base_moment_scores, running_points
from experiments.radon.run import run

STUDY = load_study("radon")
EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "grouped.csv"
OWN = [
    f"data={EXAMPLE}",
    "outcome=score",
    "group=school",
    "row_regressors=[hours]",
    "group_regressors=[funding]",
]
TINY = ["n_draws=40", "n_chains=3", "n_warm_up=10", "n_fit_steps=400", "fit_rate=0.02", "n_bound_draws=200"]
SIZES = {"nuts": [], "gibbs_ct": [], "ct_hmc": [], "ais": ["n_draws=10", "n_temperatures=30", "n_steps=4"]}


@cache
def run_tiny(method):
    settings = STUDY.settings(["preset=smoke", *OWN, *TINY, f"method={method}", *SIZES[method]])
    return run(settings, RunContext("radon", 5, Path(mkdtemp()), "identity", "test"))


def statistics(method):
    return run_tiny(method)["statistics"]


def test_errors_of_posterior_moments_are_not_known_of_annealed_runs():
    for name in ("posterior_mean_error", "posterior_sd_error"):
        assert np.isnan(statistics("ais")[name]).all()
        assert np.isfinite(statistics("nuts")[name]).all()


@pytest.mark.parametrize(
    "method",
    ["nuts", "ais", *(pytest.param(name, marks=pytest.mark.slow) for name in ("gibbs_ct", "ct_hmc"))],
)
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


def test_all_methods_fraction_one_base():
    zetas = {float(statistics(method)["log_zeta"]) for method in ("nuts", "ais")}
    assert len(zetas) == 1


def test_chains_record_what_the_figures_need():
    result = run_tiny("nuts")
    curves = result["curves"]
    assert curves["iteration"].values[-1] == 40
    pooled = float(curves["running_pooled"].values[-1])
    assert pooled == pytest.approx(float(result["statistics"]["log_evidence"]), abs=1e-9)
    assert curves["log_temperature_density"].values[0] == 0.0
    gain = pooled - float(result["statistics"]["log_zeta"])
    assert float(curves["log_temperature_density"].values[-1]) == pytest.approx(gain, abs=1e-9)
    assert result["posterior"]["effects"].shape == (3, 40, 7)
    assert curves.sizes["fit_step"] == 4


@pytest.mark.slow
def test_another_optimiser_gives_another_base():
    words = ["preset=smoke", *OWN, *TINY, "optimiser=adam", "n_fit_draws=2", "method=ais", *SIZES["ais"]]
    settings = STUDY.settings(words)
    # optax itself mixes types, which the tests' stricter rules of JAX reject.
    with jax.numpy_dtype_promotion("standard"):
        result = run(settings, RunContext("radon", 5, Path(mkdtemp()), "identity", "test"))
    assert float(result["statistics"]["log_zeta"]) != float(statistics("ais")["log_zeta"])


@pytest.mark.slow
def test_a_fit_that_is_lost_is_rejected(tmp_path):
    settings = STUDY.settings(["preset=smoke", *OWN, *TINY, "fit_rate=10.0"])
    with pytest.raises(SettingsError, match="take a smaller fit_rate"):
        run(settings, RunContext("radon", 5, tmp_path, "identity", "test"))


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_compose(preset):
    names = [case.name for case in STUDY.cases(preset)]
    assert names[:2] == ["nuts", "ais"]
    if preset != "smoke":
        assert names[2:] == ["hmc__method-gibbs_ct", "hmc__method-ct_hmc", "centred"]


def test_wrong_columns_are_named_before_anything_runs():
    with pytest.raises(SettingsError, match=r"group: there is no column 'shcool'.*did you mean 'school'"):
        STUDY.settings([*OWN[:2], "group=shcool", *OWN[3:]])
    assert issubclass(DataError, ValueError)


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


def _running(estimates):
    """Tables with running estimates [chain, iteration] of an evidence whose log is -10."""
    chains, iterations = np.indices(estimates.shape)
    columns = {"chain": chains.ravel(), "iteration": iterations.ravel() + 1.0}
    rows = pd.DataFrame({"case": "nuts", **columns, "running_by_chain": estimates.ravel()})
    point = pd.DataFrame({"case": ["nuts"], "exact_log_evidence": [-10.0]})
    return Tables({"chain_iteration": rows, "point": point})


def test_convergence_is_counted_from_the_last_estimate_that_is_far():
    far_then_near = np.array([[-4.0, -9.0, -7.0, -10.5, -10.2], [-5.0, -9.0, -8.5, -9.0, -9.9]])
    measure = STUDY.measures()["CT-D07"]["iterations to come within 1.5 nats"]
    found = measure(_running(far_then_near))
    assert found.value == 4.0
    assert found.error > 0.0
    assert measure(_running(far_then_near[:, :3])).value == np.inf
    with pytest.raises(MissingData, match="does not stay near"):
        STUDY.measures()["CT-D07"]["seconds to come within 1.5 nats"](_running(far_then_near[:, :3]))


def test_an_unknown_error_has_no_bar():
    tables = dict(load_tables(ROOT / "published" / "paper" / "radon" / "tables"))
    unknown = tables | {"effect": tables["effect"].assign(posterior_mean_error=np.nan)}
    with use_style():
        figures = [DRAW["fig_temperature"](Tables(found)) for found in (tables, unknown)]
    bars = [figure.axes[1].containers[0].lines[2][0].get_segments() for figure in figures]
    assert len(bars[0]) > 0
    lengths = [
        np.array([segment[1, 0] - segment[0, 0] for segment in found if len(segment)]) for found in bars
    ]
    assert np.all(lengths[0] > 0.0)
    assert not np.any(lengths[1] == 0.0)


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
