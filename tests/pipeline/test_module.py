"""The workflow as a module of another one: a Snakefile elsewhere takes one study, with settings of its own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]

OUTER = Path(__file__).with_name("outer.smk").read_text(encoding="utf-8")


def _dry_run(folder, text):
    (folder / "Snakefile").write_text(text)
    hidden = ("PYTEST", "SNAKEMAKE", "JAX", "XLA", "PYTHONPATH")  # what a user elsewhere does not have
    return subprocess.run(
        [sys.executable, "-m", "snakemake", "--dry-run", "--printshellcmds"],
        cwd=folder,
        env={k: v for k, v in os.environ.items() if not k.startswith(hidden)},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("folder", ["", "studies/"])
def test_a_workflow_elsewhere_takes_one_study_with_its_own_settings(tmp_path, folder):
    prefix = f'prefix: "{folder.rstrip("/")}"' if folder else ""
    done = _dry_run(tmp_path, OUTER.format(root=ROOT, folder=folder, prefix=prefix))
    assert done.returncode == 0, done.stdout + done.stderr
    plan = done.stdout + done.stderr
    assert "auxmc_run_case" in plan
    assert f"PYTHONPATH={ROOT}/src:{ROOT} " in plan
    for n_chains in (2, 3):
        assert f"n_chains={n_chains} out={folder}results/smoke/radon/sweeps/mine/" in plan
    assert f"--out {folder}paper_figures/smoke/radon " in plan
    # Of the other studies nothing is made, and nothing of the first run is taken from the project's own folder.
    assert "study=boltzmann" not in plan
    assert f"{ROOT}/results" not in plan


def test_a_wrong_setting_of_a_module_is_rejected_by_name(tmp_path):
    text = OUTER.format(root=ROOT, folder="", prefix="").replace("n_chains=2,3", "n_chain=2")
    done = _dry_run(tmp_path, text)
    assert done.returncode != 0
    assert "Did you mean 'n_chains'?" in done.stdout + done.stderr
