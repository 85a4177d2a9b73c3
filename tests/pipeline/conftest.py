"""A copy of the project in a temporary folder, in which the workflow runs for real."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = (
    "conf",
    "experiments",
    "profiles",
    "src",
    "workflow",
    "Snakefile",
    "pyproject.toml",
    "requirements.lock",
)

Command = Callable[..., subprocess.CompletedProcess[str]]


class Project:
    """A working copy; `snakemake(...)` and `python(...)` run in it and return the finished process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in PARTS:
            source = ROOT / part
            if source.is_dir():
                shutil.copytree(source, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder / part)
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "SNAKEMAKE", "JAX"))},
            "PYTHONPATH": f"{folder / 'src'}:{folder}",
        }

    def run(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=600
        )
        if check:
            assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
        return done

    def python(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.run(sys.executable, *words, check=check)

    def snakemake(self, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return self.python("-m", "snakemake", *words, check=check)

    def edit(self, file: str, old: str, new: str) -> None:
        path = self.folder / file
        text = path.read_text()
        assert old in text, f"{file} does not hold {old!r}"
        path.write_text(text.replace(old, new))


@pytest.fixture(scope="session")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """A copy in which `snakemake --config preset=smoke` has run from start to end."""
    project = Project(tmp_path_factory.mktemp("project") / "auxmc")
    project.snakemake("--config", "preset=smoke")
    return project


@pytest.fixture
def fresh(tmp_path: Path) -> Project:
    """A copy in which nothing has run."""
    return Project(tmp_path / "auxmc")
