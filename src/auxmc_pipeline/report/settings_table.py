"""Settings of a study's cases: what all share, and what sets them apart."""

import dataclasses
from typing import Any, NamedTuple

from auxmc_pipeline.catalogue import Study
from auxmc_pipeline.settings import numbers_of


class SettingsTable(NamedTuple):
    """Settings of all cases of a study at a preset.

    Attributes:
        shared: name, value, unit and meaning of settings that are the same in all cases.
        varied: names of the others.
        cases: name of each case, its command, and its values of the varied settings.
    """

    shared: list[tuple[str, str, str, str]]
    varied: list[str]
    cases: list[tuple[str, str, list[str]]]


def settings_table(study: Study, preset: str) -> SettingsTable:
    """Composes the settings of all cases of a study.

    Args:
        study: the study.
        preset: its preset.

    Raises:
        SettingsError: a setting is wrong.
    """
    cases = study.cases(preset)
    fields = {field.name: field.metadata for field in dataclasses.fields(study.schema)}
    values = [_with_batch(numbers_of(case.settings)) for case in cases]
    varied = [name for name in values[0] if any(v[name] != values[0][name] for v in values)]
    return SettingsTable(
        shared=[
            (name, _text(value), fields[name]["unit"], fields[name]["help"])
            for name, value in values[0].items()
            if name not in varied
        ],
        varied=varied,
        cases=[
            (
                case.name,
                f"snakemake results/{preset}/{study.name}/{case.name}.nc --config preset={preset}",
                [_text(v[name]) for name in varied],
            )
            for case, v in zip(cases, values, strict=True)
        ],
    )


def _with_batch(numbers: dict[str, Any]) -> dict[str, Any]:
    """Values that run inside one program in place of the single value that they replace."""
    batch = numbers.get("batch", {})
    return {name: batch.get(name, value) for name, value in numbers.items() if name != "batch"}


def _text(value: Any) -> str:
    if isinstance(value, list) and value:
        shown = [_text(v) for v in value]
        return (
            ", ".join(shown)
            if len(shown) <= 8
            else f"{shown[0]}, {shown[1]}, …, {shown[-1]} ({len(shown)} values)"
        )
    return f"{value:g}" if isinstance(value, float) else str(value) if value not in ("", None, []) else "–"
