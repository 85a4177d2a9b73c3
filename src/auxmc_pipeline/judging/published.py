"""Results that are kept in the repository: what was measured for every claim, and by which runs."""

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from auxmc_pipeline.catalogue import Study, load_study, studies
from auxmc_pipeline.checksums import check_kept
from auxmc_pipeline.jobs import PUBLISHED, read_jobs
from auxmc_pipeline.judging.study_tables import claims_of
from auxmc_pipeline.judging.verdicts import verdict_of_line
from auxmc_pipeline.settings import PRESETS

# Columns of claims.csv as it is kept; low and high are the bands of that time.
MEASURED = ["claim_id", "setting", "low", "high", "measured", "monte_carlo_error", "exact", "note"]


class Published(NamedTuple):
    """Results of all studies."""

    # Claims of each study with verdicts, as `auxmc_pipeline.judging.verdicts.judge` returns them.
    judged: Mapping[str, pd.DataFrame]
    # Numbers of each study's findings, as `judging.study_tables.measure_numbers` returns them.
    numbers: Mapping[str, pd.DataFrame]
    presets: Mapping[str, str]  # preset of each study's results
    run_in_words: str  # which runs these are, for readers


def published_presets(folder: Path = PUBLISHED, file: str = "claims.csv") -> list[str]:
    """Presets of which such a file of a study is kept, by default a finished one, the largest sizes first."""
    return [preset for preset in reversed(PRESETS) if any(folder.glob(f"{preset}/*/{file}"))]


def read_published(preset: str | None = None, folder: Path = PUBLISHED) -> Published:
    """Reads what is kept, judged by the present bands; a line that is newer, or of a study not run, is not measured.

    Without a preset, each study is taken at its largest that is kept. Raises FileNotFoundError if nothing is kept.
    """
    there = published_presets(folder) if preset is None else [preset]
    if not any(list(folder.glob(f"{name}/*/claims.csv")) for name in there):
        raise FileNotFoundError(
            f"{folder}: no study is kept: run `python -m auxmc_pipeline.steps.publish {preset or 'quick'}`"
        )
    presets = {
        study: next((name for name in there if (folder / name / study / "claims.csv").is_file()), there[-1])
        for study in studies()
    }
    places = {study: folder / name / study for study, name in presets.items()}
    judged = {study: _judged(load_study(study), place / "claims.csv") for study, place in places.items()}
    numbers = {
        study: pd.read_csv(check_kept(place / "numbers.csv"))
        if (place / "numbers.csv").is_file()
        else pd.DataFrame(columns=["name", "value", "error", "note", "exact"])
        for study, place in places.items()
    }
    with_results = {study: presets[study] for study in places if (places[study] / "claims.csv").is_file()}
    return Published(judged, numbers, presets, _in_words(with_results, places))


def _in_words(presets: Mapping[str, str], places: Mapping[str, Path]) -> str:
    jobs = pd.concat([read_jobs(place / "pieces.csv") for place in places.values()])
    first, last = jobs["created"].min()[:10], jobs["created"].max()[:10]
    days = f"on {first}" if first == last else f"from {first} to {last}"
    made = f"jobs {days} on {' and '.join(sorted(jobs['processor'].unique()))}"
    largest, *others = (preset for preset in reversed(PRESETS) if preset in presets.values())
    if not others:
        return f"preset {largest}, {made}"
    of_largest = ", ".join(study for study, preset in presets.items() if preset == largest)
    return f"preset {largest} for {of_largest}; {' and '.join(others)} for the others; {made}"


def _judged(study: Study, path: Path) -> pd.DataFrame:
    measured = pd.DataFrame(columns=MEASURED)
    if path.is_file():
        measured = pd.read_csv(check_kept(path), dtype={"claim_id": str, "setting": str, "note": str})
    measured = measured.drop(columns=["low", "high"], errors="ignore")
    table = claims_of(study).merge(measured, on=["claim_id", "setting"], how="left", validate="1:1")
    table["exact"] = table["exact"].fillna(value=False).astype(bool)
    table["note"] = table["note"].fillna("")
    table["verdict"] = [verdict_of_line(row) for row in table.to_dict("records")]
    return table
