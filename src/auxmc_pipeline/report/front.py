"""What the report says first: documents, and which findings matter most; from `workflow/report/front.toml`."""

from pathlib import Path
from typing import NamedTuple

from auxmc_pipeline.judging.documents import Document, entries, read_documents


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
    """Documents in the order in which readers see them, findings in order of importance."""

    documents: tuple[Document, ...]
    highlights: tuple[Highlight, ...]


def read_front(path: Path) -> Front:
    """Reads the file that names documents and highlights; raises as `auxmc_pipeline.judging.documents.entries`."""
    return Front(read_documents(path), entries(path, "highlights", Highlight))
