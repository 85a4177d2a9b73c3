"""The wheel has all that the library and its commands need, and works where no checkout is."""

import os
import shutil
import subprocess
import sys
import zipfile

import pytest

from auxmc_pipeline.catalogue import ROOT

pytestmark = pytest.mark.slow

EXAMPLES = ("decay.csv", "decay.py", "two_modes.py", "stream.csv")


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A folder with the examples; the unpacked wheel stands next to it."""
    folder = tmp_path_factory.mktemp("elsewhere")
    built = folder.parent / "built"
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", built]
    subprocess.run(command, cwd=ROOT, check=True)
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder.parent / "unpacked")
    for name in EXAMPLES:
        shutil.copy(ROOT / "docs" / "examples" / name, folder)
    return folder


def _auxmc(folder, *words):
    environment = os.environ | {"PYTHONPATH": str(folder.parent / "unpacked")}
    program = "import sys, auxmc.command_line; print(auxmc.__file__); sys.exit(auxmc.command_line.main())"
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "made"),
    [
        ("sample decay.py --data decay.csv --draws 40 --warm-up 40 --chains 2 --output a", "a/result.nc"),
        ("evidence two_modes.py --draws 30 --warm-up 30 --chains 2 --output b", "b/summary.csv"),
        ("stream --data stream.csv --model linear --output c", "c/record.parquet"),
    ],
)
def test_its_commands_run(elsewhere, words, made):
    done = _auxmc(elsewhere, *words.split())
    assert done.returncode == 0, done.stdout + done.stderr
    assert str(elsewhere.parent / "unpacked") in done.stdout.splitlines()[0]
    assert (elsewhere / made).is_file(), list(elsewhere.rglob("*"))


def test_what_needs_the_studies_says_so(elsewhere):
    done = _auxmc(elsewhere, "list")
    assert done.returncode == 2
    assert "is not inside a clone of the project" in done.stderr
    assert "Traceback" not in done.stderr
