"""Runs published cases again and compares them: `python -m auxmc_pipeline.steps.verify --help`.

They run in a temporary folder. Arrays agree to the last bit where processor and versions are those of the record,
within errors elsewhere.
"""

import math
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from auxmc.driver.provenance import describe_environment, package_versions, processor_kind
from auxmc_pipeline.catalogue import ROOT, check_preset, load_study, studies
from auxmc_pipeline.checksums import rewrite_kept
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.digests import measures_time
from auxmc_pipeline.jobs import (
    PUBLISHED,
    by_case,
    differences,
    identities,
    jobs_of_result,
    read_jobs,
    version_text,
)
from auxmc_pipeline.judging.published import published_presets
from auxmc_pipeline.settings import SettingsError, nearest
from auxmc_pipeline.tables import ABOUT_VALUES, Tables, load_tables, long_rows, replicate_columns, tabulate

# Most standard errors that a value may be off, and the probability that a run of correct values is rejected.
_ALLOWED = 4.0
_FALSE_ALARM = 1e-3


class Comparison(NamedTuple):
    """A case run again next to its published result."""

    same_arrays: bool  # whether the digests of all arrays agree
    # Of `compare_values`; None where there is no new result or no published table.
    values: pd.DataFrame | None


class PublishedCase(NamedTuple):
    """A published case that can be run again."""

    study: str  # name of the study
    case: str  # name of the case
    cost_s: float  # recorded CPU time in seconds
    sha256: str  # recorded digest of all arrays
    changed: str  # what differs here from the record: code, processor or versions; empty for nothing

    @property
    def label(self) -> str:
        """Name for readers and for `--cases`."""
        return f"{self.study}/{self.case}"


