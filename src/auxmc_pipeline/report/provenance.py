"""What produced the results: settings, machines, commits, and the cost of each rule."""

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd

from auxmc_pipeline.catalogue import Study
from auxmc_pipeline.settings import numbers_of

# Rules next to the one that runs cases, by the name of their benchmark file.
_RULES = {"summarise": "summarise", "figures": "draw", "claims": "judge_claims"}


def machines(jobs: pd.DataFrame) -> list[dict[str, Any]]:
    """The different environments of jobs: processor, n_cores, versions, n_cases; the one with the most cases first."""
    names = ["processor", "n_cores", "versions"]
    found = jobs.groupby(names, sort=False)["case"].count().rename("n_cases").reset_index()
    return found.sort_values("n_cases", ascending=False, kind="stable").to_dict("records")  # type: ignore[return-value]


def rule_costs(study: str, preset: str, jobs: pd.DataFrame, root: Path = Path()) -> list[dict[str, Any]]:
    """Time and memory of the jobs of every rule in a study, from Snakemake's benchmark files.

    CPU time and memory of cases are those of `jobs`: Snakemake samples a long job every half minute.

    Args:
        study: name of the study.
        preset: its preset.
        jobs: a row for each case.
        root: folder that holds `logs/`.

    Returns:
        Dicts with study, rule, n_jobs, wall_s (seconds), cpu_s (seconds) and peak_mib.
    """
    stated = jobs.set_index("case")[["cpu_s", "peak_memory_mib"]].T.to_dict()
    rows = []
    for path in sorted((root / "logs" / preset / study).glob("*.benchmark.tsv")):
        name = path.name.removesuffix(".benchmark.tsv")
        found = pd.read_csv(path, sep="\t", na_values="-").iloc[:1].to_dict("records")
        job = {"s": 0.0, "cpu_time": 0.0, "max_rss": 0.0, **(found[0] if found else {})}
        own = stated.get(name, {"cpu_s": job["cpu_time"], "peak_memory_mib": job["max_rss"]})
        row = {"rule": _RULES.get(name, "run_case"), "wall_s": job["s"]}
        rows.append({**row, "cpu_s": own["cpu_s"], "peak_mib": own["peak_memory_mib"]})
    if not rows:
        return []
    costs = {"n_jobs": ("rule", "size"), "wall_s": ("wall_s", "sum"), "cpu_s": ("cpu_s", "sum")}
    table = pd.DataFrame(rows).fillna(0.0).groupby("rule").agg(**costs, peak_mib=("peak_mib", "max"))
    return [
        {"study": study, **{str(k): v for k, v in row.items()}}
        for row in table.reset_index().to_dict("records")
    ]


def settings_table(study: Study, preset: str) -> dict[str, Any]:
    """Settings of the cases of a study.

    Returns:
        `shared`: name, value, unit and meaning of settings that are the same in all cases; `varied`: names of the
        others; `cases`: name of each case and its values of the varied settings.

    Raises:
        SettingsError: If a setting is wrong.
    """
    cases = study.cases(preset)
    fields = {field.name: field.metadata for field in dataclasses.fields(study.schema)}
    values = []
    for case in cases:
        numbers = numbers_of(case.settings)
        batch: dict[str, Any] = numbers.pop("batch", {})  # type: ignore[assignment]
        # Values that run inside one program replace the single value.
        values.append({**numbers, **{name: batch[name] for name in batch if name in numbers}})
    varied = [name for name in values[0] if any(v[name] != values[0][name] for v in values)]
    shared = [
        (name, _text(value), fields[name]["unit"], fields[name]["help"])
        for name, value in values[0].items()
        if name not in varied
    ]
    rows = [(case.name, [_text(v[name]) for name in varied]) for case, v in zip(cases, values, strict=True)]
    return {"shared": shared, "varied": varied, "cases": rows}


def _text(value: Any) -> str:
    if isinstance(value, list) and value:
        shown = [_text(v) for v in value]
        few = len(shown) <= 8
        return ", ".join(shown) if few else f"{shown[0]}, {shown[1]}, …, {shown[-1]} ({len(shown)} values)"
    return f"{value:g}" if isinstance(value, float) else str(value) if value not in ("", None, []) else "–"
