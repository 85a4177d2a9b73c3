"""Studies and cases of a clone of the project, with their cost, and the settings of a study."""

import dataclasses
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import xarray as xr

from auxmc.command_line.columns import columns, duration
from auxmc_pipeline import catalogue
from auxmc_pipeline.cases import study_cases
from auxmc_pipeline.command_line.show import value_text
from auxmc_pipeline.jobs import recorded_jobs
from auxmc_pipeline.judging.study_tables import cases_of_claims, claims_of
from auxmc_pipeline.settings import PRESETS, interval

_COST = {"cpu_s": "s", "peak_memory_mib": "MiB"}
_STATEMENT = 90
# What a preset is made of, not what a user sets.
_NOT_LISTED = ("preset", "presets", "cases", "variants", "resources", "batch")


def list_studies() -> str:
    """A line for each study: number of cases and CPU time at every preset, title."""
    rows: list[tuple[str, ...]] = [("study", *PRESETS, "title")]
    for study in map(catalogue.load_study, catalogue.studies()):
        rows.append((study.name, *(_cost_of(study, preset) for preset in PRESETS), study.title))
    return (
        f"{columns(rows)}\n\nCPU times are sums over cases, recorded in published/ or experiments/costs.csv. "
        "`auxmc plan` estimates the run time on a number of cores.\n"
        "Run a study with `snakemake STUDY --config preset=PRESET`; see its cases with `auxmc list STUDY`."
    )


def list_cases(study: str, preset: str) -> str:
    """A line for each case of a study: whether it is done, what it took, its overrides."""
    found = catalogue.load_study(study)
    rows: list[tuple[str, ...]] = [("case", "result", "CPU time", "memory", "settings")]
    recorded = recorded_jobs(study, catalogue.check_preset(preset)).groupby("case")
    costs = recorded.agg({"cpu_s": "sum", "peak_memory_mib": "max"})
    for case in found.cases(preset):
        state, cost = _state(catalogue.ROOT / "results" / preset / study / f"{case.name}.nc")
        if state == "missing" and case.name in costs.index:
            cost = costs.loc[case.name].to_dict()
        words = (f"{cost[name]:.0f} {unit}" if name in cost else "" for name, unit in _COST.items())
        rows.append((case.name, state, *words, " ".join(case.overrides[1:])))
    return (
        f"{found.title} ({study}), preset {preset}\n\n{columns(rows, right=[2, 3])}\n\n"
        "Of a missing result these are on record: CPU time of all jobs of the case, memory of the largest.\n"
        f"Make one with `snakemake results/{preset}/{study}/CASE.nc --config preset={preset}`."
    )


def list_claims(preset: str) -> str:
    """A line for each claim: its study, the cases that it needs, their recorded CPU time, its first statement."""
    rows: list[tuple[str, ...]] = [("claim", "study", "cases", "CPU time", "statement")]
    for name in catalogue.studies():
        study = catalogue.load_study(name)
        cpu_s = recorded_jobs(name, catalogue.check_preset(preset)).groupby("case")["cpu_s"].sum()
        statements = claims_of(study).groupby("claim_id", sort=False)["statement"].first()
        for claim_id, cases in cases_of_claims(study, preset).items():
            is_known = set(cases) <= set(cpu_s.index)
            cost = duration(float(cpu_s[cases].sum())) if is_known else "not recorded"
            said = textwrap.shorten(statements[claim_id], _STATEMENT, placeholder=" ...")
            rows.append((claim_id, name, str(len(cases)), cost, said))
    return (
        f"{columns(rows, right=[2, 3])}\n\n"
        f"CPU times are those of preset {preset}, recorded in published/ or experiments/costs.csv.\n"
        f"Run what one needs with `snakemake claim --config id=CLAIM preset={preset}`."
    )


def list_settings(study: str) -> str:
    """Two lines for each setting of a study: its values at the presets; what it does, its unit, what is allowed."""
    found = catalogue.load_study(study)
    at_presets = [found.settings([f"preset={preset}"]) for preset in PRESETS]
    lines = [f"Settings of study {found.name} ({found.title}), values at {', '.join(PRESETS)}:"]
    for field in dataclasses.fields(found.schema):
        if field.name not in _NOT_LISTED:
            values = [value_text(getattr(settings, field.name)) or "''" for settings in at_presets]
            values = values if len(set(values)) > 1 else values[:1]
            lines += [f"  {field.name} = {' / '.join(values)}", f"      {_explained(field.metadata)}"]
    lines.append(f"Cases set some of them otherwise: `auxmc list {study}`, experiments/{study}/config.yaml.")
    return "\n".join(lines)


def _cost_of(study: catalogue.Study, preset: str) -> str:
    n_cases = len(study_cases(study.file, preset))
    jobs = recorded_jobs(study.name, preset)
    cost = "cost not recorded" if jobs["case"].nunique() < n_cases else duration(float(jobs["cpu_s"].sum()))
    return f"{n_cases} case{'s' if n_cases > 1 else ''}, {cost}"


def _state(result: Path) -> tuple[str, dict[Any, Any]]:
    """Whether a case is done, and what it took."""
    if not result.is_file():
        return "missing", {}
    try:
        # Its attributes alone: checking every byte of a hundred results takes longer than anyone waits for a list.
        with xr.open_dataset(result, engine="h5netcdf") as top:
            return "done", {name: top.attrs[name] for name in _COST if name in top.attrs}
    except Exception:
        return "damaged", {}


def _explained(about: Mapping[str, Any]) -> str:
    low, high, choices = (about[name] for name in ("minimum", "maximum", "choices"))
    allowed = ", ".join(choices) or ("" if low is None and high is None else interval(low, high))
    limits = "; ".join(part for part in (about["unit"], f"allowed: {allowed}" if allowed else "") if part)
    return f"{about['help']} [{limits}]" if limits else str(about["help"])
