"""Results that are kept in the repository: what was measured for every claim at a preset, and by which run."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from auxmc.driver.results import write_atomically
from auxmc_pipeline.catalogue import ROOT, Study, load_study, studies
from auxmc_pipeline.claims import Measurement
from auxmc_pipeline.judging.study_tables import claims_of
from auxmc_pipeline.judging.verdicts import verdict

__all__ = ["PUBLISHED", "Published", "published_presets", "read_published", "write_published"]

PUBLISHED = ROOT / "published"

_MEASURED = ["claim_id", "setting", "measured", "monte_carlo_error", "exact", "note"]


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
    """Presets whose results are kept, the one with the largest sizes first."""
    order = ["paper", "quick", "smoke"]
    return sorted((path.parent.name for path in folder.glob("*/run.json")), key=order.index)


def write_published(
    preset: str,
    judged: Mapping[str, pd.DataFrame],
    numbers: Mapping[str, pd.DataFrame],
    run: Mapping[str, Any],
    folder: Path = PUBLISHED,
) -> None:
    """Keeps what was measured; statements, bands and verdicts are not kept: `read_published` takes the present ones."""
    for study, table in judged.items():
        (folder / preset / study).mkdir(parents=True, exist_ok=True)
        for name, kept in (("claims.csv", table[_MEASURED]), ("numbers.csv", numbers[study])):
            write_atomically(folder / preset / study / name, partial(kept.to_csv, index=False))
    text = json.dumps(dict(run), indent=1) + "\n"
    write_atomically(folder / preset / "run.json", lambda path: path.write_text(text))


def read_published(preset: str, folder: Path = PUBLISHED) -> Published:
    """Reads what `write_published` kept, judged by the present bands; a line that is newer is not measured.

    Raises:
        FileNotFoundError: nothing of that preset is kept.
    """
    place = folder / preset
    run = json.loads((place / "run.json").read_text())
    judged = {name: _judged(load_study(name), place / name / "claims.csv") for name in studies()}
    numbers = {name: pd.read_csv(place / name / "numbers.csv") for name in studies()}
    return Published(preset, judged, numbers, run)


def _judged(study: Study, path: Path) -> pd.DataFrame:
    measured = pd.read_csv(path, dtype={"claim_id": str, "setting": str, "note": str}, keep_default_na=True)
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
