"""What is kept of the presets, what made it, and what the present code would make anew."""

from collections import Counter
from pathlib import Path

import pandas as pd

from auxmc.command_line.columns import columns
from auxmc.errors import CommandError
from auxmc_pipeline import catalogue
from auxmc_pipeline.judging.published import PUBLISHED
from auxmc_pipeline.publishing.jobs import read_jobs
from auxmc_pipeline.publishing.state import Identities, changed, identities
from auxmc_pipeline.publishing.unfinished import PIECES
from auxmc_pipeline.settings import PRESETS


def describe_published(preset: str | None, folder: Path = PUBLISHED) -> str:
    """What is there by study: cases, commits, cost, machine; and which jobs the present code would make anew.

    Args:
        preset: the preset; None for all of which something is kept.
        folder: where results are kept.

    Raises:
        CommandError: nothing is kept, or nothing of the preset.
        SettingsError: there is no such preset, or a setting is wrong.
    """
    if preset is not None:
        catalogue.check_preset(preset)
    there = [
        name for name in PRESETS if list((folder / name).glob("*/claims.csv")) or _with_jobs(folder / name)
    ]
    wanted = there if preset is None else [preset]
    if not set(wanted) & set(there):
        of_preset = f" of preset {preset}" if preset else ""
        raise CommandError(
            f"nothing is kept{of_preset}: `make publish PRESET={preset or 'quick'}` keeps what is finished"
        )
    return "\n\n".join(_of_preset(name, folder / name) for name in wanted)


def _of_preset(preset: str, place: Path) -> str:
    rows: list[tuple[str, ...]] = [("study", "cases", "tables", "core hours", "commits", "machine")]
    anew: list[str] = []
    for name in catalogue.studies():
        jobs = read_jobs(place / name / "pieces.csv")
        now = identities(catalogue.load_study(name), preset)
        rows.append(study_row(name, jobs, now, has_tables=(place / name / "claims.csv").is_file()))
        anew += made_anew(name, jobs, now)
        n_pieces = len(list((place / name / PIECES).glob("*/*.npz")))
        if n_pieces:
            anew.append(
                f"{name}: of these, {n_pieces} finished pieces are kept, with which `make restore` goes on"
            )
    size = sum(path.stat().st_size for path in place.rglob("*") if path.is_file()) / 1e6
    n_studies = len(list(place.glob("*/claims.csv")))
    head = "Made anew by the present code, settings and data:"
    return "\n".join(
        [
            f"preset {preset}: {n_studies} of {len(rows) - 1} studies finished, {size:.1f} MB",
            "",
            columns(rows, right=[1, 3]),
            "",
            *(
                [head, *(f"  {line}" for line in anew)]
                if anew
                else ["The present code would make the same jobs."]
            ),
        ]
    )


def study_row(name: str, jobs: pd.DataFrame, now: Identities, *, has_tables: bool) -> tuple[str, ...]:
    """Cells about a study: how many of its cases are kept, whether tables are, cost, commits, machine."""
    commits = list(dict.fromkeys(jobs["commit"]))
    machines = Counter(
        f"{processor} {kind}".strip()
        for processor, kind in zip(jobs["processor"], jobs["processor_kind"], strict=True)
    )
    return (
        name,
        f"{jobs['case'].nunique()} of {len(now)}",
        "yes" if has_tables else "no",
        f"{jobs['cpu_s'].sum() / 3600:.2f}" if len(jobs) else "",
        ", ".join(commit[:7] + commit[12:] for commit in commits[:3]) + (", ..." if len(commits) > 3 else ""),
        "; ".join(machines),
    )


def made_anew(name: str, jobs: pd.DataFrame, now: Identities) -> list[str]:
    """A line for each set of jobs whose digests differ from the present ones, and for the cases that are not there."""
    found: dict[str, list[str]] = {}
    for job in jobs.to_dict("records"):
        difference = " and ".join(changed({str(k): v for k, v in job.items()}, str(job["case"]), now))
        if difference:
            label = f"{job['case']} (piece {job['piece']})" if job["piece"] else str(job["case"])
            found.setdefault(f"other {difference}" if difference != "case gone" else difference, []).append(
                label
            )
    missing = [case for case in now if case not in set(jobs["case"])]
    lines = [f"{name}, {difference}: {', '.join(labels)}" for difference, labels in found.items()]
    which = f"all {len(missing)} cases" if len(missing) == len(now) else ", ".join(missing)
    return [*lines, *([f"{name}, not kept: {which}"] if missing else [])]


def _with_jobs(place: Path) -> bool:
    return any(place.glob("*/pieces.csv"))
