"""`auxmc list`, `show` and `compare` on made-up results."""

import argparse
import json
import math
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from auxmc.command_line.columns import duration
from auxmc.driver.results import write_result, write_table
from auxmc.errors import CommandError
from auxmc_pipeline import catalogue, command_line
from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.command_line.compare import posterior_differences, statistic_differences
from auxmc_pipeline.jobs import recorded_jobs
from auxmc_pipeline.settings import PRESETS, SettingsError


def run(*words: str) -> int:
    parser = argparse.ArgumentParser(prog="auxmc")
    command_line.register(parser.add_subparsers(required=True))
    options = parser.parse_args(words)
    return int(options.run(options))


def made_up(
    path: Path, *, shift: float = 0.0, n_draws: int = 400, tempered: bool = False, **settings: object
) -> Path:
    """A result with normal draws, whose second component lies `shift` off."""
    rng = np.random.default_rng(5 if shift == 0.0 else 6)
    draws = rng.normal(size=(4, n_draws, 2)) + np.array([0.0, shift])
    coords = {"parameter": ["a", "b"]}
    groups = {
        "posterior": xr.Dataset({"z": (("chain", "draw", "parameter"), draws)}, coords),
        "statistics": xr.Dataset(
            {
                "accept_rate": ("chain", [0.7 + shift, 0.72 + shift, 0.71 + shift, 0.69 + shift]),
                "log_evidence": ((), -10.0 + shift, {"units": "nats"}),
                "log_evidence_error": 0.1,
                "ess_per_second": ((), 3.0 + shift, {"units": "1/s"}),
            }
        ),
    }
    if tempered:
        groups["sample_stats"] = xr.Dataset({"inverse_temperature": (("chain", "draw"), draws[..., 0])})
    attributes = {
        "study": "radon",
        "case": path.stem,
        "settings": {"preset": "quick", "seed": 1, "n_draws": n_draws, "data": "", "batch": {}, **settings},
        "numbers": "0123",
        "code": "4567",
        "seed": 1,
        "created": "2026-11-21T22:04:55+00:00",
        "git_commit": "d" * 40,
        "packages": {"jax": "0.10.2"},
        "wall_s": 13.2,
        "compile_s": 6.0,
        "run_s": 5.2,
        "cpu_s": 12.8,
        "peak_memory_mib": 809.0,
    }
    write_result(path, groups, attributes)
    return path


def test_list_names_studies_with_cases_and_cost(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT / "docs")
    # Two of them: composing the settings of all takes seconds.
    monkeypatch.setattr(catalogue, "studies", lambda: ["boltzmann", "radon"])
    assert run("list") == 0
    lines = {line.split()[0]: line for line in capsys.readouterr().out.splitlines() if line}
    assert {"boltzmann", "radon"} <= set(lines)
    study = load_study("radon")
    for preset in PRESETS:
        n_cases, cpu_s = len(study.cases(preset)), recorded_jobs("radon", preset)["cpu_s"].sum()
        assert f"{n_cases} cases, {duration(cpu_s)}" in lines["radon"]
    assert study.title in lines["radon"]


def test_list_of_a_study_names_its_cases(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "radon", "--preset", "smoke") == 0
    text = capsys.readouterr().out
    for case in load_study("radon").cases("smoke"):
        assert case.name in text
    assert "method=nuts" in text


