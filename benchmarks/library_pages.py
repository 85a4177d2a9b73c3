"""CPU time of the examples in docs/library, each a process of its own, imports and compilation included."""

import re
from collections.abc import Sequence
from functools import partial

from benchmarks.harness import ROOT, Benchmark, Program, own_process

__all__ = ["BENCHMARK"]

CPU = "CPU time"
PAGES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs/library").glob("*.md"))}
EXAMPLES = {
    name: "\n".join(re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)) for name, text in PAGES.items()
}


def _programs(page: str, quick: bool) -> Sequence[Program]:
    return [Program("auxmc", lambda: lambda i: {CPU: own_process("-c", EXAMPLES[page])[1]})]


BENCHMARK = Benchmark(
    problems={page: partial(_programs, page) for page, code in EXAMPLES.items() if code},
    units={CPU: "s"},
    quick=["density"],
)