@errors_in_one_line(status=2)
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns 0 if all cases agree, 1 if one does not, 2 if none could be run or compared."""
    parser = step_parser(__doc__)
    parser.add_argument("preset", nargs="?", help="default: the largest of which jobs are recorded")
    parser.add_argument(
        "--cases", nargs="+", metavar="STUDY[/CASE]", help="cases to run (default: a random draw)"
    )
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="recorded CPU time of a random draw (default: 5)"
    )
    parser.add_argument("--seed", type=int, help="seed of the draw (default: a new one, which is printed)")
    parser.add_argument("--cores", default="all", help="cores to use, a number or `all`")
    parser.add_argument("--list", action="store_true", help="print the cases that would be run, and stop")
    record = "write the present commit next to the cases with identical arrays"
    parser.add_argument("--record", action="store_true", help=record)
    options = parser.parse_args(arguments)
    recorded = [options.preset] if options.preset else published_presets(file="pieces.csv")
    if not recorded:
        raise SettingsError("published/ records no jobs: `python -m auxmc_pipeline.steps.publish` adds them")
    preset = check_preset(recorded[0])
    here = describe_environment(ROOT) if options.record else {}
    if here.get("git_dirty") == "True":
        raise SettingsError("--record: expected a committed tree, got uncommitted changes")
    cases, other = published_cases(preset)
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    chosen = named(cases, options.cases) if options.cases else drawn(cases, 60.0 * options.minutes, seed)
    for line in other:
        print(f"cannot be run again: {line}")
    if not chosen:
        raise SettingsError(f"nothing to verify: published/{preset} records no case of the present settings")
    minutes, n = sum(case.cost_s for case in chosen) / 60.0, len(chosen)
    print(f"preset {preset}, seed {seed}: {n} of {len(cases)} cases, {minutes:.1f} minutes on record")
    for case in chosen:
        print(f"  {case.label} ({case.cost_s:.0f} s)")
    if options.list:
        return 0
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="auxmc-verify-") as folder:
        made = run_again(preset, chosen, Path(folder), options.cores)
        place, both = PUBLISHED / preset, zip(chosen, made, strict=True)
        compared = [compare_case(path, case.sha256, place / case.study) for case, path in both]
    lines, status = conclusion(chosen, compared)
    if options.record:
        same = [case for case, found in zip(chosen, compared, strict=True) if found.same_arrays]
        record_verified(PUBLISHED / preset, same, here["git_commit"])
        lines.append(f"{len(same)} cases are recorded as verified under {here['git_commit'][:12]}")
    print("\n".join(["", *lines]))
    return status


def record_verified(published: Path, cases: Sequence[PublishedCase], commit: str) -> None:
    """Writes a commit next to published cases of a preset whose arrays it makes."""
    for study in {case.study for case in cases}:
        place = published / study
        jobs = read_jobs(place / "pieces.csv")
        jobs.loc[jobs["case"].isin([c.case for c in cases if c.study == study]), "verified"] = commit[:12]
        rewrite_kept(place / "pieces.csv", jobs.to_csv(index=False).encode())


def published_cases(preset: str) -> tuple[list[PublishedCase], list[str]]:
    """Published cases of the present settings and data, and lines that say why others cannot be run again."""
    kind, versions = processor_kind(), version_text(package_versions())
    found, other = [], []
    for name in studies():
        jobs = by_case(read_jobs(PUBLISHED / preset / name / "pieces.csv"))
        now = identities(load_study(name), preset) if len(jobs) else {}
        for job in jobs.to_dict("records"):
            case, differs = str(job["case"]), differences(job, str(job["case"]), now)
            if differs not in ("", "code"):
                other.append(f"{name}/{case} was made with other {differs}")
                continue
            here = {"code": not differs, "processor": job["processor_kind"] == kind}
            here["versions"] = job["versions"] == versions
            changed = " and ".join(word for word, same in here.items() if not same)
            found.append(PublishedCase(name, case, float(job["cpu_s"]), str(job["sha256"]), changed))
    return found, other


def named(cases: Sequence[PublishedCase], wanted: Sequence[str]) -> list[PublishedCase]:
    """Cases by name, `study` or `study/case`."""
    known = [name for case in cases for name in (case.study, case.label)]
    for name in wanted:
        if name not in known:
            raise SettingsError(f"--cases: expected STUDY or STUDY/CASE, got {name!r}.{nearest(name, known)}")
    return [case for case in cases if case.study in wanted or case.label in wanted]


def drawn(cases: Sequence[PublishedCase], budget_s: float, seed: int) -> list[PublishedCase]:
    """Cases in random order whose recorded costs add up to at most a budget; the cheapest where none fits."""
    chosen: list[PublishedCase] = []
    for place in np.random.default_rng(seed).permutation(len(cases)):
        if cases[place].cost_s <= budget_s:
            chosen.append(cases[place])
            budget_s -= cases[place].cost_s
    return chosen or sorted(cases, key=lambda case: case.cost_s)[:1]


def run_again(preset: str, cases: Sequence[PublishedCase], folder: Path, cores: str) -> list[Path]:
    """Runs cases by the workflow in another folder; returns their result files, absent where a case failed."""
    # Programs that are compiled already on this machine are the same programs.
    (ROOT / ".cache").mkdir(exist_ok=True)
    os.symlink(ROOT / ".cache", folder / ".cache")
    words = ["--snakefile", f"{ROOT}/workflow/Snakefile", "--directory", str(folder), "--cores", cores]
    words += ["--keep-going", "--quiet", "rules", "host", "--config", f"preset={preset}"]
    files = [Path("results") / preset / case.study / f"{case.case}.nc" for case in cases]
    subprocess.call([sys.executable, "-m", "snakemake", *words, "--", *map(str, files)])
    return [folder / file for file in files]


def conclusion(cases: Sequence[PublishedCase], compared: Sequence[Comparison]) -> tuple[list[str], int]:
    """A line for each case and a summary, and the exit status."""
    n_scores = sum(int(found.values["score"].notna().sum()) for found in compared if found.values is not None)
    allowed = allowed_distance(n_scores)
    verdicts = [judge_case(case, found, allowed) for case, found in zip(cases, compared, strict=True)]
    lines = [f"{case.label}: {kind}, {why}" for case, (kind, why) in zip(cases, verdicts, strict=True)]
    kinds = [kind for kind, _ in verdicts]
    counted = [f"{kinds.count(k)} {k}" for k in ("identical", "agrees", "DIFFERS", "open") if k in kinds]
    lines.append(f"{len(cases)} cases run again: {', '.join(counted)}")
    if "DIFFERS" in kinds:
        return lines, 1
    return lines, 2 if all(kind == "open" for kind in kinds) else 0


def judge_case(case: PublishedCase, found: Comparison, allowed: float) -> tuple[str, str]:
    """What came of a case, `identical`, `agrees`, `DIFFERS` or `open`, and why; so many errors are `allowed`."""
    values, why = found.values, f"with other {case.changed}" if case.changed else "on the same machine"
    if values is None or values.empty:
        return ("identical", "arrays") if found.same_arrays else ("open", "no result or no table to compare")
    if found.same_arrays:
        wrong = values[~values["identical"]]
        if wrong.empty:
            return "identical", "arrays and table"
        row = wrong.iloc[0]
        return "DIFFERS", f"table: {row['quantity']} is {row['kept']:.17g}, expected {row['again']:.17g}"
    if not case.changed:
        return "DIFFERS", "other arrays on the same processor, with the same versions and code"
    scores = values["score"].dropna()
    if scores.empty and values["close"].all():
        return "agrees", f"all values to six digits {why}"
    if scores.empty:
        return "open", f"no value has an error, and {values['close'].mean():.0%} agree to six digits {why}"
    row = values.loc[[scores.idxmax()]].iloc[0]
    text = (
        f"{row['quantity']} is {row['kept']:.6g}, now {row['again']:.6g}: {row['score']:.1f} standard errors"
    )
    kind = "DIFFERS" if row["score"] > allowed else "agrees"
    return kind, f"{len(scores)} values {why}, at most {allowed:.1f} standard errors allowed; farthest {text}"


def compare_case(again: Path, sha256: str, published: Path) -> Comparison:
    """Compares the result of a case, which may be absent, with the published digest and tables of the study."""
    if not again.is_file():
        return Comparison(False, None)
    same = jobs_of_result(again)[-1]["sha256"] == sha256
    if not (published / "tables").is_dir():
        return Comparison(same, None)
    kept, new = long_rows(load_tables(published / "tables")), long_rows(Tables(tabulate([again])))
    return Comparison(same, compare_values(kept[kept["case"] == again.stem], new))


def compare_values(kept: pd.DataFrame, again: pd.DataFrame) -> pd.DataFrame:
    """Statistics of two runs of a case, as tidy rows, next to each other, without those that measure time.

    Returns:
        Columns quantity, kept, again, identical (to the last bit), close (to six digits), and score: the distance in
        standard errors of the difference. Independent chains or repeats are averaged, and their means compared by
        Welch's test; single values need an error next to them (`NAME_error`). Where no error is known the score is NaN.
    """
    dims = [
        name
        for name in again.columns
        if name not in ABOUT_VALUES and name in kept and max(kept[name].nunique(), again[name].nunique()) > 1
    ]
    keys = ["quantity", *dims]
    frames = [_with_text_keys(frame, dims)[[*keys, "value"]] for frame in (kept, again)]
    both = frames[0].merge(frames[1], on=keys, how="outer", suffixes=("_kept", "_again"), indicator=True)
    points = [name for name in keys if name not in replicate_columns(again)]
    rows = []
    errors = {tuple(row[name] for name in points): row for row in both.to_dict("records")}
    for point, group in both.groupby(points, sort=False):
        one, two = group["value_kept"].to_numpy(), group["value_again"].to_numpy()
        in_both = bool((group["_merge"] == "both").all())
        error = errors.get((f"{point[0]}_error", *point[1:])) if len(group) == 1 else None
        rows.append(
            {
                "quantity": " ".join(str(word) for word in point if word != "nan"),
                "kept": one.mean(),
                "again": two.mean(),
                "identical": in_both and np.array_equal(one, two, equal_nan=True),
                "close": in_both and np.allclose(one, two, rtol=1e-6, atol=1e-9, equal_nan=True),
                "score": _score(str(point[0]), one, two, error),
            }
        )
    return pd.DataFrame(rows, columns=["quantity", "kept", "again", "identical", "close", "score"])


def allowed_distance(n_compared: int) -> float:
    """Standard errors that no value may exceed: 4, or more where that many values exceed 4 by chance (Bonferroni).

    >>> allowed_distance(10), round(allowed_distance(5000), 1)
    (4.0, 5.2)
    """
    return max(_ALLOWED, float(stats.norm.isf(_FALSE_ALARM / (2 * max(n_compared, 1)))))


def _score(quantity: str, one: np.ndarray, two: np.ndarray, error: Mapping[Any, Any] | None) -> float:
    if "without" in quantity:  # values without one chain each, which are dependent
        return math.nan
    if error is not None:
        spread = math.hypot(error["value_kept"], error["value_again"])
        return abs(float(one[0] - two[0])) / spread if spread > 0.0 else math.nan
    one, two = one[np.isfinite(one)], two[np.isfinite(two)]
    if min(len(one), len(two)) < 2 or not (one.var() + two.var()) > 0.0:
        return math.nan
    return float(stats.norm.isf(stats.ttest_ind(one, two, equal_var=False).pvalue / 2.0))


def _with_text_keys(frame: pd.DataFrame, dims: list[str]) -> pd.DataFrame:
    """Rows of quantities other than times, their coordinates as text: a table of several cases has other types."""
    lasting = [not measures_time(q, u) for q, u in zip(frame["quantity"], frame["unit"], strict=True)]
    rows = frame[np.array(lasting, dtype=bool)].copy()
    rows[dims] = rows[dims].map(_text)
    return rows


def _text(value: object) -> str:
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return f"{value:.12g}" if is_number else str(value)


if __name__ == "__main__":
    sys.exit(main())