def test_list_of_a_study_says_what_finished_cases_took(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(catalogue, "ROOT", tmp_path)
    made_up(tmp_path / "results" / "smoke" / "radon" / "nuts.nc")
    assert run("list", "radon", "--preset", "smoke") == 0
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines() if line}
    assert lines["nuts"][1:6] == ["done", "13", "s", "809", "MiB"]
    recorded = recorded_jobs("radon", "smoke").set_index("case").loc["ais"]
    cost = [f"{recorded['cpu_s']:.0f}", "s", f"{recorded['peak_memory_mib']:.0f}", "MiB"]
    assert lines["ais"][1:6] == ["missing", *cost]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("list", "radom"), "Did you mean 'radon'"),
        (("list", "radon", "--preset", "quik"), "Did you mean 'quick'"),
    ],
)
def test_wrong_names_are_refused_with_the_nearest(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run(*words)


def test_settings_say_their_values_what_they_do_and_what_is_allowed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("settings", "boltzmann") == 0
    text = capsys.readouterr().out
    at_presets = [load_study("boltzmann").settings([f"preset={preset}"]).n_chains for preset in PRESETS]
    assert len(set(at_presets)) > 1
    shown = " / ".join(map(str, at_presets))
    assert f"  n_chains = {shown}\n      independent chains [allowed: at least 1]\n" in text
    assert "  data = ''\n" in text
    with pytest.raises(CommandError, match="Did you mean 'radon'"):
        run("settings", "radom")


def test_list_outside_a_checkout_says_where_to_go(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SettingsError, match=r"not inside a checkout .* folder that holds workflow/Snakefile"):
        catalogue.checkout(tmp_path)


def test_the_innermost_checkout_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    for root in (inner, inner.parent):
        (root / "conf").mkdir(parents=True, exist_ok=True)
        (root / "conf" / "config.yaml").touch()
    (inner / "docs").mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(inner / "docs")
    assert catalogue.checkout(tmp_path / "site-packages") == inner
    assert catalogue.checkout(inner.parent) == inner.parent, "the package's own comes first"


def test_show_says_what_a_file_holds_and_how_to_make_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made_up(tmp_path / "results" / "quick" / "radon" / "nuts.nc")
    assert run("show", str(path)) == 0
    text = capsys.readouterr().out
    for word in (
        "radon",
        "d" * 40,
        "jax 0.10.2",
        "13.2 s",
        "group posterior: chain 4, draw 400, parameter 2",
        "nats",
    ):
        assert word in text, word
    assert "snakemake results/quick/radon/nuts.nc --config preset=quick" in text


def test_show_gives_the_whole_command_for_a_file_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made_up(tmp_path / "mine.nc", columns=["a", "b"], batch={"step_size": [0.1, 0.2]})
    run("show", str(path))
    command = capsys.readouterr().out.splitlines()[-1]
    for word in (
        "study=radon",
        "n_draws=400",
        "'columns=[a,b]'",
        "'++batch.step_size=[0.1,0.2]'",
        f"out={path}",
    ):
        assert word in command, word
    assert "data=" not in command


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none.nc", None, "made with `snakemake STUDY`"),
        ("report.html", b"x", "expected a result file"),
        ("broken.nc", b"x" * 100, "cannot be read as NetCDF"),
    ],
)
def test_what_is_no_result_is_refused(tmp_path: Path, name: str, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(CommandError, match=message):
        run("show", str(tmp_path / name))


def test_a_file_of_others_is_refused(tmp_path: Path) -> None:
    xr.Dataset({"a": 1.0}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(CommandError, match="attribute 'study' is missing"):
        run("show", str(tmp_path / "other.nc"))


def test_compare_finds_what_was_changed_and_only_that(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = made_up(tmp_path / "a.nc", step_size=0.1)
    second = made_up(tmp_path / "b.nc", shift=1.0, n_draws=600, step_size=0.2)
    assert run("compare", str(first), str(second)) == 0
    text = capsys.readouterr().out
    settings = text[text.index("settings that differ") : text.index("origin")]
    assert [line.split() for line in settings.splitlines()[2:] if line] == [
        ["n_draws", "400", "600"],
        ["step_size", "0.1", "0.2"],
    ]
    assert "posterior means: 1 of 2 differ by more than 3 standard errors" in text
    assert "statistics: 2 of 2 differ" in text
    assert "ess_per_second" not in text
    assert "same seed, code" in text


def test_differences_have_the_errors_of_independent_draws(tmp_path: Path) -> None:
    first, second = (
        xr.open_datatree(made_up(tmp_path / f"{i}.nc", shift=float(i)), engine="h5netcdf") for i in (0, 1)
    )
    found = {
        d.name: d
        for d in posterior_differences(first["posterior"].to_dataset(), second["posterior"].to_dataset())
    }
    b = found["z[parameter b]"]
    # 1600 independent draws of unit variance; the estimate of the error is good to a tenth or so.
    assert b.first_error == pytest.approx(1 / 40, rel=0.3)
    assert b.error == pytest.approx(math.hypot(b.first_error, b.second_error))
    assert b.score == pytest.approx((b.second - b.first) / b.error)
    stated = {
        d.name: d for d in statistic_differences(*(t["statistics"].to_dataset() for t in (first, second)))
    }
    assert set(stated) == {"accept_rate", "log_evidence"}
    assert stated["log_evidence"].score == pytest.approx(1.0 / math.hypot(0.1, 0.1))
    for tree in (first, second):
        tree.close()


def test_a_result_equals_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(made_up(tmp_path / "a.nc"))
    run("compare", path, path)
    text = capsys.readouterr().out
    assert "all settings are equal" in text
    assert "posterior means: all 2 are equal" in text
    assert "statistics: all 2 are equal" in text


def test_tempered_draws_are_not_taken_for_posterior_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(made_up(tmp_path / f"{i}.nc", shift=float(i), tempered=True)) for i in (0, 1)]
    run("compare", *paths)
    text = capsys.readouterr().out
    assert "tempered chains, whose draws need weights" in text
    assert "z[parameter b]" not in text


def test_results_without_a_common_quantity_are_refused(tmp_path: Path) -> None:
    first = made_up(tmp_path / "a.nc")
    attributes = {"study": "s", "case": "b", "settings": {}, "numbers": "0", "code": "0", "seed": 1}
    write_result(tmp_path / "b.nc", {"statistics": xr.Dataset({"other": 1.0})}, attributes)
    with pytest.raises(CommandError, match="no quantity of equal shape in common"):
        run("compare", str(first), str(tmp_path / "b.nc"))


def test_each_subcommand_explains_itself_with_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("list", "show", "compare"):
        with pytest.raises(SystemExit) as stopped:
            run(name, "--help")
        assert stopped.value.code == 0
        assert f"auxmc {name} " in capsys.readouterr().out.partition("example")[2]


def test_where_leads_from_a_figure_to_the_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("where", "fig_3_11a") == 0
    places = {line.strip() for line in capsys.readouterr().out.splitlines() if "::" in line}
    assert {
        "experiments/gp_probit/figures.py::efficiency_bars",
        "src/auxmc/kernels/pseudo_marginal/updates.py::pseudo_marginal_method",
        "experiments/gp_probit/model.py::gp_probit_model",
    } <= places
    for place in places:
        file, _, function = place.partition("::")
        assert f"def {function}(" in (ROOT / file).read_text(), place


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fig_3_11z",), r"no figure 'fig_3_11z'\. Did you mean 'fig_3_11\w'\? docs/coverage.md lists all"),
        (("fig_5_7", "radon"), r"no figure 'fig_5_7' of study radon\. .*Allowed: fig_5_5, fig_5_6"),
        (("fig_5_6",), r"of the studies radon, streaming_evidence: name one, `auxmc where fig_5_6 radon`"),
        (("fig_5_6", "radom"), r"unknown study: 'radom'\. Did you mean 'radon'\?"),
    ],
)
def test_where_refuses_what_it_cannot_find(words: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        run("where", *words)


def own(folder: Path, shift: float = 0.0) -> Path:
    """What `auxmc evidence` leaves, and the record of a stream."""
    draws = np.random.default_rng(0 if shift == 0.0 else 1).normal(shift, size=(4, 100))
    attributes = {
        "inference_library": "auxmc",
        "inference_library_version": "9.8",
        "created_at": "2026-11-25",
    }
    attributes |= {
        "method": "hmc",
        "draws": 100,
        "seed": 3,
        "wall_s": 2.0,
        "compile_s": 1.0,
        "sampling_s": 1.0,
    }
    attributes |= {"log_evidence": shift, "log_evidence_standard_error": 0.01, "warnings": ["far"]}
    groups = {"posterior": xr.Dataset({"m": (("chain", "draw"), draws)})}
    folder.mkdir()
    write_result(folder / "result.nc", groups, attributes)
    about = {"numbers": {"command": "sample", "seed": 3}, "written": "2026", "environment": {"packages": {}}}
    (folder / "settings.json").write_text(json.dumps(about), encoding="utf-8")
    record = pd.DataFrame(
        {"model": ["a", "a"], "log_evidence": [0.0, shift], "log_evidence_error": [1.0, 0.1]}
    )
    write_table(folder / "record.parquet", record, csv=True)
    return folder


def test_files_of_ones_own_runs_are_shown_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = own(tmp_path / "one"), own(tmp_path / "two", 5.0)
    for name, words in (
        ("result.nc", ("auxmc 9.8", "2026-11-25", "method", "far", "of these 1.0 s compiling")),
        ("", ("command", "files: record.csv, record.parquet, result.nc, settings.json")),
        ("record.parquet", ("command", "log_evidence_error")),
        ("record.csv", ("command", "log_evidence_error")),
    ):
        assert run("show", str(one / name)) == 0
        text = capsys.readouterr().out
        assert all(word in text for word in words), text
    for name, words in (
        ("result.nc", ("posterior means: 1 of 1 differ", "statistics: 1 of 1 differ")),
        ("record.csv", ("statistics: 1 of 1 differ", "log_evidence[model a]")),
    ):
        assert run("compare", str(one / name), str(two / name)) == 0
        text = capsys.readouterr().out
        assert all(word in text for word in words), text
    (one / "settings.json").unlink()
    with pytest.raises(CommandError, match=r"record.csv: expected a result file \(.nc\), or a file next to"):
        run("show", str(one / "record.csv"))
