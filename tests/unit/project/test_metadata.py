"""What stands in several files because others read it there: version, licence, keywords, packages, checks."""

import datetime
import json
import re
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import auxmc
from scripts import release

ROOT = Path(__file__).parents[3]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CITATION: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text())
CODEMETA: dict[str, Any] = json.loads((ROOT / "codemeta.json").read_text())


def test_the_version_is_that_of_the_installed_package() -> None:
    assert auxmc.__version__ == PROJECT["version"], "the environment is older than pyproject.toml: make setup"
    assert "__version__ =" not in (ROOT / "src/auxmc/__init__.py").read_text()
    with pytest.raises(AttributeError, match="no attribute 'versoin'"):
        _ = auxmc.versoin


def test_citation_and_codemeta_say_what_the_package_says() -> None:
    assert CITATION["version"] == CODEMETA["version"] == PROJECT["version"]
    assert CITATION["license"] == PROJECT["license"]
    assert CODEMETA["license"].rsplit("/", 1)[1] == PROJECT["license"]
    assert CODEMETA["name"] == PROJECT["name"]
    assert CODEMETA["description"] == PROJECT["description"]
    assert CODEMETA["keywords"] == PROJECT["keywords"]
    assert CODEMETA["runtimePlatform"] == f"Python {PROJECT['requires-python']}"
    assert [author["name"] for author in CODEMETA["author"]] == [a["name"] for a in CITATION["authors"]]
    assert {work["name"] for work in CODEMETA["referencePublication"]} == {
        reference["title"] for reference in CITATION["references"]
    }


def test_a_version_has_a_date_once_it_is_released() -> None:
    version, note = re.findall(r"^## (\S+)(?: \((.+)\))?$", (ROOT / "CHANGELOG.md").read_text(), re.M)[0]
    assert version == PROJECT["version"]
    if note == "unreleased":
        assert "date-released" not in CITATION
    else:
        assert CITATION["date-released"] == datetime.date.fromisoformat(note)


def test_the_packages_are_typed() -> None:
    for package in PROJECT["name"], "auxmc_pipeline":
        assert (ROOT / "src" / package / "py.typed").is_file()


def _name(requirement: str) -> str:
    return canonicalize_name(Requirement(requirement).name)


def test_the_environment_of_rules_has_every_package_that_studies_need() -> None:
    extras = PROJECT["optional-dependencies"]
    needed = {_name(line) for line in PROJECT["dependencies"] + extras.get("studies", [])}
    environment = yaml.safe_load((ROOT / "workflow/envs/auxmc.yaml").read_text())
    listed = next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))
    assert needed <= {_name(pin) for pin in listed}


def test_containers_and_environments_install_the_lock() -> None:
    for file in ("containers/Dockerfile", "containers/auxmc.def"):
        text = (ROOT / file).read_text()
        assert "--no-deps --require-hashes -r requirements.lock" in text, file
        assert "--no-deps --no-build-isolation" in text, file
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert {"pip": ["-r requirements.lock"]} in environment["dependencies"]
    json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())


def test_the_lock_has_all_that_its_packages_need() -> None:
    """It is installed as it is: nothing looks for what is missing."""
    lines = re.findall(r"^\w.*==[^\\]*", (ROOT / "requirements.lock").read_text(), re.M)
    pins = [pin for pin in map(Requirement, lines) if pin.marker is None or pin.marker.evaluate()]
    here = {str(canonicalize_name(pin.name)): pin for pin in pins}
    assert len(here) > 100
    extras = PROJECT["optional-dependencies"]
    own = [*PROJECT["dependencies"], *extras["studies"], *extras["dev"]]
    needs = [("auxmc", line) for line in own if _name(line) != "auxmc"]
    needs += [(name, line) for name in here for line in requires(name) or []]
    for name, line in needs:
        needed = Requirement(line)
        asked_for = here[name].extras if name in here else set()
        if needed.marker is None or any(
            needed.marker.evaluate({"extra": extra}) for extra in {"", *asked_for}
        ):
            pin = here.get(canonicalize_name(needed.name))
            assert pin is not None, f"{name} needs {line}"
            version = next(iter(pin.specifier)).version
            assert needed.specifier.contains(version, prereleases=True), f"{name} needs {line}, not {pin}"
            # A package and the same one with extras are two for an installer that decides on versions itself.
            assert needed.extras <= pin.extras or name == "auxmc", f"{name} needs {line}, not {pin}"


WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_of_the_forge_pins_actions_and_asks_for_little(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {}, "each job says what it may do"
    for name, job in workflow["jobs"].items():
        assert "permissions" in job, name
        assert "timeout-minutes" in job, name
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"]), step["uses"]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    called = set(re.findall(r"\bmake ([a-z-]+)", path.read_text(encoding="utf-8"))) | {
        target
        for job in workflow["jobs"].values()
        for target in job.get("strategy", {}).get("matrix", {}).get("target", [])
    }
    assert called <= targets


def test_hooks_of_a_commit_do_what_make_check_does() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"][0]["hooks"]
    words = [hook["entry"].replace(" --force-exclude", "").removeprefix(".venv/bin/") for hook in hooks]
    rule = re.search(r"^check:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.M)
    assert rule is not None
    checked = [line.strip().removeprefix("$(RUN)/").removesuffix(" .") for line in rule[1].splitlines()]
    assert words == checked


@pytest.mark.parametrize(
    ("heading", "problem"),
    [
        ("## 1.2.0 (2026-01-31)", ""),
        ("## 1.2.0 (unreleased)", "## 1.2.0 (unreleased)"),
        ("## 1.1.0 (2026-01-31)", "## 1.1.0 (2026-01-31)"),
    ],
)
def test_a_release_needs_a_dated_heading_of_its_version(heading: str, problem: str) -> None:
    assert release._undated(f"# Changelog\n\n{heading}\n\n- A line.\n", "1.2.0") == problem


def test_a_step_of_a_release_is_open_if_its_command_fails() -> None:
    assert release._failed(sys.executable, "-c", "raise SystemExit(3)") == "exit status 3"
    assert release._failed(sys.executable, "-c", "print('fine')") == ""
