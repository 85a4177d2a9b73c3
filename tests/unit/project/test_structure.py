"""Rules about the project itself: layers, cheap imports, pinned versions."""

import ast
import graphlib
import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PACKAGES = ("auxmc", "auxmc_pipeline")

# What each layer of the library may import, besides itself.
ALLOWED = {
    "numerics": set(),
    "sampling": {"numerics"},
    "diagnostics": {"numerics"},
    "data": {"numerics"},
    "approximations": {"numerics"},
    "models": {"numerics", "approximations", "data"},
    "kernels": {"numerics", "models", "sampling"},
    "driver": {"numerics", "kernels"},
    "plots": {"numerics"},
    "interface": {
        "driver",
        "kernels",
        "models",
        "diagnostics",
        "sampling",
        "approximations",
        "numerics",
    },
    "command_line": {"interface", "driver", "kernels", "models", "diagnostics", "data", "plots", "numerics"},
}
# Contracts are the only things of the models that a kernel may know.
CONTRACTS = {f"auxmc.models.{name}" for name in ("estimator", "conditioned", "bridge", "row_model")}
# What the pipeline of studies may use of the library: how things are run, kept and drawn, never what is run.
USED_BY_PIPELINE = {"driver", "diagnostics", "numerics", "plots", "command_line"}
MOST_MODULES = 15

SOURCES = sorted(path for package in PACKAGES for path in (ROOT / "src" / package).rglob("*.py"))


def _module(path: Path) -> str:
    parts = path.relative_to(ROOT / "src").with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imports(path: Path) -> set[str]:
    """Modules that a file imports; a name that is itself a module counts as one."""
    modules = {_module(source) for source in SOURCES}
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & modules
            names |= inner or {node.module}
    return names


@pytest.mark.parametrize("path", SOURCES, ids=_module)
def test_imports_run_downward(path: Path) -> None:
    package, *layers = _module(path).split(".")
    names = _imports(path)
    assert not any(name.startswith("experiments") for name in names), (
        "only the catalogue loads studies, by name"
    )
    used = {name.split(".")[1] for name in names if name.startswith("auxmc.")}
    if package == "auxmc_pipeline":
        assert used <= USED_BY_PIPELINE
        return
    assert not any(name.startswith("auxmc_pipeline") for name in names)
    layer = layers[0] if layers else ""
    assert used - {layer} <= ALLOWED.get(layer, set())
    if layer == "kernels":
        assert {n for n in names if n.startswith("auxmc.models")} <= CONTRACTS


def test_no_imports_run_in_a_circle() -> None:
    order = graphlib.TopologicalSorter({_module(path): _imports(path) for path in SOURCES})
    order.prepare()  # raises CycleError, which names the circle
    assert order.is_active()


def test_no_folder_holds_too_many_modules() -> None:
    folders = Counter(path.parent for path in SOURCES if path.name != "__init__.py")
    too_many = {str(folder.relative_to(ROOT)): n for folder, n in folders.items() if n > MOST_MODULES}
    assert not too_many


def test_studies_do_not_import_each_other() -> None:
    studies = {path.parent.name for path in (ROOT / "experiments").glob("*/settings.py")}
    for study in studies:
        for path in (ROOT / "experiments" / study).rglob("*.py"):
            for name in _imports(path):
                parts = name.split(".")
                if parts[0] == "experiments" and len(parts) > 1 and parts[1] in studies:
                    assert parts[1] == study, f"{path} imports {name}"


def test_what_the_snakefile_imports_stays_cheap() -> None:
    code = (
        "import sys; from auxmc_pipeline.catalogue import load_study, studies\n"
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


def test_the_library_needs_its_own_dependencies_alone() -> None:
    """What the studies need is an extra; modules of extras are imported where they are used, if at all."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core = {re.split(r"[^\w-]", line)[0].replace("-", "_") for line in project["dependencies"]}
    studies = {
        re.split(r"[^\w-]", line)[0].replace("-", "_") for line in project["optional-dependencies"]["studies"]
    }
    assert "snakemake" in studies - core
    core |= {"cycler"}  # comes with matplotlib, as a part of its interface
    for path in SOURCES:
        if not _module(path).startswith("auxmc."):
            continue
        for node in ast.parse(path.read_text()).body:
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            others = {name.split(".")[0] for name in names} - sys.stdlib_module_names - {"auxmc"}
            assert others <= core, f"{path} imports {others - core}"


def test_commands_of_the_studies_say_what_they_lack() -> None:
    code = (
        "import sys; sys.modules['hydra'] = None\n"
        "from auxmc.command_line import main\n"
        "sys.exit(main(['list']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True
    )
    assert done.returncode == 1
    wanted = (
        "belongs to the studies, which need hydra: in a clone of the repository, `make setup` installs it"
    )
    assert done.stderr.strip() == f"auxmc: error: this command {wanted}"


def test_public_modules_declare_what_is_public() -> None:
    for path in SOURCES:
        if path.name != "__init__.py" and _module(path).startswith("auxmc."):
            assert "__all__" in path.read_text(), f"{path} has no __all__"


def test_conda_environment_has_the_versions_of_the_lock() -> None:
    lock = (ROOT / "requirements.lock").read_text()
    pins = re.findall(r"- ([\w-]+==[\w.]+)$", (ROOT / "workflow" / "envs" / "auxmc.yaml").read_text(), re.M)
    assert len(pins) > 5
    for pin in pins:
        assert re.search(rf"^{re.escape(pin)}\b", lock, re.M), pin


@pytest.mark.parametrize("name", ["requirements.lock", "benchmarks/requirements.lock"])
def test_lock_has_hashes_and_no_address(name: str) -> None:
    lock = (ROOT / name).read_text()
    entries = re.findall(
        r"^[a-z0-9.-]+(?:\[[a-z]+\])?==.*(?:\n    --hash=sha256:[0-9a-f]{64}.*)+", lock, re.M
    )
    assert len(entries) == len(re.findall(r"^[^\s#].*==", lock, re.M)) > 5
    assert "http" not in lock
    assert not re.search(r"^--", lock, re.M)


def test_every_installation_is_by_hashes_or_of_the_checkout_alone() -> None:
    """But for the environments of the newest versions and of the audit, which take what there is by purpose."""
    files = ["Makefile", "containers/Dockerfile", "containers/auxmc.def"]
    lines = [
        line for file in files for line in (ROOT / file).read_text().splitlines() if "pip install" in line
    ]
    assert len(lines) >= 8
    newest = ("\t$(VENV)-newest/", "\t@$(VENV)-audit/")
    for line in lines:
        own = "--no-deps --no-build-isolation --editable ." in line
        assert own or "--require-hashes -r" in line or line.startswith(newest), line
