"""What the packages need, and that locks, environments and metadata agree."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

import auxmc

ROOT = Path(__file__).parents[3]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")


def run(code):
    environment = {"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def test_what_the_snakefile_imports_stays_cheap():
    done = run(
        "import sys; from auxmc_pipeline.catalogue import load_study, studies\n"
        "for name in studies(): load_study(name).cases('smoke')\n"
        "heavy = {'jax', 'pandas', 'arviz_stats', 'matplotlib', 'xarray', 'scipy'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    assert done.returncode == 0, done.stderr


def test_commands_of_the_studies_say_what_they_lack():
    without = "import sys; sys.modules['hydra'] = None; from auxmc.command_line import main; "
    done = run(f"{without}sys.exit(main(['list']))")
    assert done.returncode == 1
    wanted = "this command needs hydra: run `make setup` in a clone of the repository"
    assert done.stderr.strip() == f"auxmc: error: {wanted}"


def test_version_is_that_of_the_installed_package_in_all_files():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert auxmc.__version__ == version("auxmc") == citation["version"]


def test_environment_of_rules_has_the_packages_of_studies_in_the_versions_of_the_lock():
    text = (ROOT / "workflow" / "envs" / "auxmc.yaml").read_text(encoding="utf-8")
    pins = re.findall(r"- ([\w-]+)==([\w.]+)$", text, re.M)
    assert [pin for pin in pins if not re.search(rf"^{pin[0]}=={re.escape(pin[1])}\b", LOCK, re.M)] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = project["dependencies"] + project["optional-dependencies"]["studies"]
    assert {re.split(r"[^\w-]", line)[0] for line in needed} <= {name for name, _ in pins}


@pytest.mark.parametrize(
    "name", ["requirements.lock", "benchmarks/requirements.lock", "profiles/slurm/requirements.lock"]
)
def test_lock_is_of_hashes_alone(name):
    """`pip install --require-hashes` checks the rest."""
    lock = (ROOT / name).read_text(encoding="utf-8")
    assert "--hash=sha256:" in lock
    assert "://" not in lock
