"""All studies from start to end, and every command of the documentation, as a user runs them."""

import re
import shlex
import shutil

import jax
import pandas as pd
import pytest

from auxmc_pipeline.catalogue import ROOT, load_study, studies
from tests.pipeline.conftest import SMOKE, assert_all_is_made, planned

pytestmark = pytest.mark.slow


def test_everything_declared_is_made(smoke):
    for name in studies():
        assert_all_is_made(smoke, name)


def test_the_report_is_one_page_with_every_figure_and_claim(smoke):
    page = (smoke.folder / "results/smoke/report.html").read_text()
    for name in studies():
        study = load_study(name)
        for figure in study.figures:
            assert f'id="{name}-{figure}"' in page
        for claim in pd.read_csv(smoke.folder / f"results/smoke/{name}/claims.csv")["claim_id"]:
            assert f'id="{name}-{claim}"' in page
    assert not re.search(r'(src|href)="https?:', page)
    assert page.count("data:image/svg+xml") > page.count("data:image/png")


def test_no_check_of_a_claim_is_a_constant(smoke):
    done = smoke.python("-m", "auxmc_pipeline.steps.check_claims", "smoke", check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sum(int(n) for n in re.findall(r": (\d+) lines with an error", done.stdout)) > 100


@pytest.mark.parametrize("preset", ["quick", "paper"])
def test_a_dry_run_of_every_preset_plans_every_case(smoke, preset):
    jobs = planned(smoke, "--config", f"preset={preset}")
    assert jobs["run_case"] == sum(len(load_study(name).cases(preset)) for name in studies())


def test_code_of_one_study_leaves_the_other_alone(smoke):
    with smoke.changed("experiments/gp_probit/run.py", "\nEXTRA = 1\n"):
        jobs = planned(smoke, *SMOKE)
    assert jobs["run_case"] == len(load_study("gp_probit").cases("smoke"))


# README and the hand-written pages of the documentation.
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(ROOT.glob("docs/library/*.md"))]


def commands():
    """Every command of the console blocks, at smoke size and without remarks, and the first page that shows it."""
    found = {}
    for page in PAGES:
        for block in re.findall(r"(?ms)^```console\n(.*?)^```", page.read_text()):
            for command in re.split(r"\n| && ", re.sub(r"[ \t]+#.*$", "", block, flags=re.M)):
                if command.strip():
                    found.setdefault(at_smoke_size(command.strip()), page.name)
    return found


def at_smoke_size(command):
    """The same command with preset smoke, and with the files that this preset makes."""
    command = re.sub(r"\b(results/|paper_figures/)quick\b", r"\1smoke", command)
    words = shlex.split(command)
    if words[0] != "snakemake" or any(word.startswith("preset=") for word in words):
        return command
    if "--config" in words:
        return command.replace("--config ", "--config preset=smoke ", 1)
    return f"{command} --config preset=smoke"


COMMANDS = commands()
# The Python blocks of each page, which are one program from its top to its end.
BLOCKS = {page.name: re.findall(r"(?ms)^```python\n(.*?)^```", page.read_text()) for page in PAGES}
SNIPPETS = {name: "\n".join(blocks) for name, blocks in BLOCKS.items() if blocks}
# What cannot run inside a test, each with the reason.
NOT_RUN = {
    "source .venv/bin/activate": "the copy runs in the environment of the tests",
    "python -m auxmc_pipeline.steps.publish quick": "needs a finished run; test_publishing runs it",
    "python -m auxmc_pipeline.steps.restore paper": "writes results of another preset; test_publishing runs it",
    "snakemake --workflow-profile profiles/slurm --config preset=paper": "needs a cluster: test_slurm runs one",
}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: f"{COMMANDS[command]}: {command[:60]}")
def test_a_command_of_the_documentation_runs(smoke, command):
    if command in NOT_RUN:
        pytest.skip(NOT_RUN[command])
    words = shlex.split(command)
    if words[0] == "make":
        # Reproducing and testing from inside a test would not end: make says that the target exists and what it runs.
        shutil.copy(ROOT / "Makefile", smoke.folder)
        assert smoke.run("make", "-n", *words[1:]).stdout.strip()
        return
    if words[:2] == ["python", "-m"] and words[2].endswith((".publish", ".restore")):
        # They need results of the preset: see tests/unit/pipeline/test_publishing.py.
        words = [*words[:3], "--help"]
    if "preset=paper" in words:  # days: what is planned, with all settings checked
        words.append("-n")
    done = smoke.run(*words, check=False)
    if "hardware=gpu" in command and jax.default_backend() == "cpu":
        assert done.returncode != 0
        assert "hardware=gpu" in done.stdout + done.stderr
        return
    assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"


@pytest.mark.parametrize("page", SNIPPETS)
def test_a_python_snippet_of_the_documentation_runs(smoke, page):
    program = SNIPPETS[page]
    # Extras, which the environment of the tests does not have.
    for name in ("numpyro", "pymc", "dask"):
        if re.search(rf"^(import|from) {name}\b", program, re.M):
            pytest.importorskip(name)
    assert smoke.python("-c", program).stdout.strip()
