"""Records what tests of the studies read, from `results/smoke`: `python -m tests.unit.experiments.record [STUDY ...]`.

Run `snakemake --config preset=smoke` first. Numbers are kept in single precision, to keep files small.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from auxmc_pipeline.catalogue import ROOT, load_study, studies
from auxmc_pipeline.judging.study_tables import judge_study
from auxmc_pipeline.named_tables import NamedTables, read_named_tables
from auxmc_pipeline.publishing.gather import packed_table
from auxmc_pipeline.tables import Tables

RECORDED = Path(__file__).with_name("recorded")
NAMES = ("summary", "curves")


def recorded_tables(study: str) -> Tables | NamedTables:
    """Tables of a study as they were recorded."""
    if load_study(study).has_named_tables:
        return read_named_tables(RECORDED / study / "tables")
    return Tables.of(*(pd.read_parquet(RECORDED / study / f"{name}.parquet") for name in NAMES))


def measured(study: str) -> pd.DataFrame:
    """Value and error of every line of the study's claims, measured in its recorded tables."""
    judged = judge_study(load_study(study), recorded_tables(study))
    return judged[["claim_id", "setting", "measured", "monte_carlo_error"]]


def _in_single_precision(column: "pd.Series[float]") -> "pd.Series[float]":
    if column.dtype != np.float64:
        return column
    with np.errstate(over="ignore"):
        single = column.astype(np.float32)
    return single if np.array_equal(np.isfinite(column), np.isfinite(single)) else column


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", help="by default all")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "smoke")
    options = parser.parse_args(arguments)
    for study in options.studies or studies():
        folder = RECORDED / study
        results = options.results / study
        if load_study(study).has_named_tables:
            paths = sorted((results / "tables").glob("*.parquet"))
        else:
            paths = [results / f"{name}.parquet" for name in NAMES]
        for path in paths:
            kept = folder / path.relative_to(results)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(packed_table(pd.read_parquet(path).apply(_in_single_precision)))
        measured(study).to_csv(folder / "claims.csv", index=False)


if __name__ == "__main__":
    main()
