"""The Boltzmann machine study, run on systems of a few units."""

import dataclasses
import itertools
from pathlib import Path

import numpy as np
import pytest

from auxmc.diagnostics.tempered_evidence import log_evidence, weighted_moments
from auxmc.driver.chains import RunContext
from auxmc.errors import DataError
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.settings import SettingsError
from experiments.boltzmann import problem, run
from experiments.boltzmann.claims import deepest_valley, of_ratios
from experiments.boltzmann.measure import base_errors, chain_curves, chain_statistics, memberships
from experiments.boltzmann.problem import build_problem, mean_field_starts
from experiments.boltzmann.relative_errors import Averages
from experiments.boltzmann.settings import METHODS, PUBLISHED, method_settings, programs
from experiments.boltzmann.systems import leading

STUDY = load_study("boltzmann")
EXAMPLE = Path(__file__).parents[3] / "docs" / "examples" / "boltzmann.csv"
TINY = [
    "preset=smoke", "n_units=6", "n_chains=4", "n_repeats=2", "n_draws=20", "summary_size=5", "n_runs=6",
    "n_temperatures=4", "n_fits=5", "n_systems=2", "n_exact_samples=50", "n_spectra=10",
]  # fmt: skip


def _context(folder):
    return RunContext("boltzmann", 1, folder, "identity", "tiny")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkpoints")
    cases = {
        "systems": ["design=systems"],
        "chains__system-0": ["+batch.method=[st,gibbs_ct,ct_hmc,hmc,tuned]"],
        "annealed__system-0": ["method=h_ais", "+batch.n_temperatures=[3,4]"],
    }
    found = {}
    for name, overrides in cases.items():
        settings = STUDY.settings([*TINY, *overrides])
        found[name] = (settings, run.run(settings, _context(folder / name)))
    return found


def test_the_published_sizes_are_those_of_the_thesis():
    cases = STUDY.cases("paper")
    chains = [case.settings for case in cases if case.name.startswith("chains")]
    assert len(chains) == 10
    lengths = {method: method_settings(chains[0], method).length for method in ("st", "gibbs_ct", "ct_hmc")}
    assert lengths == {"st": 20_000, "gibbs_ct": 30_000, "ct_hmc": 25_000}
    assert chains[0].n_chains == 100
    annealed = next(case.settings for case in cases if case.name.startswith("annealed"))
    assert programs(annealed) == list(itertools.product(["h_ais", "ais_10", "ais_20"], [1000, 5000, 10_000]))
    assert [method_settings(annealed, m).n_runs for m in ("h_ais", "ais_10", "ais_20")] == [500, 100, 100]


def test_numbers_of_methods_are_the_published_ones_unless_given():
    settings = STUDY.settings([*TINY, "length=0.001"])
    for method in METHODS:
        numbers = method_settings(settings, method)
        assert numbers.step_size == 0.5
        assert numbers.n_steps == PUBLISHED[method].n_steps
    assert method_settings(settings, "st").length == 20
    assert method_settings(settings, "h_ais").refreshment == pytest.approx(0.5412, abs=1e-4)
    given = STUDY.settings([*TINY, "n_steps=3", "step_size=0.2", "refreshment=0.9", "variational=converged"])
    numbers = method_settings(given, "gibbs_ct")
    assert (numbers.n_steps, numbers.step_size, numbers.refreshment) == (3, 0.2, 0.9)
    assert (numbers.variational, numbers.length) == ("converged", 20)


def test_settings_that_cannot_run_together_are_named():
    settings = dataclasses.replace(STUDY.settings(TINY), batch={"step_size": [0.1]})
    with pytest.raises(SettingsError, match=r"batch.step_size: this study runs together only method"):
        STUDY.checked(settings)


def test_starts_of_all_systems_come_from_one_stream():
    stream = np.random.RandomState(201702)
    first, second = stream.normal(size=(7, 4)), stream.normal(size=(7, 4))
    np.testing.assert_array_equal(mean_field_starts(0, 7, 4), first)
    np.testing.assert_array_equal(mean_field_starts(1, 7, 4), second)


def test_base_and_reference_are_told_apart():
    settings = STUDY.settings([*TINY, "n_fits=30"])
    published, converged = (build_problem(settings, variant) for variant in ("published", "converged"))
    assert published.reference.log_normaliser == published.base.log_normaliser
    assert converged.reference.log_normaliser == published.base.log_normaliser
    assert converged.truth.log_normaliser == published.truth.log_normaliser
    assert converged.n_fits <= published.n_fits
    # Errors are norms: the basis in which they are taken does not matter.
    errors = [base_errors(p.reference, p.truth) for p in (published, converged)]
    np.testing.assert_allclose(errors[0], errors[1], rtol=1e-8)


