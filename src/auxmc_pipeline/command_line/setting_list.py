"""The settings of a study, with what each does and what is allowed."""

import dataclasses

from auxmc.command_line.errors import CommandError
from auxmc_pipeline.catalogue import load_study
from auxmc_pipeline.settings import SettingsError, interval

__all__ = ["list_settings"]


def list_settings(study: str) -> str:
    """A line for each setting of a study: name, what it does, unit, allowed values.

    Args:
        study: name of the study.

    Raises:
        CommandError: there is no such study.
    """
    try:
        found = load_study(study)
    except SettingsError as error:
        raise CommandError(str(error)) from error
    lines = [f"Settings of study {found.name} ({found.title}):"]
    for field in dataclasses.fields(found.schema):
        about = field.metadata
        bounded = about["minimum"] is not None or about["maximum"] is not None
        allowed = ", ".join(about["choices"]) or (
            interval(about["minimum"], about["maximum"]) if bounded else ""
        )
        limits = "; ".join(part for part in (about["unit"], f"allowed: {allowed}" if allowed else "") if part)
        lines.append(f"  {field.name:28} {about['help']}{f' [{limits}]' if limits else ''}")
    return "\n".join(lines)
