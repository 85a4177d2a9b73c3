"""What a preset costs, and how long it takes on a number of cores."""

import math

from auxmc.command_line.columns import columns, duration
from auxmc.errors import CommandError
from auxmc_pipeline import catalogue
from auxmc_pipeline.publishing.costs import CaseCost, case_costs, schedule


def describe_plan(preset: str, n_cores: int, without: list[str]) -> str:
    """Core hours by study, the longest job, and the time of the whole on a number of cores.

    Args:
        preset: the preset.
        n_cores: cores, at least 1.
        without: studies to leave out.

    Raises:
        CommandError: no study left, or no core.
        SettingsError: no such preset or study, or a setting is wrong.
    """
    if n_cores < 1:
        raise CommandError(f"--cores must be at least 1, got {n_cores}")
    catalogue.check_preset(preset)
    for name in without:
        catalogue.load_study(name)
    names = [name for name in catalogue.studies() if name not in without]
    if not names:
        raise CommandError("--without leaves out all studies: nothing is left to plan")
    costs = {name: case_costs(catalogue.load_study(name), preset) for name in names}
    return plan_in_words(preset, n_cores, costs)


def plan_in_words(preset: str, n_cores: int, costs: dict[str, list[CaseCost]]) -> str:
    """The plan of cases whose costs are known.

    Args:
        preset: the preset.
        n_cores: cores.
        costs: of the cases of each study.

    Raises:
        CommandError: no cost is known.
    """
    rows = [("study", "jobs", "core hours", "longest job", "costs are")]
    known = [case for cases in costs.values() for case in cases if math.isfinite(case.total)]
    if not known:
        raise CommandError(
            f"no cost of {', '.join(costs)} at preset {preset} is known: none is recorded in published/ or "
            "conf/costs.csv, and conf/costs.toml expects none"
        )
    for name, cases in costs.items():
        sources = [f"{source} for {n}" for source in ("recorded", "expected") if (n := _count(cases, source))]
        rows.append(
            (
                name,
                str(_n_jobs(cases)),
                f"{sum(case.total for case in cases) / 3600:.2f}",
                duration(max(max(case.pieces) for case in cases)),
                f"{' and '.join(sources)} of {len(cases)} cases",
            )
        )
    everything = f"{sum(case.total for case in known) / 3600:.2f}"
    rows.append(
        ("all", str(_n_jobs(known)), everything, duration(max(max(case.pieces) for case in known)), "")
    )
    longest = max(known, key=lambda case: max(case.pieces))
    path = max(known, key=lambda case: max(case.pieces) + case.merge)
    expected = _count(known, "expected")
    cores = f"{n_cores} core{'s' if n_cores > 1 else ''}"
    lines = [
        columns(rows, right=[1, 2, 3]),
        "",
        f"Longest job: {longest.study} {longest.case}, {_job(longest)}, {duration(max(longest.pieces))}.",
        f"Longest path: {path.study} {path.case}, {duration(max(path.pieces) + path.merge)}.",
        f"Preset {preset} on {cores}: {duration(schedule(known, n_cores))}, the longest jobs first; on a cluster the "
        "start of jobs comes on top.",
        "Recorded costs are those of published/*/*/pieces.csv and conf/costs.csv.",
    ]
    if expected:
        lines.append(
            f"Of {expected} cases none is recorded: what conf/costs.toml expects of their study is shared out as at "
            "preset quick."
        )
    return "\n".join(lines)


def _count(cases: list[CaseCost], source: str) -> int:
    return sum(case.source == source for case in cases)


def _n_jobs(cases: list[CaseCost]) -> int:
    return sum(len(case.pieces) + (case.merge > 0.0) for case in cases)


def _job(case: CaseCost) -> str:
    return f"one of {len(case.pieces)} pieces" if len(case.pieces) > 1 else "in one piece"
