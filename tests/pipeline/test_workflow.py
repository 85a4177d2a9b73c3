"""The workflow as a user runs it: what is made, what runs again and what does not."""

import json
import re
import shlex
import shutil
from pathlib import Path

import jax
import pandas as pd
import pytest
import xarray as xr

from auxmc_pipeline.catalogue import load_study, studies
from auxmc_pipeline.judging.verdicts import VERDICTS
from tests.pipeline import documentation
from tests.pipeline.conftest import Project

SMOKE = ("--config", "preset=smoke")


def _jobs(text: str) -> dict[str, int]:
    """Jobs by rule, from the table that a dry run prints."""
    table = text.partition("Job stats:")[2]
    return {name: int(count) for name, count in re.findall(r"^(\w+) +(\d+)$", table, re.M)}


def _planned(project: Project, *words: str) -> dict[str, int]:
    done = project.snakemake("-n", *words)
    return _jobs(done.stdout + done.stderr)


def _runs(jobs: dict[str, int]) -> set[str]:
    return set(jobs) - {"all", "total", *studies(), "figures", "claims", "report"}


def test_everything_declared_is_made(smoke: Project) -> None:
    for name in studies():
        study = load_study(name)
        results = smoke.folder / "results" / "smoke" / name
        for case in study.cases("smoke"):
            assert (results / f"{case.name}.nc").is_file()
        for figure in study.figures:
            for suffix in ("pdf", "png", "svg"):
                assert (smoke.folder / f"paper_figures/smoke/{name}/{figure}.{suffix}").stat().st_size > 3000
        verdicts = pd.read_csv(results / "claims.csv")["verdict"]
        assert set(verdicts) <= set(VERDICTS)
    assert not list((smoke.folder / "results").rglob(".*partial*"))
    assert not list((smoke.folder / ".checkpoints").rglob("*.npz"))


def test_the_report_is_one_page_with_every_figure_and_claim(smoke: Project) -> None:
    page = (smoke.folder / "results/smoke/report.html").read_text()
    for name in studies():
        study = load_study(name)
        for figure in study.figures:
            assert f'id="{name}-{figure}"' in page
        for claim in pd.read_csv(smoke.folder / f"results/smoke/{name}/claims.csv")["claim_id"]:
            assert f'id="{name}-{claim}"' in page
    assert not re.search(r'(src|href)="https?:', page)
    assert page.count("data:image/svg+xml") > page.count("data:image/png")


