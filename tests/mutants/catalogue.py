"""All mutations by name: those of the source from `source/<component>.toml`, and the wrapped kernels."""

import tomllib
from pathlib import Path
from typing import Any

from tests.mutants.mutation import SourceMutation

__all__ = ["read_source_mutations"]

FOLDER = Path(__file__).with_name("source")

_KEYS = {"what", "module", "edits", "tests", "harmless", "error"}
_NEEDED = {"what", "module", "edits", "tests"}


def read_source_mutations(folder: Path = FOLDER) -> dict[str, SourceMutation]:
    """Reads all files of a folder, each named by its component.

    Raises:
        ValueError: a key is unknown or missing, or two mutations have one name.
    """
    found: dict[str, SourceMutation] = {}
    for path in sorted(folder.glob("*.toml")):
        for name, given in tomllib.loads(path.read_text()).items():
            if name in found:
                raise ValueError(f"{path.name}: there is another mutation with the name {name}")
            found[name] = _mutation(path.stem, f"{path.name}, {name}", given)
    return found


def _mutation(component: str, where: str, given: dict[str, Any]) -> SourceMutation:
    unknown, missing = given.keys() - _KEYS, _NEEDED - given.keys()
    if unknown or missing:
        raise ValueError(f"{where}: keys that are unknown {sorted(unknown)} or missing {sorted(missing)}")
    edits = tuple((old, new) for old, new in given["edits"])
    if not edits or not given["tests"]:
        raise ValueError(f"{where}: a mutation needs an edit and a test")
    return SourceMutation(component, **(given | {"edits": edits}))
