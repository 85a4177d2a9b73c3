"""The documents whose claims are judged, from `workflow/report/front.toml`."""

import functools
import tomllib
from pathlib import Path
from typing import NamedTuple

from auxmc_pipeline.catalogue import ROOT

FRONT = ROOT / "workflow" / "report" / "front.toml"


class Document(NamedTuple):
    """A document that claims come from."""

    key: str  # short name for addresses and for the column `document` of claims
    name: str  # short name for readers
    title: str  # author, title and year


@functools.cache
def read_documents(path: Path = FRONT) -> tuple[Document, ...]:
    """Documents of a TOML file, in the order in which readers see them; raises ValueError for a wrong key."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))["documents"]
        return tuple(Document(**table) for table in tables)
    except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise ValueError(f"{path}: {error}") from error
