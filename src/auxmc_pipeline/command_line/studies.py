"""Studies and cases of a checkout of the project, with their cost."""

from pathlib import Path

import xarray as xr

from auxmc.command_line.columns import columns, duration
from auxmc_pipeline import catalogue
from auxmc_pipeline.cases import study_cases
from auxmc_pipeline.publishing.costs import expected_costs, recorded_jobs
from auxmc_pipeline.settings import PRESETS


def list_studies() -> str:
    """A line for each study: number of cases and CPU time at every preset, title.

    Raises:
        SettingsError: a setting is wrong.
    """
    cost = expected_costs()
    rows: list[tuple[str, ...]] = [("study", *PRESETS, "title")]
    for name in catalogue.studies():
        study = catalogue.load_study(name)
        counts = [_number_of_cases(study, preset) for preset in PRESETS]
        expected = cost.get(name, {})
        cells = (
            f"{count} case{'s' if count > 1 else ''}, "
            f"{_recorded(name, preset, count) or expected.get(preset, 'cost not recorded')}"
            for preset, count in zip(PRESETS, counts, strict=True)
        )
        rows.append((name, *cells, study.title))
    return "\n".join(
        [
            columns(rows),
            "",
            "CPU times are of all cases of a study, recorded in published/ or conf/costs.csv, or as expected in "
            "conf/costs.toml. What a preset takes on so many cores: `auxmc plan`.",
            "Run a study with `snakemake STUDY --config preset=PRESET`; see its cases with `auxmc list STUDY`.",
        ]
    )


def list_cases(study: str, preset: str) -> str:
    """A line for each case of a study: whether it is done, what it took, its overrides.

    Args:
        study: name of the study.
        preset: its preset.

    Raises:
        SettingsError: no such study or preset, or a setting is wrong.
    """
    catalogue.check_preset(preset)
    found = catalogue.load_study(study)
    cases = found.cases(preset)
    rows = [("case", "result", "CPU time", "memory", "settings")]
    recorded = _recorded_cases(study, preset)
    for case in cases:
        result = catalogue.ROOT / "results" / preset / study / f"{case.name}.nc"
        chosen = " ".join(word for word in case.overrides if not word.startswith("preset="))
        state, cost = (
            ("done", _taken(result)) if result.is_file() else ("missing", recorded.get(case.name, ("", "")))
        )
        rows.append((case.name, state, *cost, chosen))
    return "\n".join(
        [
            f"{found.title} ({study}), preset {preset}",
            "",
            columns(rows, right=[2, 3]),
            "",
            "Of a missing result these are on record: CPU time of all jobs of the case, memory of the largest.",
            f"Make one with `snakemake results/{preset}/{study}/CASE.nc --config preset={preset}`.",
        ]
    )


def _recorded(study: str, preset: str, n_cases: int) -> str:
    """What all cases of a study took, from the record of their jobs; empty where some of them are not recorded."""
    jobs = recorded_jobs(study, preset)
    if jobs["case"].nunique() < n_cases:
        return ""
    return duration(float(jobs["cpu_s"].sum()))


def _recorded_cases(study: str, preset: str) -> dict[str, tuple[str, str]]:
    """CPU time and memory of the cases whose jobs are on record."""
    jobs = recorded_jobs(study, preset).groupby("case")
    both = zip(jobs["cpu_s"].sum().items(), jobs["peak_memory_mib"].max(), strict=True)
    return {str(case): _cost(cpu_s, peak_mib) for (case, cpu_s), peak_mib in both}


def _number_of_cases(study: catalogue.Study, preset: str) -> int:
    return len(study_cases(catalogue.CONF, study.name, study.schema, preset))


def _taken(result: Path) -> tuple[str, str]:
    try:
        # Its attributes alone: checking every byte of a hundred results takes longer than anyone waits for a list.
        with xr.open_dataset(result, engine="h5netcdf") as top:
            cpu_s, peak_mib = (top.attrs.get(name) for name in ("cpu_s", "peak_memory_mib"))
    except Exception:
        return "damaged", ""
    return _cost(cpu_s, peak_mib)


def _cost(cpu_s: float | None, peak_mib: float | None) -> tuple[str, str]:
    """Words for seconds of CPU time and for MiB; empty where they are not known."""
    return "" if cpu_s is None else f"{cpu_s:.0f} s", "" if peak_mib is None else f"{peak_mib:.0f} MiB"
