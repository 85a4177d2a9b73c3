"""Runs kept jobs again and compares: `python -m auxmc_pipeline.steps.verify --help`."""

import argparse
import math
import os
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from auxmc.driver.provenance import package_versions, processor_kind
from auxmc_pipeline.catalogue import ROOT, check_preset, load_study, studies
from auxmc_pipeline.judging.published import PUBLISHED
from auxmc_pipeline.publishing.agreement import allowed_distance
from auxmc_pipeline.publishing.check import Check, Drawn, check, drawn_at_random, jobs_to_draw
from auxmc_pipeline.publishing.jobs import read_jobs, versions_in_words
from auxmc_pipeline.publishing.state import identities
from auxmc_pipeline.settings import PRESETS, SettingsError
from auxmc_pipeline.steps.errors import errors_in_one_line


@errors_in_one_line(status=2)
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns 0 if all jobs gave what is kept, 1 if not, 2 if none could be run or judged."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.verify",
        description="Draw jobs of the results in published/ at random, run them again in a temporary folder, and "
        "compare to the last bit where processor and versions are those of the record, within errors elsewhere.",
    )
    parser.add_argument("preset", nargs="?", help="default: the largest of which jobs are recorded")
    parser.add_argument(
        "--minutes", type=float, default=5.0, help="processor time of the jobs by their record (default: 5)"
    )
    parser.add_argument("--seed", type=int, help="of the draw (default: a new one, which is printed)")
    parser.add_argument("--studies", nargs="+", metavar="STUDY", help="draw among these (default: all)")
    parser.add_argument("--cores", default="all", help="cores to use, a number or `all`")
    parser.add_argument("--list", action="store_true", help="print the jobs that would be run, and stop")
    options = parser.parse_args(arguments)
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    preset = _preset(options.preset)
    jobs, other = _jobs(preset, options.studies or studies())
    for line in other:
        print(f"cannot be run again with the present settings and data: {line}")
    drawn = drawn_at_random(jobs, 60.0 * options.minutes, np.random.default_rng(seed))
    if not drawn:
        print(
            f"nothing to verify: published/{preset} records no job of the present settings", file=sys.stderr
        )
        return 2
    minutes = sum(job.cost_s for job in drawn) / 60.0
    print(
        f"preset {preset}, seed {seed}: {len(drawn)} of {len(jobs)} jobs, {minutes:.1f} minutes by their record"
    )
    for job in drawn:
        print(f"  {job.label} ({job.cost_s:.0f} s){'' if job.same_code else '; its code has changed since'}")
    if options.list:
        return 0
    sys.stdout.flush()
    with tempfile.TemporaryDirectory(prefix="auxmc-verify-") as folder:
        run_again(preset, drawn, Path(folder), options.cores)
        checks = [
            check(job, Path(folder) / job.file(preset), PUBLISHED / preset / job.study) for job in drawn
        ]
    lines, status = conclusion(preset, checks)
    print("\n".join(lines))
    return status


def run_again(preset: str, jobs: Sequence[Drawn], folder: Path, cores: str) -> None:
    """Runs jobs by the workflow in a folder of their own; those that fail leave no file."""
    # Programs that are compiled already on this machine are the same programs.
    (ROOT / ".cache").mkdir(exist_ok=True)
    os.symlink(ROOT / ".cache", folder / ".cache")
    words = ["--snakefile", f"{ROOT}/workflow/Snakefile", "--directory", str(folder), "--cores", cores]
    words += ["--notemp", "--keep-going", "--quiet", "rules", "host", "--config", f"preset={preset}"]
    files = [str(job.file(preset)) for job in jobs]
    subprocess.call([sys.executable, "-m", "snakemake", *words, "--", *files])


def conclusion(preset: str, checks: Sequence[Check]) -> tuple[list[str], int]:
    """A line for each job, a sentence about all, and the exit status.

    Args:
        preset: the preset.
        checks: what came of each job.
    """
    scores = [found.score for result in checks for found in result.distances]
    allowed = allowed_distance(len(scores))
    said = [_in_words(result, allowed) for result in checks]
    kinds = [kind for kind, _ in said]
    lines = [
        "",
        *(f"{result.job.label}: {words}" for result, (_, words) in zip(checks, said, strict=True)),
        "",
    ]
    n, n_wrong, n_within, n_open = len(checks), *(kinds.count(kind) for kind in ("wrong", "within", "open"))
    if n_wrong:
        return [*lines, f"{n_wrong} of {n} jobs of preset {preset} did not give what is published."], 1
    if n_open == n:
        return [*lines, f"None of the {n} jobs of preset {preset} could be judged here."], 2
    words = [f"{n - n_within - n_open} to the last bit"]
    if n_within:
        off = (
            f"at most {max(scores):.1f} standard errors off where {allowed:.1f} are allowed"
            if scores
            else "to rounding"
        )
        words.append(f"{n_within} within errors ({len(scores)} values, {off})")
    if n_open:
        words.append(f"{n_open} that cannot be judged here")
    every = f"All {n}" if not n_open else f"{n - n_open} of {n}"
    return [
        *lines,
        f"{every} jobs of preset {preset}, run again here, gave what is published: {', '.join(words)}.",
    ], 0


def _in_words(result: Check, allowed: float) -> tuple[str, str]:
    """What came of a job: `wrong`, `identical`, `within` errors or `open`; and the same for readers."""
    faults = list(result.faults)
    worst = result.distances[0] if result.distances else None
    if worst is not None and worst.score > allowed:
        n_off = sum(found.score > allowed for found in result.distances)
        faults.append(
            f"{n_off} of {len(result.distances)} values are off by more than {allowed:.1f} standard errors, most "
            f"{worst.name}: {worst.kept:.6g} kept, {worst.again:.6g} now, {worst.score:.1f} standard errors"
        )
    if faults:
        return "wrong", f"WRONG, {'; '.join(faults)}"
    if result.identical:
        return "identical", "identical"
    why = "another processor or other versions" if result.job.same_code else "code that has changed since"
    if worst is None and math.isnan(result.alike):
        return "open", f"open, nothing of it is kept that could be compared ({why})"
    if worst is None and result.alike < 1.0:
        return (
            "open",
            f"open, {result.alike:.0%} of the values agree to rounding, and none has an error ({why})",
        )
    if worst is None:
        return "within", f"all values agree to rounding ({why})"
    return "within", (
        f"{len(result.distances)} values within errors, the farthest {worst.score:.1f} standard errors off "
        f"({worst.name}); {result.alike:.0%} of all agree to rounding ({why})"
    )


def _preset(wanted: str | None) -> str:
    if wanted is not None:
        return check_preset(wanted)
    there = [preset for preset in reversed(PRESETS) if any((PUBLISHED / preset).glob("*/pieces.csv"))]
    if not there:
        raise SettingsError("published/ records no jobs: `make publish` keeps them")
    return there[0]


def _jobs(preset: str, names: Sequence[str]) -> tuple[list[Drawn], list[str]]:
    kind, versions = processor_kind(), versions_in_words(package_versions())
    jobs: list[Drawn] = []
    other: list[str] = []
    for name in names:
        study = load_study(name)
        recorded = read_jobs(PUBLISHED / preset / name / "pieces.csv")
        if len(recorded):
            found, gone = jobs_to_draw(recorded, identities(study, preset), kind, versions)
            jobs, other = jobs + found, other + gone
    return [job for job in jobs if math.isfinite(job.cost_s)], other


if __name__ == "__main__":
    sys.exit(main())
