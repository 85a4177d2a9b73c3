"""Finds claims whose check cannot fail: `python -m auxmc_pipeline.steps.check_claims --help`.

Tables of studies are changed until the verdict of each claim turns; one that nothing turns fails, unless it is
inconclusive.
"""

import sys
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from auxmc_pipeline.catalogue import check_preset, load_study, studies
from auxmc_pipeline.claims import Measures
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.judging.study_tables import claims_of, read_tables
from auxmc_pipeline.judging.verdicts import verdict
from auxmc_pipeline.tables import MissingData, Tables, perturbed

_CHANGES = {
    "times 10": lambda x, rng: 10.0 * x,
    "times 0.1": lambda x, rng: 0.1 * x,
    "negated": lambda x, rng: -x,
    "plus 1000": lambda x, rng: x + 1000.0,
    "zero": lambda x, rng: 0.0 * x,
    "in descending order": lambda x, rng: np.sort(x)[::-1],
    **{f"times factors {draw}": lambda x, rng: x * np.exp(rng.normal(0.0, 2.0, x.size)) for draw in range(8)},
    "evenly spread": lambda x, rng: rng.permutation(np.linspace(x.min(), x.max(), x.size)),
    # With little spread left, errors are small too.
    "constant": lambda x, rng: x.mean() + 0.01 * (x - x.mean()),
    "constant plus 1000": lambda x, rng: x.mean() + 0.01 * (x - x.mean()) + 1000.0,
    "constant minus 1000": lambda x, rng: x.mean() + 0.01 * (x - x.mean()) - 1000.0,
}


class Response(NamedTuple):
    """A line of a claim, its verdict, and the first change that turns it; empty if none does."""

    claim_id: str
    setting: str
    verdict: str
    changed_by: str


@errors_in_one_line(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns 1 if a claim keeps its verdict whatever its tables hold."""
    parser = step_parser(__doc__, "preset")
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="studies to check; all by default")
    options = parser.parse_args(arguments)
    check_preset(options.preset)
    n_constant = 0
    for name in options.studies or studies():
        study, folder = load_study(name), Path("results") / options.preset / name
        tables = read_tables(study, options.preset, folder / "tables")
        found = list(responses(claims_of(study), study.measures(), tables))
        constant = [line for line in found if not line.changed_by]
        print(f"{name}: {len(found)} lines with an error, {len(constant)} that nothing changes", flush=True)
        for line in constant:
            print(f"  {line.claim_id}, {line.setting}: {line.verdict}")
        n_constant += sum(line.verdict != "inconclusive" for line in constant)
    return int(n_constant > 0)


def responses(claims: pd.DataFrame, measures: Measures, tables: Tables) -> Iterator[Response]:
    """Changes all quantities, then each, until the verdict of a line fails or a failure does not.

    Lines about time, exact values and values without an error are left out. What a claim needs of a run is ignored.
    """
    for line in claims.to_dict("records"):
        measure = measures[str(line["claim_id"])][str(line["setting"])]
        band = float(line["low"]), float(line["high"]), str(line["kind"])
        try:
            found = measure(tables)
        except MissingData:
            continue
        if found.exact or line["kind"] == "W" or not found.error > 0.0:
            continue
        now, changed_by = verdict(found, *band), ""
        for name, changed in _changed(tables):
            try:
                with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
                    other = verdict(measure(changed), *band)
            except (LookupError, ArithmeticError, ValueError):
                continue  # the function rejects such values
            failed = "not reproduced"
            if other == failed != now or (now == failed and other in ("reproduced", "inconclusive")):
                changed_by = name
                break
        yield Response(str(line["claim_id"]), str(line["setting"]), now, changed_by)


def _changed(tables: Tables) -> Iterator[tuple[str, Tables]]:
    """Tables with other values of all quantities, then of one."""
    for only in ("", *tables["quantity"]["quantity"].unique()):
        for seed, (name, change) in enumerate(_CHANGES.items()):
            yield f"{name}: {only or 'all'}", perturbed(tables, partial(_apply, change, seed), only)


def _apply(change: Any, seed: int, values: np.ndarray) -> np.ndarray:
    known = ~np.isnan(values)
    changed = values.astype(np.float64)
    if known.any():
        changed[known] = change(changed[known], np.random.default_rng(seed))
    return changed


if __name__ == "__main__":
    sys.exit(main())