def test_no_check_of_a_claim_is_a_constant(smoke: Project) -> None:
    done = smoke.python("-m", "auxmc_pipeline.steps.check_claims", "smoke", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(int(n) for n in re.findall(r": (\d+) lines with an error", done.stdout)) > 300


def test_a_result_says_what_produced_it(smoke: Project) -> None:
    path = next((smoke.folder / "results/smoke/gaussian_latent").glob("*.nc"))
    attributes = xr.open_datatree(path, engine="h5netcdf").attrs
    for name in ("settings", "numbers", "code", "seed", "git_commit", "packages", "device", "threads"):
        assert attributes[name] != "", name
    for name in ("compile_s", "run_s", "wall_s", "peak_memory_mib", "memory_gib"):
        assert float(attributes[name]) >= 0
    assert int(attributes["n_cores"]) >= 1
    assert json.loads(attributes["settings"])["preset"] == "smoke"


def test_a_second_run_has_nothing_to_do(smoke: Project) -> None:
    assert "Nothing to be done" in smoke.snakemake("-n", *SMOKE).stdout


@pytest.mark.parametrize("preset", ["quick", "paper"])
def test_a_dry_run_of_every_preset_plans_every_case(smoke: Project, preset: str) -> None:
    jobs = _planned(smoke, "--config", f"preset={preset}")
    assert jobs["run_case"] == sum(len(load_study(name).cases(preset)) for name in studies())


def test_lint_is_clean(smoke: Project) -> None:
    done = smoke.snakemake("--lint", check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_figures_can_be_drawn_again_without_sampling(smoke: Project) -> None:
    figure = smoke.folder / "paper_figures/smoke/gp_probit/fig_3_11a.pdf"
    before = figure.read_bytes()
    shutil.rmtree(smoke.folder / "paper_figures/smoke/gp_probit")
    assert _runs(_planned(smoke, "figures", *SMOKE)) == {"draw_gp_probit"}
    smoke.snakemake("figures", *SMOKE)
    assert figure.read_bytes() == before


def test_a_comment_changes_nothing_and_code_changes_what_uses_it(smoke: Project) -> None:
    driver = smoke.folder / "src/auxmc/driver/chains.py"
    original = driver.read_text()
    try:
        driver.write_text(original + "\n# a remark\n")
        assert "Nothing to be done" in smoke.snakemake("-n", *SMOKE).stdout
        driver.write_text(original + "\nEXTRA = 1\n")
        assert _planned(smoke, *SMOKE)["run_case"] == sum(
            len(load_study(n).cases("smoke")) for n in studies()
        )
    finally:
        driver.write_text(original)


def test_code_of_one_study_leaves_the_other_alone(smoke: Project) -> None:
    run = smoke.folder / "experiments/gp_probit/run.py"
    original = run.read_text()
    try:
        run.write_text(original + "\nEXTRA = 1\n")
        jobs = _planned(smoke, *SMOKE)
        assert jobs["run_case"] == len(load_study("gp_probit").cases("smoke"))
    finally:
        run.write_text(original)


def test_figure_code_draws_figures_only(smoke: Project) -> None:
    figures = smoke.folder / "experiments/gp_probit/figures.py"
    original = figures.read_text()
    try:
        figures.write_text(original + "\nEXTRA = 1\n")
        assert _runs(_planned(smoke, *SMOKE)) == {"draw_gp_probit", "write_report"}
    finally:
        figures.write_text(original)


def test_resources_change_nothing_and_a_seed_changes_its_study(smoke: Project) -> None:
    conf = smoke.folder / "conf/study/gp_probit.yaml"
    original = conf.read_text()
    try:
        conf.write_text(original + "\nseed: 5\n")
        assert _planned(smoke, *SMOKE)["run_case"] == len(load_study("gp_probit").cases("smoke"))
    finally:
        conf.write_text(original)


def test_tables_from_other_settings_are_refused_when_results_are_gone(fresh: Project, smoke: Project) -> None:
    target = fresh.folder / "results/smoke/gaussian_latent"
    target.mkdir(parents=True)
    for table in ("summary", "curves"):
        source = smoke.folder / f"results/smoke/gaussian_latent/{table}.parquet"
        (target / f"{table}.parquet").write_bytes(source.read_bytes())
    conf = fresh.folder / "conf/study/gaussian_latent.yaml"
    words = ("-m", "auxmc_pipeline.steps.draw", "gaussian_latent", "smoke", "fig_3_2", "--tables")
    tables = [f"results/smoke/gaussian_latent/{table}.parquet" for table in ("summary", "curves")]
    fresh.python(*words, *tables, "--out", "f")
    conf.write_text(conf.read_text() + "\nseed: 5\n")
    done = fresh.python(*words, *tables, "--out", "g", check=False)
    assert done.returncode == 1
    assert "was made with other settings for" in done.stderr
    assert not (fresh.folder / "g").exists()


def test_a_sweep_gives_a_table_and_a_plot_and_leaves_the_study_alone(smoke: Project) -> None:
    summary = smoke.folder / "results/smoke/gaussian_latent/summary.parquet"
    before = summary.read_bytes()
    smoke.snakemake(
        "sweep",
        "--config",
        "preset=smoke",
        "study=gaussian_latent",
        "name=mine",
        "over=step_size=0.2,0.4 n_importance=1,2 n_draws=50",
    )
    folder = smoke.folder / "results/smoke/gaussian_latent/sweeps/mine"
    table = pd.read_csv(folder / "summary.csv")
    assert set(table["step_size"].dropna()) == {0.2, 0.4}
    assert set(table["n_importance"]) == {1, 2}
    assert {"quantity", "coordinate", "value", "standard_error", "unit"} <= set(table)
    assert len(list(folder.glob("*.nc"))) == 2, "step sizes run inside one program"
    assert (folder / "sweep.pdf").stat().st_size > 3000
    assert summary.read_bytes() == before


WRONG = [
    (
        ("--config", "preset=smok"),
        "unknown preset: 'smok'. Did you mean 'smoke'? Allowed: smoke, quick, paper",
    ),
    (("--config", "preste=smoke"), "unknown --config key 'preste'"),
    (
        ("sweep", "--config", "study=gp_probit", "name=a", "over=n_importanc=2"),
        "Did you mean 'n_importance'?",
    ),
    (
        ("sweep", "--config", "study=gp_probit", "name=a", "over=n_importance=0"),
        "n_importance must be between 1 and",
    ),
    (("sweep", "--config", "study=gp_probt", "name=a", "over=n_importance=1"), "Did you mean 'gp_probit'?"),
    (("sweep", "--config", "study=gp_probit", "name=a"), "target sweep needs --config over=..."),
    (("sweep", "--config", "study=gp_probit", "name=a", "over=data=none.csv"), "none.csv"),
    (("sweep", "--config", "study=gp_probit", "name=a", "over=method=pm_hm"), "Did you mean 'pm_mh'?"),
]


@pytest.mark.parametrize(("words", "message"), WRONG, ids=[m[:30] for _, m in WRONG])
def test_a_wrong_setting_is_refused_before_anything_runs(
    smoke: Project, words: tuple[str, ...], message: str
) -> None:
    done = smoke.snakemake(*words, check=False)
    assert done.returncode != 0
    assert message in done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr


def test_own_data_runs_and_wrong_data_leaves_nothing(smoke: Project) -> None:
    data = smoke.folder / "mine.csv"
    rows = [f"{0.1 * i % 1.3:.3f},{(i * 7) % 11},{'yes' if i % 3 else 'no'}" for i in range(24)]
    data.write_text("first,second,label\n" + "\n".join(rows) + "\n")
    words = [
        "-m",
        "auxmc_pipeline.steps.run",
        "study=gp_probit",
        "preset=smoke",
        "data=mine.csv",
        "n_draws=20",
        "n_chains=2",
    ]
    smoke.python(*words, "out=own/result.nc")
    tree = xr.open_datatree(smoke.folder / "own/result.nc", engine="h5netcdf")
    assert any("second" in str(c) for c in tree["posterior"]["coordinate"].values)
    rows[1] = "0.5,,no"
    data.write_text("first,second,label\n" + "\n".join(rows) + "\n")
    done = smoke.python(*words, "out=bad/result.nc", check=False)
    assert done.returncode == 2
    assert re.search(r"mine\.csv.*(line|row) 3.*second", done.stderr)
    assert not (smoke.folder / "bad").exists()


def test_a_matrix_of_observations_runs(smoke: Project) -> None:
    Path(smoke.folder / "matrix.csv").write_text("a,b\n1.0,2.0\n0.5,1.5\n0.1,0.9\n")
    smoke.python(
        "-m",
        "auxmc_pipeline.steps.run",
        "study=gaussian_latent",
        "preset=smoke",
        "data=matrix.csv",
        "out=own/matrix.nc",
    )
    tree = xr.open_datatree(smoke.folder / "own/matrix.nc", engine="h5netcdf")
    assert tree["statistics"].sizes["coordinate"] == 2


# What cannot run inside a test, each with the reason.
NOT_RUN = {
    "source .venv/bin/activate": "the copy runs in the environment of the tests",
    "snakemake --workflow-profile profiles/slurm --config preset=paper": "needs a cluster: test_slurm runs one",
}


@pytest.mark.parametrize(
    "shown", documentation.commands(), ids=lambda shown: f"{shown.page}: {shown.command[:60]}"
)
def test_a_command_of_the_documentation_runs(smoke: Project, shown: documentation.Shown) -> None:
    if shown.command in NOT_RUN:
        pytest.skip(NOT_RUN[shown.command])
    words = shlex.split(shown.command)
    if words[0] == "make":
        # Reproducing and testing from inside a test would not end: make says that the target exists and what it runs.
        shutil.copy(documentation.ROOT / "Makefile", smoke.folder)
        assert smoke.run("make", "-n", *words[1:]).stdout.strip()
        return
    if "preset=paper" in words:  # days: what is planned, with all settings checked
        words.append("-n")
    done = smoke.run(*words, check=False)
    if "hardware=gpu" in shown.command and jax.default_backend() == "cpu":
        assert done.returncode != 0
        assert "hardware=gpu" in done.stdout + done.stderr
        return
    assert done.returncode == 0, f"{shown.command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize("shown", documentation.snippets(), ids=lambda shown: shown.page)
def test_a_python_snippet_of_the_documentation_runs(smoke: Project, shown: documentation.Shown) -> None:
    # Extras, which the environment of the tests does not have.
    for name in ("numpyro", "pymc", "dask"):
        if re.search(rf"^(import|from) {name}\b", shown.command, re.M):
            pytest.importorskip(name)
    assert smoke.python("-c", shown.command).stdout.strip()