def test_nested_groups_are_those_of_the_published_slice():
    found = memberships(100, 10)
    assert found["nested"].sum(axis=1).tolist() == [10, 19, 28, 37, 46, 55, 64, 73, 82, 91]
    for r in range(10):
        np.testing.assert_array_equal(np.flatnonzero(found["nested"][r]), np.arange(100)[r : (r + 1) * 10])
        np.testing.assert_array_equal(np.flatnonzero(found["disjoint"][r]), np.arange(10 * r, 10 * r + 10))
    np.testing.assert_array_equal(found["single"], np.eye(100))


def _made_up_draws(dim, n_chains=4, n_blocks=3, size=5):
    rng = np.random.default_rng(0)
    logs = 3.0 * rng.normal(size=(n_chains, n_blocks, size, 2))
    x = rng.normal(size=(n_chains, n_blocks, size, dim))
    top = logs.max(axis=2)
    w = np.exp(logs - top[:, :, None])
    draws = {
        "log_scale": top,
        "total": w.sum(axis=2),
        "first": np.einsum("cbds,cbdi->cbsi", w, x),
        "second": np.einsum("cbds,cbdi,cbdj->cbsij", w, x, x),
        "start_log_weights": logs[:, :, 0],
        "start_position": x[:, :, 0],
        "n_accepted": np.full((n_chains, n_blocks), size - 1),
        **{
            name: np.full((n_chains, n_blocks), 1)
            for name in ("n_not_finite", "n_pairs", "n_pattern_changes", "n_near_target")
        },
    }
    return draws, logs.reshape(n_chains, -1, 2), x.reshape(n_chains, -1, dim)


def test_curves_and_statistics_agree_with_estimates_from_all_states():
    where = build_problem(STUDY.settings(TINY), "published")
    truth, unit = where.truth, base_errors(where.reference, where.truth)
    draws, logs, x = _made_up_draws(where.relaxation.dim)

    def expected(chains, n):
        target, base = logs[chains, :n, 0], logs[chains, :n, 1]
        moments = weighted_moments(target, x[chains, :n])
        value = log_evidence(target, base)
        return (
            np.array(
                [
                    abs(value - truth.log_normaliser),
                    np.sqrt(np.mean((moments.mean - truth.mean) ** 2)),
                    np.sqrt(np.mean((moments.covariance - truth.covariance) ** 2)),
                ]
            )
            / unit
        )

    curves = chain_curves(draws, where, "gibbs_ct", 2, 5)["relative_error"]
    assert curves["n_samples"].values.tolist() == [1, 6, 11, 15]
    for n in (1, 6, 11, 15):
        at = curves.sel(n_samples=n)
        np.testing.assert_allclose(at.sel(pooling="disjoint", repeat=1), expected([2, 3], n), rtol=1e-9)
        np.testing.assert_allclose(at.sel(pooling="nested", repeat=1), expected([1, 2, 3], n), rtol=1e-9)
        single = np.mean([expected([c], n) for c in (0, 1)], axis=0)
        np.testing.assert_allclose(at.sel(pooling="single", repeat=0), single, rtol=1e-9)
    found = chain_statistics(draws, where, "gibbs_ct", 2, 5)
    np.testing.assert_allclose(found["pooled_error"], expected([0, 1, 2, 3], 15), rtol=1e-9)
    assert float(found["acceptance"]) == pytest.approx(0.8)
    assert int(found["n_not_finite"]) == 12
    by_group = np.mean([expected([0, 1], 15), expected([2, 3], 15)], axis=0)
    by_weight = found["error_by_target_weights"].mean("repeat")
    np.testing.assert_allclose(by_weight[1:], by_group[1:], rtol=1e-9)
    # Nested groups share chains: the error of their average is from leaving each chain out of both.
    nested = [[0, 1], [1, 2, 3]]
    averages = [
        np.mean([expected([c for c in group if c != left_out], 15) for group in nested], axis=0)
        for left_out in range(4)
    ]
    jackknife = np.sqrt(3.0 * np.mean((averages - np.mean(averages, axis=0)) ** 2, axis=0))
    error = chain_curves(draws, where, "gibbs_ct", 2, 5)["nested_average_error"].sel(n_samples=15)
    np.testing.assert_allclose(error, jackknife, rtol=1e-7)


