"""`auxmc list`, `settings`, `show`, `where`, `compare` and `plan` on synthetic results and records of jobs."""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import yaml

from auxmc.command_line.columns import duration
from auxmc.driver.results import write_result, write_table
from auxmc.errors import AuxmcError, CommandError
from auxmc_pipeline import catalogue, command_line
from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.command_line.compare import posterior_means, statistic_means
from auxmc_pipeline.command_line.plan import describe_plan, format_plan
from auxmc_pipeline.command_line.show_published import describe_published, stale_jobs, study_row
from auxmc_pipeline.jobs import COLUMNS, by_case, job_table, record_costs, recorded_jobs
from auxmc_pipeline.measuring import standard_error
from auxmc_pipeline.settings import PRESETS, SettingsError
from tests.unit.pipeline.provenance import PROVENANCE

GIVEN = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


@pytest.fixture
def run(capsys):
    def run(*words):
        parser = argparse.ArgumentParser(prog="auxmc")
        command_line.register(parser.add_subparsers(required=True))
        options = parser.parse_args([str(word) for word in words])
        assert options.run(options) == 0
        return capsys.readouterr().out

    return run


def result(path, *, shift=0.0, n_draws=400, tempered=False, **settings):
    """A result with normal draws, whose second component is shifted."""
    rng = np.random.default_rng(5 if shift == 0.0 else 6)
    draws = rng.normal(size=(4, n_draws, 2)) + np.array([0.0, shift])
    statistics = {
        "acceptance_rate": ("chain", [0.7 + shift, 0.72 + shift, 0.71 + shift, 0.69 + shift]),
        "log_evidence": ((), -10.0 + shift, {"units": "nats"}),
        "log_evidence_error": 0.1,
        "ess_per_second": ((), 3.0 + shift, {"units": "1/s"}),
    }
    groups = {
        "posterior": xr.Dataset({"z": (("chain", "draw", "parameter"), draws)}, {"parameter": ["a", "b"]}),
        "statistics": xr.Dataset(statistics),
    }
    if tempered:
        groups["sample_stats"] = xr.Dataset({"inverse_temperature": (("chain", "draw"), draws[..., 0])})
    chosen = {"preset": "quick", "seed": 1, "n_draws": n_draws, "data": "", "batch": {}, **settings}
    write_result(path, groups, {**PROVENANCE, "case": path.stem, "settings": chosen})
    return path


def first_words(text):
    """Lines that are not empty, by their first word."""
    return {line.split()[0]: line for line in text.splitlines() if line}


def own(folder, shift=0.0):
    """What `auxmc evidence` writes, and the record of a stream."""
    draws = np.random.default_rng(0 if shift == 0.0 else 1).normal(shift, size=(4, 100))
    attributes = {"inference_library": "auxmc", "inference_library_version": "9.8"}
    attributes |= {"created_at": "2026-11-25", "method": "hmc", "draws": 100, "seed": 3}
    attributes |= {"log_evidence": shift, "log_evidence_standard_error": 0.01, "warnings": ["far"]}
    folder.mkdir()
    posterior = xr.Dataset({"m": (("chain", "draw"), draws)})
    write_result(folder / "result.nc", {"posterior": posterior}, attributes)
    about = {"numbers": {"command": "sample", "seed": 3}, "written": "2026", "environment": {"packages": {}}}
    (folder / "settings.json").write_text(json.dumps(about), encoding="utf-8")
    record = {"model": ["a", "a"], "log_evidence": [0.0, shift], "log_evidence_error": [1.0, 0.1]}
    write_table(folder / "record.parquet", pd.DataFrame(record))
    pd.DataFrame(record).to_csv(folder / "record.csv", index=False)
    return folder


def test_list_names_studies_with_cases_and_cost(monkeypatch, run):
    # Two of them: reading the records of all takes seconds.
    monkeypatch.setattr(catalogue, "studies", lambda: ["boltzmann", "radon"])
    lines = first_words(run("list"))
    study = load_study("radon")
    for preset in PRESETS:
        cost = duration(recorded_jobs("radon", preset)["cpu_s"].sum())
        assert f"{len(study.cases(preset))} cases, {cost}" in lines["radon"]
    assert "boltzmann" in lines
    assert study.title in lines["radon"]


def test_list_names_claims_with_the_cost_of_what_each_needs(monkeypatch, run):
    monkeypatch.setattr(catalogue, "studies", lambda: ["radon"])
    lines = first_words(run("list", "claims", "--preset", "smoke"))
    cpu_s = recorded_jobs("radon", "smoke").set_index("case")["cpu_s"]
    assert f"  1  {duration(cpu_s['nuts']):>8}  " in lines["CT-D06"]
    assert "not recorded" not in lines["CT-D06"]


