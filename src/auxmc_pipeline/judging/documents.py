"""The documents whose claims are judged, from `workflow/report/front.toml`."""

import functools
import tomllib
from pathlib import Path
from typing import NamedTuple

from auxmc_pipeline.catalogue import ROOT

__all__ = ["FRONT", "Document", "read_documents"]

FRONT = ROOT / "workflow" / "report" / "front.toml"


class Document(NamedTuple):
    """A document that claims come from.

    Attributes:
        key: short name for addresses and for the column `document` of claims.
        name: short name for readers.
        title: author, title and year.
    """

    key: str
    name: str
    title: str


@functools.cache
def read_documents(path: Path = FRONT) -> tuple[Document, ...]:
    """The documents in the order in which readers see them.

    Raises:
        ValueError: the file is no TOML, or a table has an unknown or a missing key.
    """
    try:
        return tuple(Document(**table) for table in tomllib.loads(path.read_text())["documents"])
    except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise ValueError(f"{path}: {error}") from error
