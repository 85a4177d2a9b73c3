"""The settings of a study: what each does, what is allowed, its values at the presets."""

import dataclasses

from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.settings import PRESETS, interval

# What a preset is made of, not what a user sets.
_NOT_LISTED = ("preset", "presets", "cases", "resources", "batch")


def list_settings(study: str) -> str:
    """A line for each setting of a study: name, value, what it does, unit, allowed values.

    Args:
        study: name of the study.

    Returns:
        Values are those of every preset where they differ between presets. Cases of the study's own grids set some of
        them otherwise.

    Raises:
        SettingsError: there is no such study.
    """
    found = load_study(study)
    at_presets = {preset: found.settings([f"preset={preset}"]) for preset in PRESETS}
    lines = [f"Settings of study {found.name} ({found.title}), values at {', '.join(PRESETS)}:"]
    for field in dataclasses.fields(found.schema):
        if field.name in _NOT_LISTED:
            continue
        about = field.metadata
        values = list(
            dict.fromkeys(_shown(getattr(settings, field.name)) for settings in at_presets.values())
        )
        if len(values) > 1:
            values = [_shown(getattr(settings, field.name)) for settings in at_presets.values()]
        bounded = about["minimum"] is not None or about["maximum"] is not None
        allowed = ", ".join(about["choices"]) or (
            interval(about["minimum"], about["maximum"]) if bounded else ""
        )
        limits = "; ".join(part for part in (about["unit"], f"allowed: {allowed}" if allowed else "") if part)
        lines += [
            f"  {field.name} = {' / '.join(values)}",
            f"      {about['help']}{f' [{limits}]' if limits else ''}",
        ]
    lines.append(
        f"Cases of the study set some of them otherwise: `auxmc list {study}`, conf/study/{study}.yaml."
    )
    return "\n".join(lines)


def _shown(value: object) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    return "''" if value == "" else str(value)
