"""Results that are kept in the repository: what was measured for every claim at a preset, and by which run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from auxmc.driver.results import write_atomically
from auxmc_pipeline.catalogue import ROOT, Study, load_study, studies
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.judging.study_tables import claims_of
from auxmc_pipeline.judging.verdicts import verdict

__all__ = ["MEASURED", "PUBLISHED", "Published", "published_presets", "read_published", "write_run"]

PUBLISHED = ROOT / "published"

RUN = "run.json"
# Columns of claims.csv as it is kept.
MEASURED = ["claim_id", "setting", "measured", "monte_carlo_error", "exact", "note"]


class Published(NamedTuple):
    """Results of a preset.

    Attributes:
        preset: the preset.
        judged: claims of each study with verdicts, as `auxmc_pipeline.judging.verdicts.judge` returns them.
        numbers: numbers of each study's findings, as `judging.study_tables.measure_numbers` returns them.
        run: which run it was: `commit`, `created` (date of the newest result), `processor`, `n_cores`.
    """

    preset: str
    judged: Mapping[str, pd.DataFrame]
    numbers: Mapping[str, pd.DataFrame]
    run: Mapping[str, Any]

    @property
    def run_in_words(self) -> str:
        """Which run it was, for readers."""
        return (
            f"preset {self.preset}, version {str(self.run['commit'])[:7]}, {str(self.run['created'])[:10]}, "
            f"{self.run['n_cores']} cores of {self.run['processor']}"
        )


def published_presets(folder: Path = PUBLISHED) -> list[str]:
    """Presets of which a whole run is kept, the one with the largest sizes first."""
    order = ["paper", "quick", "smoke"]
    return sorted((path.parent.name for path in folder.glob(f"*/{RUN}")), key=order.index)


def write_run(place: Path, run: Mapping[str, Any]) -> None:
    """Says which run the results in a folder are of."""
    text = json.dumps(dict(run), indent=1) + "\n"
    write_atomically(place / RUN, lambda path: path.write_text(text))


def read_published(preset: str, folder: Path = PUBLISHED) -> Published:
    """Reads what is kept, judged by the present bands; a line that is newer, or of a study not run, is not measured.

    Statements, bands and verdicts are not kept.

    Raises:
        FileNotFoundError: no whole run at that preset is kept.
    """
    place = folder / preset
    run = json.loads((place / RUN).read_text())
    judged = {name: _judged(load_study(name), place / name / "claims.csv") for name in studies()}
    numbers = {name: _numbers(place / name / "numbers.csv") for name in studies()}
    return Published(preset, judged, numbers, run)


def _numbers(path: Path) -> pd.DataFrame:
    return (
        pd.read_csv(path)
        if path.is_file()
        else pd.DataFrame(columns=["name", "value", "error", "note", "exact"])
    )


def _judged(study: Study, path: Path) -> pd.DataFrame:
    measured = pd.DataFrame(columns=MEASURED)
    if path.is_file():
        measured = pd.read_csv(path, dtype={"claim_id": str, "setting": str, "note": str})
    table = claims_of(study).merge(measured, on=["claim_id", "setting"], how="left", validate="1:1")
    table["exact"] = table["exact"].fillna(value=False).astype(bool)
    table["note"] = table["note"].fillna("")
    table["verdict"] = [
        verdict(
            Measurement(float(row["measured"]), float(row["monte_carlo_error"]), exact=bool(row["exact"])),
            float(row["low"]),
            float(row["high"]),
            str(row["kind"]),
        )
        for row in table.to_dict("records")
    ]
    return table