def test_list_of_a_study_says_what_cases_took(monkeypatch, run, tmp_path):
    monkeypatch.setattr(catalogue, "ROOT", tmp_path)
    done = result(tmp_path / "results" / "smoke" / "radon" / "nuts.nc")
    lines = first_words(run("list", "radon", "--preset", "smoke"))
    assert lines["nuts"].split()[1:] == ["done", "13", "s", "809", "MiB", "method=nuts"]
    recorded = recorded_jobs("radon", "smoke").set_index("case").loc["ais"]
    cost = [f"{recorded['cpu_s']:.0f}", "s", f"{recorded['peak_memory_mib']:.0f}", "MiB"]
    assert lines["ais"].split()[1:6] == ["missing", *cost]
    done.write_bytes(b"x")
    assert "nuts  damaged" in run("list", "radon", "--preset", "smoke")


def test_settings_say_their_values_what_they_do_and_what_is_allowed(run):
    text = run("settings", "boltzmann")
    study = load_study("boltzmann")
    shown = [str(study.settings([f"preset={preset}"]).n_chains) for preset in PRESETS]
    assert f"  n_chains = {' / '.join(shown)}\n      independent chains [allowed: at least 1]\n" in text
    assert "  data = ''\n" in text


@pytest.mark.parametrize(("words", "message"), GIVEN["wrong_names"])
def test_wrong_names_are_rejected_with_advice(run, words, message):
    with pytest.raises(AuxmcError, match=message):
        run(*words)


def test_the_innermost_clone_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"not inside a clone .* folder of the Snakefile"):
        catalogue.checkout(tmp_path)
    inner = tmp_path / "outer" / "inner"
    for root in (inner, inner.parent):
        (root / "experiments").mkdir(parents=True, exist_ok=True)
        (root / "experiments" / "studies.py").touch()
    (inner / "docs").mkdir()
    monkeypatch.chdir(inner / "docs")
    assert catalogue.checkout(tmp_path / "site-packages") == inner
    assert catalogue.checkout(inner.parent) == inner.parent, "the package's own comes first"


