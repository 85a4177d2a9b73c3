"""CPU time of the examples in docs/library, each a process of its own, imports and compilation included."""

import re
from collections.abc import Sequence
from functools import partial

from benchmarks.contract import ROOT, Benchmark, Program, lines_of, own_process

__all__ = ["BENCHMARK"]

PAGES = ROOT / "docs" / "library"
CPU, LINES = "CPU time", "lines"


def example(page: str) -> str:
    """All code of a page that is run."""
    return "\n".join(
        re.findall(r"^```python\n(.*?)^```", (PAGES / f"{page}.md").read_text(encoding="utf-8"), re.M | re.S)
    )


def _programs(page: str, quick: bool) -> Sequence[Program]:
    code = example(page)

    def run(i: int) -> dict[str, float]:
        return {CPU: own_process("-c", code)[1], LINES: lines_of(code)}

    return [Program("auxmc", lambda: run)]


BENCHMARK = Benchmark(
    problems={
        page.stem: partial(_programs, page.stem) for page in sorted(PAGES.glob("*.md")) if example(page.stem)
    },
    units={CPU: "s", LINES: ""},
    page_quantities=[CPU],
    quick=["density"],
)
