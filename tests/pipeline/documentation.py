"""Commands and Python snippets of README, docs and notes, as a reader would type them."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]


class Shown(NamedTuple):
    """A command and the page that shows it."""

    page: str
    command: str


def pages() -> list[Path]:
    """README and the hand-written pages of the documentation."""
    docs = ROOT / "docs"
    return [ROOT / "README.md", *sorted(docs.glob("*.md")), *sorted((docs / "library").glob("*.md"))]


def console_lines() -> list[Shown]:
    """Every line of every console block, without remarks."""
    out = []
    for page in pages():
        for block in re.findall(r"^```console\n(.*?)^```", page.read_text(), re.M | re.S):
            for line in block.splitlines():
                words = re.sub(r"\s+#.*$", "", line).strip()
                out += [Shown(page.name, part.strip()) for part in words.split(" && ") if part.strip()]
    return out


def commands() -> list[Shown]:
    """Every different command of the console blocks, at the first page that shows it, at smoke size."""
    found: dict[str, Shown] = {}
    for shown in console_lines():
        command = at_smoke_size(shown.command)
        found.setdefault(command, Shown(shown.page, command))
    return list(found.values())


def at_smoke_size(command: str) -> str:
    """The same command with preset smoke, and with the files that this preset makes."""
    command = re.sub(r"\b(results/|paper_figures/)quick\b", r"\1smoke", command)
    words = shlex.split(command)
    if words[0] != "snakemake" or any(word.startswith("preset=") for word in words):
        return command
    if "--config" in words:
        return command.replace("--config ", "--config preset=smoke ", 1)
    return f"{command} --config preset=smoke"


def snippets() -> list[Shown]:
    """The Python blocks of each page of the documentation, which are one program from its top to its end."""
    block = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
    found = {page.name: block.findall(page.read_text()) for page in pages()}
    return [Shown(name, "\n".join(blocks)) for name, blocks in found.items() if blocks]


def note_commands() -> Iterator[Shown]:
    """Commands that run a case or a sweep in the README files of the studies, which are indented blocks."""
    for page in sorted((ROOT / "experiments").glob("*/README.md")):
        for line in re.sub(r" \\\n +", " ", page.read_text()).splitlines():
            if re.match(r"    (python -m auxmc_pipeline\.steps\.run|snakemake) ", line):
                yield Shown(page.parent.name, re.sub(r"\s+#.*$", "", line).strip())