def test_show_says_what_a_file_holds_and_how_to_make_it(tmp_path, run):
    text = run("show", result(tmp_path / "results" / "quick" / "radon" / "nuts.nc"))
    for word in ("d" * 40, "jax 0.10.2", "13.2", "group posterior: chain 4, draw 400, parameter 2", "nats"):
        assert word in text, word
    assert "snakemake results/quick/radon/nuts.nc --config preset=quick" in text
    path = result(tmp_path / "mine.nc", columns=["a", "b"], batch={"step_size": [0.1, 0.2]})
    command = run("show", path).splitlines()[-1]
    own = ("'columns=[a,b]'", "'++batch.step_size=[0.1,0.2]'", f"out={path}")
    for word in ("study=radon", "n_draws=400", *own):
        assert word in command, word
    assert "data=" not in command


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("report.html", b"x", "expected a result file"),
        ("broken.nc", b"x" * 100, "cannot be read as NetCDF.*; make it again with"),
    ],
)
def test_what_is_no_result_is_rejected(tmp_path, run, name, content, message):
    (tmp_path / name).write_bytes(content)
    xr.Dataset({"a": 1.0}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(AuxmcError, match=message):
        run("show", tmp_path / name)
    with pytest.raises(CommandError, match="attribute 'study' is missing"):
        run("compare", tmp_path / "other.nc", tmp_path / "other.nc")


def test_compare_finds_what_was_changed_and_only_that(tmp_path, run):
    first = result(tmp_path / "a.nc", step_size=0.1)
    second = result(tmp_path / "b.nc", shift=1.0, n_draws=600, step_size=0.2)
    text = run("compare", first, second)
    settings = text[text.index("settings that differ") : text.index("origin that differs: same seed, code")]
    found = [line.split() for line in settings.splitlines()[2:] if line]
    assert found == [["n_draws", "400", "600"], ["step_size", "0.1", "0.2"]]
    assert "posterior means: 1 of 2 differ by more than 3 standard errors" in text
    assert "statistics: 2 of 2 differ" in text
    assert "ess_per_second" not in text
    text = run("compare", first, first)
    equal = "all settings are equal|posterior means: all 2 are equal|statistics: all 2 are equal"
    assert all(words in text for words in equal.split("|"))
    other = {"statistics": xr.Dataset({"other": 1.0})}
    write_result(tmp_path / "c.nc", other, {**PROVENANCE, "case": "c", "settings": {}})
    with pytest.raises(CommandError, match="no quantity in common"):
        run("compare", first, tmp_path / "c.nc")


def test_tempered_draws_are_not_taken_for_posterior_draws(tmp_path, run):
    text = run("compare", *(result(tmp_path / f"{i}.nc", shift=float(i), tempered=True) for i in (0, 1)))
    assert "tempered chains, whose draws need weights" in text
    assert "z[parameter b]" not in text


def test_estimates_have_the_errors_of_independent_draws(tmp_path):
    with xr.open_datatree(result(tmp_path / "a.nc"), engine="h5netcdf") as tree:
        means = dict(posterior_means(tree["posterior"].to_dataset()))
        statistics = dict(statistic_means(tree["statistics"].to_dataset()))
    # 1600 independent draws of unit variance; the estimate of the error is good to a tenth or so.
    assert means["z[parameter b]"][1] == pytest.approx(1 / 40, rel=0.3)
    assert statistics["log_evidence"] == (-10.0, 0.1)
    error = standard_error(np.array([0.7, 0.72, 0.71, 0.69]))
    assert statistics["acceptance_rate"] == (pytest.approx(0.705), error)


def test_files_of_ones_own_runs_are_shown_and_compared(tmp_path, run):
    one, two = own(tmp_path / "one"), own(tmp_path / "two", 5.0)
    for name, shown, compared in (
        ("result.nc", ("9.8", "2026-11-25", "method", "far"), "posterior means: 1 of 1 differ"),
        ("", ("record.csv, record.parquet, result.nc, settings.json",), "posterior means: 1 of 1 differ"),
        ("record.csv", ("command", "log_evidence_error"), "log_evidence[model a]"),
        ("record.parquet", ("command", "log_evidence_error"), "log_evidence[model a]"),
    ):
        text = run("show", one / name)
        assert all(word in text for word in shown), text
        text = run("compare", one / name, two / name)
        assert compared in text
        assert "statistics: 1 of 1 differ" in text
    (two / "result.nc").unlink()
    assert "log_evidence[model a]" in run("compare", one / "record.csv", two)
    (one / "trace.png").write_bytes(b"plot")
    with pytest.raises(CommandError, match=r"trace.png: expected a result file \(.nc\) or a table"):
        run("show", one / "trace.png")
    (one / "settings.json").unlink()
    with pytest.raises(CommandError, match=r"record.csv: expected a result file \(.nc\), or a file next to"):
        run("show", one / "record.csv")


def test_where_leads_from_a_figure_to_the_kernel(run):
    places = {line.strip() for line in run("where", "fig_3_11a").splitlines() if "::" in line}
    assert "experiments/gp_probit/figures.py::efficiency_bars" in places
    assert "src/auxmc/kernels/pseudo_marginal/updates.py::pseudo_marginal_method" in places
    for place in places:
        file, _, function = place.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(), place


def job(case, piece="", **about):
    own = {"study": "radon", "case": case, "piece": piece, "numbers": "n", "code": "c", "commit": "d" * 12}
    costs = {"cpu_s": 30.0, "peak_memory_mib": 1.0, "n_cores": 2}
    return dict.fromkeys(COLUMNS, "") | own | costs | about


def test_costs_of_a_preset_replace_those_of_an_earlier_run(tmp_path):
    costs = tmp_path / "costs.csv"
    record_costs("smoke", job_table([job("nuts", cpu_s=9.0), job("ais", cpu_s=4.0)]), costs)
    record_costs("tiny", job_table([job("nuts", cpu_s=1.0)]), costs)
    record_costs("smoke", job_table([job("nuts", cpu_s=7.5), job("hmc", "1 of 2", cpu_s=2.0)]), costs)
    found = recorded_jobs("radon", "smoke", tmp_path, costs)
    assert found[["case", "piece", "cpu_s"]].values.tolist() == [["hmc", "1 of 2", 2.0], ["nuts", "", 7.5]]
    assert recorded_jobs("radon", "tiny", tmp_path, costs)["cpu_s"].tolist() == [1.0]
    assert recorded_jobs("boltzmann", "smoke", tmp_path, costs).empty
    assert recorded_jobs("radon", "smoke", tmp_path, tmp_path / "other.csv").empty


def test_a_plan_states_core_hours_the_longest_job_and_the_run_time():
    jobs = {
        "radon": job_table([job("nuts", "1 of 2", cpu_s=1800.0), job("nuts", "2 of 2", cpu_s=1800.0)]),
        "foundations": job_table([job("chains", study="foundations", cpu_s=1700.0)]),
    }
    text = format_plan("paper", 2, jobs, ["boltzmann"])
    assert text.splitlines()[1].split() == ["radon", "2", "1.00", "30.0", "min"]
    assert "Longest job: radon nuts 1 of 2\nPreset paper on 2 cores: at least 44.2 min.\n" in text
    assert "at least 30.0 min" in format_plan("paper", 64, jobs, [])
    assert text.endswith("Not recorded: boltzmann.")
    assert "Preset paper on 64 cores" in describe_plan("paper", 64, [])


def test_published_results_are_shown_with_what_would_run_again(tmp_path):
    now = {case: {"numbers": "n", "code": "c", "data": ""} for case in ("a", "b", "e")}
    rows = [job("a", "1 of 2"), job("a"), job("b", numbers="old", code="old", data="old"), job("gone")]
    jobs = by_case(job_table(rows))
    assert stale_jobs("radon", jobs, now) == [
        "radon, other settings and code and data: b",
        "radon, other case, which is gone: gone",
        "radon, not published: e",
    ]
    row = study_row("radon", jobs, now, has_tables=False)
    assert row[:5] == ("radon", "3 of 3", "no", "0.03", "ddddddd")
    with pytest.raises(CommandError, match=r"steps\.publish paper"):
        describe_published("paper", tmp_path)
