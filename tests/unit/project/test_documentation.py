"""The documentation builds, and a warning is an error."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    source = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", source, ignore=shutil.ignore_patterns("_build", "api", "auto_tutorials"))
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
