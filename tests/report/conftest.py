"""A report of one study in a temporary folder, from synthetic results."""

import math
import re

import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure

from auxmc.driver.results import write_result
from auxmc.plots.style import save_figure
from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.judging.published import Published, read_published
from auxmc_pipeline.judging.study_tables import claims_of
from auxmc_pipeline.report import __main__ as command
from auxmc_pipeline.report import page as page_module
from auxmc_pipeline.tables import tabulate, write_tables
from tests.unit.pipeline.provenance import PROVENANCE

STUDY = "radon"
VERDICTS = {
    "CT-D03": "inconclusive",
    "CT-D06": "not reproduced",
    "CT-D08": "not measured",
    "CT-D09": "timing",
}


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    """Path of a report in a folder with everything that it links to."""
    root = tmp_path_factory.mktemp("project")
    for part in ("docs", "experiments", "src", "requirements.lock"):
        (root / part).symlink_to(ROOT / part)
    results = root / "results" / "quick" / STUDY
    results.mkdir(parents=True)
    claims = claims_of(load_study(STUDY)).assign(
        measured=1.0, monte_carlo_error=0.1, exact=False, note="a note"
    )
    claims["verdict"] = [VERDICTS.get(claim, "reproduced") for claim in claims["claim_id"]]
    claims.loc[claims["claim_id"] == "CT-D08", "measured"] = math.nan
    claims.to_csv(results / "claims.csv", index=False)
    texts = [ROOT / "docs" / "findings.md", ROOT / "experiments" / STUDY / "README.md"]
    names = {n for path in texts for n in re.findall(rf'number\("{STUDY}", "([^"]+)"\)', path.read_text())}
    numbers = pd.DataFrame({"name": sorted(names), "value": -1.0, "error": 0.5, "note": "", "exact": False})
    numbers.to_csv(results / "numbers.csv", index=False)
    about = {**PROVENANCE, "study": STUDY, "settings": {"preset": "quick"}, "git_dirty": "True"}
    statistics = xr.Dataset({"n_failures": 3.0, "log_evidence": -1081.0})
    write_result(results / "nuts.nc", {"statistics": statistics}, about)
    write_tables(results / "tables", tabulate([results / "nuts.nc"]))
    for name in load_study(STUDY).figures:
        figure = Figure(figsize=(4.0, 2.0), layout="constrained")
        figure.subplots().plot([0.0, 1.0], [1.0, 0.0])
        save_figure(figure, root / "paper_figures" / "quick" / STUDY / name, ("svg",))
    logs, tables = root / "logs" / "quick" / STUDY, results.parent / "tables"
    logs.mkdir(parents=True)
    (logs / "claims.benchmark.tsv").write_text("s\tmax_rss\tcpu_time\n0.4\t-\t-\n")
    tables.mkdir()
    for suffix in ("csv", "tex"):
        (tables / f"{STUDY}.{suffix}").touch()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setattr(page_module, "studies", lambda: [STUDY])
        assert command.main(["quick", "--out", "results/quick/report.html"]) == 0
    return root / "results" / "quick" / "report.html"


@pytest.fixture(scope="session")
def published_report(tmp_path_factory):
    """Path of a report of the published results of the study."""
    path = tmp_path_factory.mktemp("published") / "report.html"
    kept = read_published()
    of_study = [{STUDY: part[STUDY]} for part in (kept.judged, kept.numbers, kept.presets)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "read_published", lambda: Published(*of_study, kept.run_in_words))
        assert command.main(["published", "--out", str(path)]) == 0
    return path
