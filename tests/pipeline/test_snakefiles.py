"""Snakefiles: rules are linted without the packages of the studies, and another workflow takes a study of ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OUTER = Path(__file__).with_name("outer.smk").read_text(encoding="utf-8")


def run(folder, *words):
    """Exit status and output, without what a user elsewhere does not have in the environment."""
    hidden = ("PYTEST", "SNAKEMAKE", "JAX", "XLA", "PYTHONPATH")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(hidden)}
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_rules_are_linted_with_snakemake_alone():
    code = "import sys; sys.modules['hydra'] = None; from snakemake.cli import main; main(sys.argv[1:])"
    status, said = run(ROOT, "-c", code, "--lint")
    assert status == 0, said
    assert "your workflow is in a good condition" in said


@pytest.mark.slow
def test_the_workflow_plans_everything_by_default(tmp_path):
    words = ("--snakefile", str(ROOT / "workflow" / "Snakefile"), "--config", "preset=smoke")
    status, plan = run(tmp_path, "-m", "snakemake", "-n", *words)
    assert status == 0, plan
    for job in ("report.html", "nuts.nc", "claims.csv", "fig_5_6.svg"):
        assert job in plan


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["", "studies/"])
def test_a_workflow_elsewhere_takes_one_study_with_its_own_settings(tmp_path, folder):
    prefix = f'prefix: "{folder.rstrip("/")}"' if folder else ""
    (tmp_path / "Snakefile").write_text(OUTER.format(root=ROOT, folder=folder, prefix=prefix))
    status, plan = run(tmp_path, "-m", "snakemake", "-n", "-p")
    assert status == 0, plan
    assert "auxmc_run_case" in plan
    assert f"PYTHONPATH={ROOT}/src:{ROOT} " in plan
    for n_chains in (2, 3):
        assert f"n_chains={n_chains} out={folder}results/smoke/radon/sweeps/mine/" in plan
    assert f"--out {folder}paper_figures/smoke/radon " in plan
    # Of the other studies nothing is made, and nothing of the first run is taken from the project's own folder.
    assert "study=boltzmann" not in plan
    assert f"{ROOT}/results" not in plan


@pytest.mark.slow
def test_a_wrong_setting_of_a_module_is_rejected_by_name(tmp_path):
    text = OUTER.format(root=ROOT, folder="", prefix="").replace("n_chains=2,3", "n_chain=2")
    (tmp_path / "Snakefile").write_text(text)
    status, said = run(tmp_path, "-m", "snakemake", "-n", "-p")
    assert status != 0
    assert "Did you mean 'n_chains'?" in said
