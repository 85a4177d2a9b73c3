"""Every numbered item of the documents beside its counterpart here: `python -m auxmc_pipeline.steps.coverage`."""

import argparse
import ast
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from auxmc_pipeline.catalogue import ROOT, load_study, studies
from auxmc_pipeline.report.places.figure_names import parse_figure_name
from auxmc_pipeline.report.places.figure_sources import SourcePlace, figure_source

CATALOGUE = ROOT / "experiments" / "documents.toml"
_KINDS = {"algorithms": "algorithm", "tables": "table", "figures": "figure"}
# A docstring's source: document, then the algorithms or tables that it names before the next document begins.
_DOCUMENTS = "PhD thesis|MSc thesis|Graham and Storkey 2017"
_SOURCE = re.compile(rf"({_DOCUMENTS})((?:(?!{_DOCUMENTS}|;|  ).)*)")
_NAMED = re.compile(r"(Algorithm|Table)s? ((?:[A-D]\.)?\d+(?:(?:, | and | to )(?:[A-D]\.)?\d+)*)")


class Place(NamedTuple):
    """A counterpart of an item.

    Attributes:
        name: of a figure, or of a function or class.
        file: where the function that draws the figure, or the function or class, stands, relative to the root.
        line: on which it begins.
        study: whose figure it is, empty for a function.
        quantities: what the figure reads from the tables, with the places where these are recorded.
    """

    name: str
    file: str
    line: int
    study: str = ""
    quantities: tuple[SourcePlace, ...] = ()


class Item(NamedTuple):
    """A numbered figure, table or algorithm of a document.

    Attributes:
        document: short name.
        kind: figure, table or algorithm.
        number: as the document numbers it, or a word where it does not.
        title: a few words.
        drawing: whether it is a schematic without a computed quantity.
        repeats: name of the item that has the same content, empty if none.
    """

    document: str
    kind: str
    number: str
    title: str
    drawing: bool
    repeats: str

    @property
    def name(self) -> str:
        """Document, kind and number."""
        return f"{self.document}, {self.kind} {self.number}"


def numbered_items() -> list[Item]:
    """All items of `documents.toml`, in its order."""
    return [
        _item(document["name"], kind, number, entry)
        for document in tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["documents"]
        for group, kind in _KINDS.items()
        for number, entry in document.get(group, {}).items()
    ]


def figures() -> dict[str, list[Place]]:
    """Figures of all studies by the name of the item that they show; those without an item are our own."""
    found = defaultdict(list)
    for name in studies():
        study = load_study(name)
        for figure in study.figures:
            parts = parse_figure_name(figure)
            if parts.number:
                item = f"{study.document}, figure {parts.number}"
            elif parts.is_slide:
                item = f"Lecture slides, figure {parts.further}"
            else:
                continue
            source = figure_source(study, figure)
            found[item].append(Place(figure, source.drawn.file, source.drawn.line, name, source.quantities))
    return dict(found)


def algorithms_and_tables(root: Path = ROOT / "src") -> dict[str, list[Place]]:
    """Modules, functions and classes whose docstring names an algorithm or a table as source, by the item's name."""
    found = defaultdict(list)
    for path in sorted(root.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                name, line = (path.stem, 1) if isinstance(node, ast.Module) else (node.name, node.lineno)
                for item in _named_sources(ast.get_docstring(node) or ""):
                    found[item].append(Place(name, str(path.relative_to(ROOT)), line))
    return dict(found)


def coverage() -> list[tuple[Item, list[Place]]]:
    """Every item with its counterparts, which a drawing may lack."""
    places = figures() | algorithms_and_tables()
    return [(item, places.get(item.repeats or item.name, [])) for item in numbered_items()]


def markdown() -> str:
    """The page `docs/coverage.md`."""
    lines = [
        "# Coverage of the documents",
        "",
        "Every numbered figure, table and algorithm of the five documents with its counterpart here: function, file",
        "and line. For a figure that is the function that draws it, then the quantities that it reads from the study's",
        "tables, each with the line that records it. A command of the last column writes the figure to",
        "`paper_figures/<preset>/<study>/`. `python -m auxmc_pipeline.steps.coverage --write` makes this page from",
        "`experiments/documents.toml`, the source of the studies and the sources named in docstrings.",
    ]
    by_document: dict[str, list[str]] = defaultdict(list)
    for item, places in coverage():
        by_document[item.document].append(_row(item, places))
    titles = {
        d["name"]: d["title"] for d in tomllib.loads(CATALOGUE.read_text(encoding="utf-8"))["documents"]
    }
    for document, rows in by_document.items():
        lines += ["", f"## {document}", "", f"{titles[document]}.", ""]
        lines += [
            "| item | what | counterpart | where | quantities | command |",
            "|---|---|---|---|---|---|",
            *rows,
        ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status: 1 if an item that is not a drawing has no counterpart."""
    parser = argparse.ArgumentParser(
        prog="python -m auxmc_pipeline.steps.coverage",
        description="Show the counterpart of every figure, table and algorithm of the documents.",
    )
    parser.add_argument(
        "--write",
        nargs="?",
        type=Path,
        const=ROOT / "docs" / "coverage.md",
        help="write the page (docs/coverage.md)",
    )
    options = parser.parse_args(arguments)
    page = markdown()
    if options.write:
        options.write.write_text(page, encoding="utf-8")
    else:
        print(page, end="")
    missing = [item.name for item, places in coverage() if not (places or item.drawing)]
    for name in missing:
        print(f"no counterpart: {name}", file=sys.stderr)
    return 1 if missing else 0


def _item(document: str, kind: str, number: str, entry: str | Mapping[str, str]) -> Item:
    if isinstance(entry, str):
        return Item(document, kind, number, entry, False, "")
    return Item(
        document,
        kind,
        number,
        entry["title"],
        bool(entry.get("drawing", False)),
        str(entry.get("same_as", "")),
    )


def _named_sources(docstring: str) -> Iterator[str]:
    for document, rest in _SOURCE.findall(" ".join(docstring.split("\n"))):
        for kind, numbers in _NAMED.findall(rest):
            for number in _numbers(numbers):
                yield f"{document}, {kind.lower()} {number}"


def _numbers(text: str) -> list[str]:
    out = []
    for part in re.split(r", | and ", text):
        first, _, last = part.partition(" to ")
        head = first[: first.index(".") + 1] if "." in first else ""
        begin, end = (int(number.removeprefix(head)) for number in (first, last or first))
        out += [f"{head}{number}" for number in range(begin, end + 1)]
    return out


def _row(item: Item, places: Sequence[Place]) -> str:
    head = f"| {item.kind} {item.number} | {item.title} | "
    if item.drawing:
        return head + "a drawing, nothing computed | | | |"
    same = f"same as {item.repeats}: " if item.repeats else ""
    names = same + ", ".join(f"`{place.name}`" for place in places)
    files = ", ".join(dict.fromkeys(f"`{place.file}:{place.line}`" for place in places))
    by_file: dict[str, list[str]] = defaultdict(list)
    for quantity in dict.fromkeys(quantity for place in places for quantity in place.quantities):
        by_file[quantity.file].append(f"{quantity.name} {quantity.line}")
    quantities = "; ".join(f"`{file}`: {', '.join(names)}" for file, names in sorted(by_file.items()))
    commands = ", ".join(dict.fromkeys(f"`snakemake {place.study}`" for place in places if place.study))
    return f"{head}{names} | {files} | {quantities} | {commands} |"


if __name__ == "__main__":
    sys.exit(main())
