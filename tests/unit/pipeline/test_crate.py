"""Published results as an RO-Crate: every file with its checksum, every reference resolved."""

import hashlib
import json
from pathlib import Path

import pytest

from auxmc_pipeline.judging.published import PUBLISHED, published_presets
from auxmc_pipeline.publishing.crate import NAME, crate_of


@pytest.mark.parametrize("preset", published_presets())
def test_the_crate_that_is_kept_is_that_of_the_files_beside_it(preset: str) -> None:
    place = PUBLISHED / preset
    kept = json.loads((place / NAME).read_text())
    assert kept == crate_of(place, preset), f"run `make publish PRESET={preset}`"
    entities = {entity["@id"]: entity for entity in kept["@graph"]}
    assert len(entities) == len(kept["@graph"])
    files = {e["@id"]: e["sha256"] for e in entities.values() if e["@type"] == "File"}
    assert files == {
        path.relative_to(place).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in place.glob("*/**/*")
        if path.is_file()
    }
    for reference in _references(kept["@graph"]):
        assert reference in entities or reference.startswith("https://w3id.org/ro/"), reference
    made = [
        name for e in entities.values() if e["@type"] == "CreateAction" for name in _references(e["result"])
    ]
    assert sorted(made) == sorted(files), "every file is the result of one action"


def test_a_file_of_an_unknown_kind_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "radon").mkdir()
    (tmp_path / "radon" / "pieces.csv").write_bytes(
        (PUBLISHED / "quick" / "radon" / "pieces.csv").read_bytes()
    )
    (tmp_path / "radon" / "notes.xyz").write_text("?")
    with pytest.raises(KeyError, match=r"\.xyz"):
        crate_of(tmp_path, "quick")


def _references(value: object) -> list[str]:
    if isinstance(value, dict):
        if set(value) == {"@id"}:
            return [value["@id"]]
        return [name for part in value.values() for name in _references(part)]
    return [name for part in value for name in _references(part)] if isinstance(value, list) else []
