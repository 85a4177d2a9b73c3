"""One study as a user runs it: what is made, what runs again and what does not, own data, sweeps, wrong settings."""

import json
import re
from pathlib import Path

import pandas as pd
import pytest
import xarray as xr

from auxmc_pipeline import catalogue
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.steps import claim, draw
from tests.copies import python_path
from tests.pipeline.conftest import SMOKE, assert_all_is_made, planned

DRAWS = {"draw_radon", "judge_claims"}
ALL = {"run_case", "tabulate"} | DRAWS
RESULTS, FIGURES = "results/smoke/radon", "paper_figures/smoke/radon"


def _runs(jobs):
    return set(jobs) - {"radon", "total"}


def test_what_is_declared_is_made(radon):
    assert_all_is_made(radon, "radon")


def test_a_result_says_what_produced_it(radon):
    path = next((radon.folder / RESULTS).glob("*.nc"))
    attributes = xr.open_datatree(path, engine="h5netcdf").attrs
    for name in ("settings", "numbers", "code", "seed", "git_commit", "packages", "device", "threads"):
        assert attributes[name] != "", name
    for name in ("compile_s", "run_s", "wall_s", "peak_memory_mib", "memory_gib"):
        assert float(attributes[name]) >= 0
    assert int(attributes["n_cores"]) >= 1
    assert json.loads(attributes["settings"])["preset"] == "smoke"


def test_a_renamed_clone_with_a_comment_more_has_nothing_to_do_in_any_locale(radon):
    folder, environment = radon.folder, radon.environment
    radon.folder = folder.rename(folder.with_name("renamed"))
    plain = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    radon.environment = environment | plain | {"PYTHONPATH": python_path(radon.folder)}
    try:
        with radon.changed("src/auxmc_pipeline/chains.py", "\n# a remark\n"):
            assert "Nothing to be done" in radon.snakemake("-n", "radon", *SMOKE).stdout
    finally:
        radon.folder.rename(folder)
        radon.folder, radon.environment = folder, environment


@pytest.mark.parametrize(
    ("names", "jobs"),
    [
        pytest.param([f"{FIGURES}/fig_5_5.svg", f"{RESULTS}/numbers.csv"], DRAWS, marks=pytest.mark.slow),
        pytest.param([f"{RESULTS}/tables/chain.parquet"], DRAWS | {"tabulate"}, marks=pytest.mark.slow),
        ([f"{RESULTS}/ais.nc"], ALL),
    ],
)
def test_an_output_that_is_missing_is_made_by_its_rule(radon, names, jobs):
    aside = [(radon.folder / name).rename(radon.folder / f"{name}.aside") for name in names]
    try:
        found = planned(radon, "radon", *SMOKE)
    finally:
        for path in aside:
            path.rename(path.with_suffix(""))
    assert _runs(found) == jobs
    assert found.get("run_case", 0) == ("run_case" in jobs)


@pytest.mark.slow
def test_a_deleted_output_comes_back_to_the_byte(radon):
    kept = radon.folder / FIGURES / "fig_5_6.svg"
    before = kept.read_bytes()
    deleted = [radon.folder / RESULTS / "tables/chain.parquet", radon.folder / FIGURES / "fig_5_5.svg"]
    for path in deleted:
        path.unlink()
    # Snakemake keeps which tables were missing, and tabulates twice.
    for _ in range(2):
        radon.snakemake("radon", *SMOKE)
    assert "Nothing to be done" in radon.snakemake("-n", "radon", *SMOKE).stdout
    assert all(path.is_file() for path in deleted)
    assert kept.read_bytes() == before


@pytest.mark.parametrize(
    ("file", "text", "jobs"),
    [
        ("src/auxmc_pipeline/chains.py", "\nEXTRA = 1\n", ALL),
        ("experiments/radon/config.yaml", "\nseed: 5\n", ALL),
        ("experiments/radon/figures.py", "\nEXTRA = 1\n", {"draw_radon"}),
        pytest.param("experiments/radon/claims.csv", "\n", DRAWS, marks=pytest.mark.slow),
    ],
)
def test_a_change_runs_what_uses_it(radon, file, text, jobs):
    with radon.changed(file, text):
        found = planned(radon, "radon", *SMOKE)
    assert _runs(found) == jobs
    assert found.get("run_case", 0) == ("run_case" in jobs) * len(load_study("radon").cases("smoke"))


def test_claims_alone_are_judged_from_the_tables_that_are_there(radon):
    with radon.changed("src/auxmc_pipeline/chains.py", "\nEXTRA = 1\n"):
        judged = planned(radon, "claims", "--allowed-rules", "claims", "judge_claims", *SMOKE)
    assert set(judged) <= {"claims", "judge_claims", "total"}


def test_tables_from_other_settings_are_rejected_when_results_are_gone(radon, tmp_path, monkeypatch, capsys):
    words = ["radon", "smoke", "fig_5_6", "--tables", str(radon.folder / RESULTS / "tables"), "--out"]
    assert draw.main([*words, str(tmp_path / "f")]) == 0
    conf = tmp_path / "radon" / "config.yaml"
    conf.parent.mkdir()
    conf.write_text((catalogue.STUDIES / "radon" / "config.yaml").read_text() + "\nseed: 5\n")
    monkeypatch.setattr(catalogue, "STUDIES", tmp_path)
    assert draw.main([*words, str(tmp_path / "g")]) == 1
    assert "was made with other settings for" in capsys.readouterr().err
    assert not (tmp_path / "g").exists()


