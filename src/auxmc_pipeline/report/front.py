"""What the report says first: documents, and which findings matter most; from `workflow/report/front.toml`."""

import re
import tomllib
from pathlib import Path
from typing import NamedTuple


class Document(NamedTuple):
    """A document that claims come from.

    Attributes:
        key: short name for addresses.
        name: short name for readers.
        title: author, title and year.
        sources: regular expression that is searched for in "study: source" of a claim; empty for any.
    """

    key: str
    name: str
    title: str
    sources: str


class Highlight(NamedTuple):
    """A finding that matters most.

    Attributes:
        section: beginning of the heading of its section.
        finding: beginning of its lead.
        headline: what the front page says in place of the lead; empty for the lead itself.
        figure: `study/figure` that carries it; empty for none.
    """

    section: str
    finding: str
    headline: str = ""
    figure: str = ""


class Front(NamedTuple):
    """Documents in the order in which sources are matched, findings in order of importance."""

    documents: tuple[Document, ...]
    highlights: tuple[Highlight, ...]


def read_front(path: Path) -> Front:
    """Reads the file that names documents and highlights.

    Raises:
        ValueError: the file is no TOML, or a table has an unknown or a missing key.
    """
    with open(path, "rb") as file:
        try:
            tables = tomllib.load(file)
            documents = [Document(**table) for table in tables["documents"]]
            highlights = [Highlight(**table) for table in tables["highlights"]]
        except (tomllib.TOMLDecodeError, TypeError, KeyError) as error:
            raise ValueError(f"{path}: {error}") from error
    return Front(tuple(documents), tuple(highlights))


def document_of(documents: tuple[Document, ...], study: str, source: str) -> Document:
    """The document that a claim comes from: the first whose pattern is found in the claim's source.

    Args:
        documents: of `read_front`; the last one matches anything.
        study: the claim's study.
        source: place of the claim, as its table has it.
    """
    return next(d for d in documents if re.search(d.sources, f"{study}: {source}"))
