"""Rules about the project itself: layers, cheap imports, pinned versions."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src" / "auxmc"

# What each layer may import, besides itself.
ALLOWED = {
    "numerics": set(),
    "sampling": {"numerics"},
    "diagnostics": {"numerics"},
    "data": set(),
    "approximations": {"numerics"},
    "models": {"numerics", "approximations", "data"},
    "kernels": {"numerics", "models", "sampling"},
    "engine": {"kernels"},
    "plots": set(),
    "command_line": {"engine", "kernels", "models", "diagnostics", "data", "numerics"},
}


def _imports(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_run_downward(path: Path) -> None:
    layer = path.relative_to(SOURCE).parts[0]
    names = _imports(path)
    assert not any(name.startswith("experiments") for name in names), "auxmc must not import experiments"
    used = {name.split(".")[1] for name in names if name.startswith("auxmc.")} - {layer}
    assert used <= ALLOWED.get(layer, set())
    if layer == "kernels":
        # Contracts are the only things of the models that a kernel may know.
        contracts = {f"auxmc.models.{name}" for name in ("estimator", "conditioned", "bridge", "row_model")}
        assert {n for n in names if n.startswith("auxmc.models")} <= contracts


def test_studies_do_not_import_each_other() -> None:
    studies = {path.parent.name for path in (ROOT / "experiments").glob("*/settings.py")}
    for study in studies:
        for path in (ROOT / "experiments" / study).glob("*.py"):
            for name in _imports(path):
                parts = name.split(".")
                if parts[0] == "experiments" and len(parts) > 1 and parts[1] in studies:
                    assert parts[1] == study, f"{path} imports {name}"


def test_what_the_snakefile_imports_stays_cheap() -> None:
    code = (
        "import sys; from experiments.catalogue import load_study, studies\n"
        "for name in studies(): load_study(name).cases('smoke')\n"
        "heavy = {'jax', 'pandas', 'arviz_stats', 'matplotlib', 'xarray', 'scipy'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_public_modules_declare_what_is_public() -> None:
    for path in sorted(SOURCE.rglob("*.py")) + sorted((ROOT / "experiments").rglob("*.py")):
        if path.name != "__init__.py":
            assert "__all__" in path.read_text(), f"{path} has no __all__"


def test_conda_environment_has_the_versions_of_the_lock() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    pins = re.findall(r"- ([\w-]+==[\w.]+)$", (ROOT / "workflow" / "envs" / "auxmc.yaml").read_text(), re.M)
    assert len(pins) > 5
    for pin in pins:
        assert re.search(rf"^{re.escape(pin)}\b", lock, re.M), pin


def test_lock_has_hashes_and_no_address() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    entries = re.findall(r"^[a-z0-9-]+==.*(?:\n    --hash=sha256:[0-9a-f]{64}.*)+", lock, re.M)
    assert len(entries) == len(re.findall(r"^[a-z0-9-]+==", lock, re.M))
    assert "http" not in lock
