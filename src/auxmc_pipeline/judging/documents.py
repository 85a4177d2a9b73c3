"""The documents whose claims are judged, from `workflow/report/front.toml`."""

import functools
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from auxmc_pipeline.catalogue import ROOT

__all__ = ["FRONT", "Document", "entries", "read_documents"]

FRONT = ROOT / "workflow" / "report" / "front.toml"

_Entry = TypeVar("_Entry")


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
    """The documents in the order in which readers see them; raises as `entries`."""
    return entries(path, "documents", Document)


def entries(path: Path, name: str, kind: Callable[..., _Entry]) -> tuple[_Entry, ...]:
    """The tables of one name in the file, in its order.

    Args:
        path: the file.
        name: of the tables.
        kind: what is made of each, from its keys.

    Raises:
        ValueError: the file is no TOML, or a table has an unknown or a missing key.
    """
    try:
        return tuple(kind(**table) for table in tomllib.loads(path.read_text(encoding="utf-8"))[name])
    except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
        raise ValueError(f"{path}: {error}") from error
