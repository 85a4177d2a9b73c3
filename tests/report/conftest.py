"""A report of one study in a temporary folder, made from results that are made up."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure

from auxmc.driver.results import write_result, write_table
from auxmc.plots.style import save_figure
from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.judging.published import Published, read_published
from auxmc_pipeline.judging.study_tables import claims_of
from auxmc_pipeline.report import __main__ as command
from auxmc_pipeline.report import sources
from auxmc_pipeline.steps import export_tables

STUDY = "radon"
BITMAP = "fig_methods"
# Verdicts that the made-up results have; the claim that fails is one that the findings speak of.
VERDICTS = {
    "CT-D03": "inconclusive",
    "CT-D08": "not measured",
    "CT-D06": "not reproduced",
    "CT-D09": "timing",
}


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a report; everything that it links to stands around it."""
    root = tmp_path_factory.mktemp("project")
    for part in ("conf", "docs", "experiments", "src", "requirements.lock"):
        (root / part).symlink_to(ROOT / part)
    results = root / "results" / "quick" / STUDY
    _claims(results)
    _figures(root / "paper_figures" / "quick" / STUDY)
    _result(results / "nuts.nc")
    rows = [("nuts", "n_failures", "iterations", 3.0), ("nuts", "log_evidence", "nats", -1081.0)]
    columns = ["case", "quantity", "unit", "value"]
    _numbers().to_csv(results / "numbers.csv", index=False)
    write_table(results / "summary.parquet", pd.DataFrame(rows, columns=columns))
    logs = root / "logs" / "quick" / STUDY
    logs.mkdir(parents=True)
    names, job = "s\th:m:s\tmax_rss\tcpu_time", "14.0\t0:00:14\t672.0\t9.9"
    (logs / "nuts.benchmark.tsv").write_text(f"{names}\n{job}\n")
    (logs / "claims.benchmark.tsv").write_text(f"{names}\n0.4\t0:00:00\t-\t-\n")
    out = root / "results" / "quick" / "report.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        for module in (export_tables, sources):
            patch.setattr(module, "studies", lambda: [STUDY])
        assert export_tables.main(["quick", "--out", "results/quick/tables"]) == 0
        assert command.main(["quick", "--out", "results/quick/report.html"]) == 0
    for case in load_study(STUDY).cases("quick"):
        # Cases without a result file are named by the page too.
        (results / f"{case.name}.nc").touch()
    return out


@pytest.fixture(scope="session")
def published_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Path of a report on what the repository keeps of the study."""
    root = tmp_path_factory.mktemp("published")
    kept = read_published()
    of_study = [{STUDY: part[STUDY]} for part in (kept.judged, kept.numbers, kept.presets)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "read_published", lambda: Published(*of_study, kept.run_in_words))
        assert command.main(["published", "--out", str(root / "report.html")]) == 0
    return root / "report.html"


def _claims(folder: Path) -> None:
    folder.mkdir(parents=True)
    table = claims_of(load_study(STUDY))
    table["verdict"] = [VERDICTS.get(claim, "reproduced") for claim in table["claim_id"]]
    table["measured"] = np.where(table["claim_id"] == "CT-D08", math.nan, 1.0)
    table["monte_carlo_error"] = 0.1
    table["exact"] = False
    table["note"] = "a note"
    table.to_csv(folder / "claims.csv", index=False)


def _numbers() -> pd.DataFrame:
    """Every number that the findings of the study name."""
    text = (ROOT / "experiments" / STUDY / "README.md").read_text()
    text += (ROOT / "docs" / "findings.md").read_text()
    asked = sorted(set(re.findall(rf'number\(\s*"{STUDY}", "([^"]+)"\)', text)))
    return pd.DataFrame({"name": asked, "value": -1.0, "error": 0.5, "note": "", "exact": False})


def _figures(folder: Path) -> None:
    for name in load_study(STUDY).figures:
        figure = Figure(figsize=(4.0, 2.0), layout="constrained")
        figure.subplots().plot([0.0, 1.0], [1.0, 0.0])
        save_figure(figure, folder / name, ("pdf", "png") if name == BITMAP else ("pdf", "png", "svg"))


def _result(path: Path) -> None:
    attributes = {
        "study": STUDY,
        "case": "nuts",
        "settings": json.dumps({"preset": "quick"}),
        "numbers": "0123456789abcdef",
        "code": "fedcba9876543210",
        "seed": 20170717,
        "created": "2026-11-21T22:04:55+00:00",
        "git_commit": "d" * 40,
        "git_dirty": "True",
        "packages": {"jax": "0.10.2"},
        "processor": "A processor",
        "n_cores": 2,
        "memory_gib": 23.4,
        "device": "cpu",
        "platform": "Linux",
        "python": "3.11.7",
        "wall_s": 13.2,
        "compile_s": 6.0,
        "run_s": 5.2,
        "cpu_s": 12.8,
        "peak_memory_mib": 809.0,
    }
    write_result(path, {"statistics": xr.Dataset({"log_evidence": -1081.0})}, attributes)