@pytest.mark.slow
def test_cases_report_what_they_did(results):
    statistics = results["chains__system-0"][1]["statistics"]
    assert list(statistics["method"].values) == sorted(["st", "gibbs_ct", "ct_hmc", "hmc", "tuned"])
    for name in ("n_not_finite", "acceptance", "pooled_error", "gradients_per_repeat", "seconds_per_repeat"):
        assert name in statistics
    # `method` is an argument of `sel` itself.
    tempered = statistics.sel({"method": ["st", "gibbs_ct", "ct_hmc", "tuned"]})
    assert np.all(np.isfinite(tempered["log_z_estimate"]))
    assert float(tempered["gradients_per_repeat"].sel({"method": "gibbs_ct"})) == 20 * 20 * 2
    curves = results["chains__system-0"][1]["curves"]["relative_error"]
    assert curves["n_samples"].values.tolist() == [1, 6, 11, 16, 20]
    annealed = results["annealed__system-0"][1]["statistics"]
    assert annealed["annealed_error"].sel({"method": "h_ais"}).shape == (2, 2, 3)
    assert annealed["gradients_per_repeat"].values.tolist() == [[6 * 2, 6 * 3]]


@pytest.mark.slow
def test_systems_are_described(results):
    groups = results["systems"][1]
    assert groups["statistics"].sizes["system"] == 2
    assert float(groups["statistics"]["moment_relation_difference"]) < 1e-10
    assert groups["curves"]["projection"].shape == (2, 50, 2)


def test_only_equal_eigenvalues_lead_together():
    """The largest eigenvalue of the system of 28 units is a triple one; the fourth is 0.8 % below."""
    eigenvalues = np.array([11.66187008, 11.75590962, 11.75590956, 11.58593835, 11.75590942])
    assert leading(eigenvalues).tolist() == [1, 2, 4]
    assert leading(eigenvalues[[0, 3]]).tolist() == [0]


def test_own_weights_are_estimated_with_and_without_a_truth(tmp_path, monkeypatch):
    settings = STUDY.settings([*TINY, f"data={EXAMPLE}", "method=gibbs_ct"])
    found = run.run(settings, _context(tmp_path / "a"))
    assert np.isfinite(found["statistics"]["log_z_standard_error"].item())
    assert "pooled_error" in found["statistics"]
    monkeypatch.setattr(problem, "MAX_UNITS", 4)
    beyond = run.run(settings, _context(tmp_path / "b"))
    assert "pooled_error" not in beyond["statistics"]
    assert set(beyond["curves"].data_vars) == {"mean_estimate"}
    assert beyond["statistics"]["log_z_estimate"].item() == pytest.approx(
        found["statistics"]["log_z_estimate"].item(), rel=1e-12
    )


def test_own_weights_that_are_no_machine_are_rejected_by_name(tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("one,two\n0,1\n2,0\n")
    with pytest.raises(SettingsError, match=r"bad.csv: weights are not symmetric: element \(1, 2\) is 1"):
        STUDY.settings([*TINY, f"data={path}"])
    with pytest.raises(DataError, match="not symmetric"):
        problem.read_parameters(path)


def test_nested_values_have_errors_of_shared_chains_and_disjoint_ones_of_repeats():
    repeats = 1.0 + 0.1 * np.arange(10)
    disjoint = Averages(np.ones(1), np.tile(repeats, (1, 10, 1)), np.arange(10.0))
    assert disjoint.mean == pytest.approx(1.45)
    # Systems are the published ones: only repeats would have been others.
    assert disjoint.standard_error == pytest.approx(np.std(repeats, ddof=1) / 10.0)
    assert disjoint.drawn_error == pytest.approx(np.std(np.tile(repeats, 10), ddof=1) / 10.0)
    nested = disjoint._replace(nested_error=0.02 * np.arange(1.0, 11.0)[None])
    assert nested.standard_error == pytest.approx(0.02 * np.sqrt(np.sum(np.arange(1, 11) ** 2)) / 10.0)


def test_fewer_systems_add_the_error_of_systems():
    repeats = np.tile(1.0 + 0.1 * np.arange(10), (3, 4, 1))
    above, below = 0.4 * repeats, 0.5 * repeats

    def largest(ratios):
        return float(ratios.max())

    assert of_ratios([(above, below)], largest, "").error < 0.01
    # In one system of four the order is the other way round.
    above[:, 3] *= 3.0
    found = of_ratios([(above, below)], largest, "")
    assert found.value == pytest.approx(0.8 * 1.5)
    assert found.error > 0.3


def test_the_deepest_valley_tells_clusters_from_one_heap():
    rng = np.random.default_rng(0)
    heap = rng.normal(0.0, 1.0, 2000)
    assert deepest_valley(np.concatenate([heap - 6.0, heap[:1000] + 6.0])) < 0.01
    # Two normal distributions one width to either side of the middle, smoothed by their own width.
    assert deepest_valley(np.concatenate([heap - 2.5, heap + 2.5])) == pytest.approx(0.55, abs=0.15)
    assert deepest_valley(heap) > 0.9
