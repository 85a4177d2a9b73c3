"""The documentation builds, its names and commands exist, and its examples run."""

import importlib
import os
import pkgutil
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

from auxmc_pipeline.catalogue import load_study, studies

ROOT = Path(__file__).parents[3]
SAMPLERS = (ROOT / "docs" / "samplers.md").read_text(encoding="utf-8")
# What a reader puts in place of a file of their own, by study.
OWN_DATA = {
    "gp_probit": ["data=docs/examples/labelled.csv", "label=class"],
    "boltzmann": ["data=docs/examples/boltzmann.csv"],
}


# Commands that run a case or a sweep in the notes of the studies, where they are indented.
NOTES = "\n".join(page.read_text() for page in sorted((ROOT / "experiments").glob("*/README.md")))
STEP = r"(?m)^    ((?:python -m auxmc_pipeline\.steps\.run|snakemake) .*?)(?:\s+#.*)?$"
COMMANDS = re.findall(STEP, re.sub(r" \\\n +", " ", NOTES))


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[:70])
def test_a_command_of_the_notes_has_valid_settings(command):
    words = shlex.split(command)
    if words[:2] == ["snakemake", "sweep"]:
        given = dict(word.split("=", 1) for word in words[words.index("--config") + 1 :])
        assert load_study(given["study"]).sweep("smoke", shlex.split(given["over"]))
    elif words[0] == "snakemake":
        assert words[1] in studies()
    else:
        study = load_study(next(word.removeprefix("study=") for word in words if word.startswith("study=")))
        given = [word for word in words[3:] if not word.startswith(("study=", "out="))]
        known = set(study.schema.__dataclass_fields__)
        assert {word.split("=")[0].split(".")[0] for word in given} <= known
        if "prior=published" in given:  # a file of others, which this machine may not have
            return
        if not any(word in command for word in ("my.csv", "FILE")):
            assert study.settings(given)
        elif study.name in OWN_DATA:
            assert study.settings(OWN_DATA[study.name])


@pytest.mark.parametrize("package", ["auxmc", "auxmc.kernels", "auxmc.diagnostics"])
def test_a_public_name_is_no_module_and_is_described(package):
    """A submodule of the same name would take its place once it is imported."""
    found = importlib.import_module(package)
    submodules = {one.name for one in pkgutil.iter_modules(found.__path__)}
    assert len(set(found.__all__)) == len(found.__all__) > 25
    assert set(found.__all__) <= set(dir(found))
    for name in found.__all__:
        assert name not in submodules - {"diagnostics", "errors", "kernels"}, name
        assert getattr(found, name).__doc__, name
    with pytest.raises(AttributeError, match=f"module '{package}' has no attribute 'no_such_name'"):
        found.no_such_name  # noqa: B018


def test_every_name_of_the_page_can_be_imported():
    names = set(re.findall(r"`(auxmc(?:\.\w+)+\.\w+)`", SAMPLERS))
    assert len(names) > 50
    for name in names:
        module, _, last = name.rpartition(".")
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(module), last), name


@pytest.mark.slow
def test_the_examples_of_the_page_run_and_are_right():
    printed = []
    names = {"print": lambda *values: printed.append(values)}
    blocks = re.findall(r"^```python\n(.*?)^```", SAMPLERS, re.M | re.S)
    # As a reader runs them.
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        for block in blocks:
            exec(compile(block, "docs/samplers.md", "exec"), names)
    assert len(printed) == len(blocks) - 1, "all but the first, which makes ready, print"
    for what, found, exact, value, *_ in printed:
        assert exact == "exact"
        np.testing.assert_allclose(found, value, rtol=0.02, atol=0.1, err_msg=what)


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    source = tmp_path / "docs"
    made = shutil.ignore_patterns("_build", "api", "auto_tutorials", "studies")
    shutil.copytree(ROOT / "docs", source, ignore=made)
    shutil.copy(ROOT / "CONTRIBUTING.md", tmp_path)
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", str(source), str(tmp_path / "site")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-6000:]
    page = (tmp_path / "site" / "api" / "auxmc.kernels.tempering.continuous_tempering.html").read_text()
    assert "gibbs_continuous_tempering" in page
    assert "Algorithm 14" in page
    for script in (ROOT / "docs" / "tutorials").glob("*.py"):
        shown = (tmp_path / "site" / "auto_tutorials" / f"{script.stem}.html").read_text()
        assert "exact" in "".join(re.findall(r"sphx-glr-script-out.*?</pre>", shown, re.S)), script.stem
        assert f"sphx_glr_{script.stem}_001" in shown, script.stem
