"""What is published of the presets, what made it, and which jobs the present code would run again."""

from pathlib import Path

import pandas as pd

from auxmc.command_line.columns import columns
from auxmc.errors import CommandError
from auxmc_pipeline import catalogue
from auxmc_pipeline.jobs import PUBLISHED, Identities, by_case, differences, identities, read_jobs
from auxmc_pipeline.settings import PRESETS


def describe_published(preset: str | None, folder: Path = PUBLISHED) -> str:
    """Cases, commits, cost and machine of each study, and the cases that the present code would run again.

    Of all presets for None. Raises CommandError if nothing is published, SettingsError for an unknown preset.
    """
    wanted = PRESETS if preset is None else [catalogue.check_preset(preset)]
    there = [name for name in wanted if any((folder / name).glob("*/pieces.csv"))]
    if not there:
        of_preset = f" of preset {preset}" if preset else ""
        raise CommandError(
            f"nothing is published{of_preset}; `python -m auxmc_pipeline.steps.publish {preset or 'quick'}` does"
        )
    return "\n\n".join(_describe_preset(name, folder / name) for name in there)


def _describe_preset(preset: str, place: Path) -> str:
    rows: list[tuple[str, ...]] = [("study", "cases", "tables", "core hours", "commits", "machine")]
    stale: list[str] = []
    for name in catalogue.studies():
        jobs = by_case(read_jobs(place / name / "pieces.csv"))
        now = identities(catalogue.load_study(name), preset)
        rows.append(study_row(name, jobs, now, has_tables=(place / name / "claims.csv").is_file()))
        stale += stale_jobs(name, jobs, now)
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6
    summary = "All cases are of the present settings, code and data."
    if stale:
        summary = "\n  ".join(["The present settings, code and data would run again:", *stale])
    return f"preset {preset}, {size:.1f} MB\n\n{columns(rows, right=[1, 3])}\n\n{summary}"


def study_row(name: str, jobs: pd.DataFrame, now: Identities, *, has_tables: bool) -> tuple[str, ...]:
    """Cells about a study: number of published cases, whether it has tables, cost, commits, machines."""
    commits = [commit[:7] + commit[12:] for commit in jobs["commit"].unique()]
    return (
        name,
        f"{len(jobs)} of {len(now)}",
        "yes" if has_tables else "no",
        f"{jobs['cpu_s'].sum() / 3600:.2f}" if len(jobs) else "",
        ", ".join(commits[:3] + ["..."] * (len(commits) > 3)),
        "; ".join((jobs["processor"] + " " + jobs["processor_kind"]).str.strip().unique()),
    )


def stale_jobs(name: str, jobs: pd.DataFrame, now: Identities) -> list[str]:
    """A line for each kind of difference from the present, with its cases, and for the cases that are missing."""
    found: dict[str, list[str]] = {}
    for job in jobs.to_dict("records"):
        if differs := differences(job, str(job["case"]), now):
            found.setdefault(f"other {differs}", []).append(str(job["case"]))
    missing = [case for case in now if case not in set(jobs["case"])]
    if missing:
        found["not published"] = ["all cases"] if len(missing) == len(now) else missing
    return [f"{name}, {what}: {', '.join(cases)}" for what, cases in found.items()]
