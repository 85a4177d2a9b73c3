"""Three problems with known answers, solved by this library and by others as their documentation says.

Each program of `library_programs.py` is run in a process of its own, whose CPU time, imports and compilation included,
is what counts: wall times on a shared machine say little.
"""

import json
from collections.abc import Sequence
from functools import partial

from benchmarks.harness import Benchmark, Program, own_process
from benchmarks.library_programs import PROGRAMS

PACKAGES = {"auxmc": "jax", "NumPyro in auxmc": "numpyro"}


def _programs(problem: str, quick: bool) -> Sequence[Program]:
    def run(name: str, i: int) -> dict[str, float]:
        output, _ = own_process("-m", "benchmarks.library_programs", problem, name, str(i + 1))
        return dict(json.loads(output.splitlines()[-1]))

    return [
        Program(name, partial(partial, run, name), "", PACKAGES.get(name, name.lower()))
        for name in PROGRAMS[problem]
    ]


BENCHMARK = Benchmark(
    problems={problem: partial(_programs, problem) for problem in PROGRAMS},
    units={"CPU time": "s", "error of moments": "", "error of log evidence": "nats"},
    quick=["two modes"],
)
