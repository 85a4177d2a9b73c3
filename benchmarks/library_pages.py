"""CPU time of the examples in docs/library, each a process of its own, imports and compilation included."""

import re
from collections.abc import Sequence
from functools import partial

from benchmarks.harness import ROOT, Benchmark, Program, own_process

CPU = "CPU time"


def _programs(code: str, quick: bool) -> Sequence[Program]:
    return [Program("auxmc", lambda: lambda i: {CPU: own_process("-c", code)[1]})]


EXAMPLES = {
    path.stem: "\n".join(re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S))
    for path in sorted((ROOT / "docs/library").glob("*.md"))
}
BENCHMARK = Benchmark(
    problems={page: partial(_programs, code) for page, code in EXAMPLES.items() if code},
    units={CPU: "s"},
    quick=["density"],
)