def test_a_claim_by_itself_runs_what_it_needs_and_is_printed(radon, monkeypatch, capsys):
    path = radon.folder / RESULTS / "nuts.nc"
    aside = path.rename(path.with_suffix(".aside"))
    try:
        jobs = planned(radon, "claim", *SMOKE, "id=CT-D04")
    finally:
        aside.rename(path)
    assert _runs(jobs) == {"run_case", "claim"}
    assert jobs["run_case"] == 1
    monkeypatch.chdir(radon.folder)
    assert claim.main(["CT-D04", f"{RESULTS}/nuts.nc"]) == 0
    said = capsys.readouterr().out
    row = pd.read_csv(radon.folder / RESULTS / "claims.csv").set_index("claim_id").loc["CT-D04"]
    assert row["statement"] in said
    assert f"CT-D04: {row['verdict']}" in said
    (line,) = [line for line in said.splitlines() if line.startswith(f"  {row['setting']}")]
    assert f"{row['measured']:.4g}" in line


@pytest.mark.slow
def test_a_sweep_gives_a_table_and_a_plot_and_leaves_the_study_alone(radon):
    (radon.folder / "own rows (é).csv").write_text("y\n0.5\n1.5\n-0.25\n", encoding="utf-8")
    over = "over=data=own rows (é).csv step_size=0.2, 0.4 n_importance=1,2 n_draws=50"
    words = ["sweep", "--config", "preset=smoke", "study=gaussian_latent", "name=1.10", over]
    radon.snakemake(*words)
    folder = radon.folder / "results/smoke/gaussian_latent/sweeps/1.10"
    table = pd.read_csv(folder / "summary.csv")
    assert set(table["step_size"].dropna()) == {0.2, 0.4}
    assert set(table["n_importance"]) == {1, 2}
    assert {"quantity", "coordinate", "value", "standard_error", "unit"} <= set(table)
    assert len(list(folder.glob("*.nc"))) == 2, "step sizes run inside one program"
    assert (folder / "sweep.pdf").stat().st_size > 3000
    assert not list(folder.parents[1].glob("*.*")), "nothing of the study itself is made or changed"
    damaged = next(folder.glob("*.nc"))
    damaged.write_bytes(damaged.read_bytes()[:5000])
    (folder / "summary.csv").unlink()
    done = radon.snakemake(*words, check=False)
    for text in ("{} is damaged", "`snakemake sweep --forcerun {} --config"):
        assert text.format(damaged.relative_to(radon.folder)) in done.stdout + done.stderr


RUN = ("-m", "auxmc_pipeline.steps.run", "preset=smoke")
SWEEP = ("sweep", "--config", "study=gp_probit")
WRONG = [
    (("--config", "preset=smok"), "preset: 'smok'. Did you mean 'smoke'? Allowed: smoke, quick, paper"),
    (("--config", "hardware=tpu"), "hardware: expected cpu, gpu or auto, got tpu"),
    (("--config", "preste=smoke"), "unknown --config key 'preste'"),
    ((*SWEEP, "name=a", "over=n_importanc=2"), "Did you mean 'n_importance'?"),
    ((*SWEEP, "name=a"), "target sweep needs --config over=..."),
    ((*SWEEP, "name=..", "over=n_importance=1"), "name: expected letters,"),
    ((*SWEEP, "name=a", "over=data=none.csv"), "none.csv"),
    (("claim", "--config", "id=PM-G122"), "unknown claim: 'PM-G122'. Did you mean 'PM-G"),
    (("claim", *SMOKE), "target claim needs --config id=..."),
]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        pytest.param(*case, marks=[pytest.mark.slow] * (case is not WRONG[3]), id=case[1][:30])
        for case in WRONG
    ],
)
def test_a_wrong_setting_is_rejected_before_anything_runs(radon, words, message):
    done = radon.snakemake(*words, check=False)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


@pytest.mark.slow
def test_own_data_runs_and_wrong_data_leaves_nothing(radon):
    data = radon.folder / "my own.csv"
    rows = [f"{0.1 * i % 1.3:.3f},{(i * 7) % 11},{'yes' if i % 3 else 'no'}" for i in range(24)]
    data.write_text("first,second,label\n" + "\n".join(rows) + "\n")
    words = [*RUN, "study=gp_probit", "data=my own.csv", "n_draws=20", "n_chains=2"]
    radon.python(*words, "out=own/result.nc")
    tree = xr.open_datatree(radon.folder / "own/result.nc", engine="h5netcdf")
    assert any("second" in str(c) for c in tree["posterior"]["coordinate"].values)
    rows[1] = "0.5,,no"
    data.write_text("first,second,label\n" + "\n".join(rows) + "\n")
    done = radon.python(*words, "out=bad/result.nc", check=False)
    assert done.returncode == 2
    assert re.search(r"my own\.csv.*(line|row) 3.*second", done.stderr)
    assert not (radon.folder / "bad").exists()


@pytest.mark.slow
def test_a_matrix_of_observations_runs(radon):
    Path(radon.folder / "matrix.csv").write_text("a,b\n1.0,2.0\n0.5,1.5\n0.1,0.9\n", encoding="utf-8")
    radon.python(*RUN, "study=gaussian_latent", "data=matrix.csv", "out=own/matrix.nc")
    tree = xr.open_datatree(radon.folder / "own/matrix.nc", engine="h5netcdf")
    assert tree["statistics"].sizes["coordinate"] == 2
