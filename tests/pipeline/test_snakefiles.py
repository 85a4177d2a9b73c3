"""Both Snakefiles plan the same jobs, and their rules can be linted without the packages of the studies."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*words):
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "SNAKEMAKE"))}
    done = subprocess.run([sys.executable, *words], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("snakefile", ["Snakefile", "workflow/Snakefile"])  # the first includes the second
def test_a_snakefile_plans_everything_by_default(snakefile, tmp_path):
    words = ("--snakefile", snakefile, "--directory", str(tmp_path), "--config", "preset=smoke")
    plan = run("-m", "snakemake", "-n", *words)
    for job in ("report.html", "nuts.nc", "claims.csv", "fig_5_6.svg"):
        assert job in plan


def test_rules_are_linted_with_snakemake_alone():
    code = "import sys; sys.modules['hydra'] = None; from snakemake.cli import main; main(sys.argv[1:])"
    assert "your workflow is in a good condition" in run("-c", code, "--lint")
