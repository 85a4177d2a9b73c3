"""Composed cases that are kept between commands: composing those of all studies takes most of the time of a plan."""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from auxmc.driver.files.writing import write_atomically
from auxmc_pipeline.cases import Case
from auxmc_pipeline.code import code_digest
from auxmc_pipeline.settings import CaseSettings

__all__ = ["digest_of_settings", "kept_cases"]

# What turns files of settings into cases.
_COMPOSERS = ("hydra-core", "omegaconf")


def digest_of_settings(conf: Path, study: str, schema: type[CaseSettings], roots: Sequence[Path]) -> str:
    """Digest of all that the cases of a study follow from: files of settings, code, packages.

    Args:
        conf: folder of the Hydra files.
        study: name of the study.
        schema: its settings dataclass.
        roots: folders that hold the project's packages.
    """
    whole = hashlib.sha256()
    own = conf / "study" / f"{study}.yaml"
    for path in sorted(path for path in conf.rglob("*.yaml") if path.parent.name != "study" or path == own):
        whole.update(f"{path.relative_to(conf)}\n".encode() + path.read_bytes())
    for module in (schema.__module__, "auxmc_pipeline.cases"):
        whole.update(code_digest(module, roots).encode())
    whole.update(" ".join(version(name) for name in _COMPOSERS).encode())
    return whole.hexdigest()[:32]


def kept_cases(place: Path, schema: type[CaseSettings], compose: Callable[[], list[Case]]) -> list[Case]:
    """Cases as they are kept in a file, or composed and then kept.

    Args:
        place: the file, whose name changes with everything that the cases follow from.
        schema: settings dataclass of the study.
        compose: makes the cases.

    Raises:
        SettingsError: as `compose` does; a case with wrong settings is never kept.
    """
    # A file that is damaged, or that another version of this code wrote, is as good as none.
    with suppress(OSError, ValueError, KeyError, TypeError):
        return [
            Case(row["name"], tuple(row["overrides"]), tuple(row["axes"]), schema(**row["settings"]))
            for row in json.loads(place.read_text(encoding="utf-8"))
        ]
    cases = compose()
    rows = [
        {
            "name": case.name,
            "overrides": case.overrides,
            "axes": case.axes,
            "settings": dataclasses.asdict(case.settings),
        }
        for case in cases
    ]
    text = json.dumps(rows)
    # Kept only if nothing is lost on the way, and where there is room.
    if [schema(**row["settings"]) for row in json.loads(text)] == [case.settings for case in cases]:
        with suppress(OSError):
            write_atomically(place, lambda path: path.write_text(text, encoding="utf-8"))
    return cases
