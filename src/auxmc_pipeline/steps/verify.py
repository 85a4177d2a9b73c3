"""Runs published cases again and compares them: `python -m auxmc_pipeline.steps.verify --help`.

They run in a temporary folder. Arrays agree to the last bit where processor and versions are those of the record,
within errors elsewhere.
"""

import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from auxmc.driver.provenance import package_versions, processor_kind
from auxmc_pipeline.catalogue import ROOT, check_preset, load_study, studies
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.jobs import PUBLISHED, by_case, differences, identities, read_jobs, version_text
from auxmc_pipeline.publishing.compare import Comparison, allowed_distance, compare_case
from auxmc_pipeline.settings import PRESETS, SettingsError, nearest


class PublishedCase(NamedTuple):
    """A published case that can be run again.

    Attributes:
        study: name of the study.
        case: name of the case.
        cost_s: recorded CPU time in seconds.
        sha256: recorded digest of all arrays.
        changed: what differs here from the record: code, processor or versions; empty for nothing.
    """

    study: str
    case: str
    cost_s: float
    sha256: str
    changed: str

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
    options = parser.parse_args(arguments)
    preset = check_preset(options.preset) if options.preset else _largest()
    cases, other = published_cases(preset)
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    chosen = named(cases, options.cases) if options.cases else drawn(cases, 60.0 * options.minutes, seed)
    for line in other:
        print(f"cannot be run again: {line}")
    if not chosen:
        raise SettingsError(f"nothing to verify: published/{preset} records no case of the present settings")
    minutes = sum(case.cost_s for case in chosen) / 60.0
    print(
        f"preset {preset}, seed {seed}: {len(chosen)} of {len(cases)} cases, {minutes:.1f} minutes on record"
    )
    for case in chosen:
        print(f"  {case.label} ({case.cost_s:.0f} s)")
    if options.list:
        return 0
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="auxmc-verify-") as folder:
        made = run_again(preset, chosen, Path(folder), options.cores)
        compared = [
            compare_case(path, case.sha256, PUBLISHED / preset / case.study)
            for case, path in zip(chosen, made, strict=True)
        ]
    lines, status = conclusion(chosen, compared)
    print("\n".join(["", *lines]))
    return status


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
    """What came of a case, `identical`, `agrees`, `DIFFERS` or `open`, and why.

    Args:
        case: the case.
        found: its comparison.
        allowed: most standard errors that a value may be off.
    """
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


def _largest() -> str:
    """The largest preset of which jobs are recorded."""
    there = [preset for preset in reversed(PRESETS) if any((PUBLISHED / preset).glob("*/pieces.csv"))]
    if not there:
        raise SettingsError("published/ records no jobs: `python -m auxmc_pipeline.steps.publish` adds them")
    return there[0]


if __name__ == "__main__":
    sys.exit(main())
