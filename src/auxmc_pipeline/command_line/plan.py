"""What a preset costs, and how long it takes on a number of cores."""

import pandas as pd

from auxmc.command_line.columns import columns, duration
from auxmc.errors import CommandError
from auxmc_pipeline import catalogue
from auxmc_pipeline.jobs import recorded_jobs
from auxmc_pipeline.readme_tables import run_time


def describe_plan(preset: str, n_cores: int, without: list[str]) -> str:
    """Recorded core hours and longest job of each study, and the time of all on a number of cores.

    Raises CommandError if no study or core is left or no cost is recorded, SettingsError for unknown names.
    """
    if n_cores < 1:
        raise CommandError(f"--cores must be at least 1, got {n_cores}")
    catalogue.check_preset(preset)
    for name in without:
        catalogue.load_study(name)
    names = [name for name in catalogue.studies() if name not in without]
    if not names:
        raise CommandError("--without leaves out all studies: nothing is left to plan")
    jobs = {name: found for name in names if len(found := recorded_jobs(name, preset))}
    if not jobs:
        raise CommandError(f"no cost of {', '.join(names)} is recorded at preset {preset}")
    return format_plan(preset, n_cores, jobs, [name for name in names if name not in jobs])


def format_plan(preset: str, n_cores: int, jobs: dict[str, pd.DataFrame], unknown: list[str]) -> str:
    """The plan of studies whose jobs are on record, and names of the others."""
    every = pd.concat(jobs.values())
    rows: list[tuple[str, ...]] = [("study", "jobs", "core hours", "longest job")]
    for name, found in {**jobs, "all": every}.items():
        cost = f"{found['cpu_s'].sum() / 3600:.2f}", duration(found["cpu_s"].max())
        rows.append((name, str(len(found)), *cost))
    longest = every.loc[every["cpu_s"] == every["cpu_s"].max()].iloc[0]
    lines = [
        columns(rows, right=[1, 2, 3]),
        "",
        f"Longest job: {longest['study']} {longest['case']} {longest['piece']}".rstrip(),
        f"Preset {preset} on {n_cores} cores: at least {duration(run_time(every['cpu_s'], n_cores))}.",
        "Costs are recorded in published/*/*/pieces.csv and experiments/costs.csv.",
    ]
    return "\n".join(lines + [f"Not recorded: {', '.join(unknown)}."] * bool(unknown))
