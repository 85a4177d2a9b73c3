"""Records what tests of the studies read, from `results/smoke`: `python -m tests.unit.experiments.record [STUDY ...]`.

Run `snakemake --config preset=smoke` first. Numbers are kept with six digits, to keep files small.
"""

import argparse
from pathlib import Path

import pandas as pd

from auxmc_pipeline.catalogue import ROOT, load_study, studies
from auxmc_pipeline.judging.study_tables import judge_study
from auxmc_pipeline.steps.publish import packed_table
from auxmc_pipeline.tables import Tables, load_tables

RECORDED = Path(__file__).with_name("recorded")
MEASURED = ["claim_id", "setting", "measured", "monte_carlo_error", "exact"]


def recorded_tables(study: str) -> Tables:
    """Tables of a study as they were recorded."""
    return load_tables(RECORDED / study / "tables")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("studies", nargs="*", help="by default all")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "smoke")
    options = parser.parse_args()
    for study in options.studies or studies():
        folder, results = RECORDED / study, options.results / study
        for path in sorted((results / "tables").glob("*.parquet")):
            kept = folder / path.relative_to(results)
            kept.parent.mkdir(parents=True, exist_ok=True)
            table = pd.read_parquet(path)
            kept.write_bytes(packed_table(table, set(map(str, table))))
        judged = judge_study(load_study(study), recorded_tables(study))
        judged[MEASURED].to_csv(folder / "claims.csv", index=False)


if __name__ == "__main__":
    main()
