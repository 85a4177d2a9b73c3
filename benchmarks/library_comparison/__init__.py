"""Three problems with known answers, solved by this library and by others as their documentation says.

Each solution is a file `<problem>/by_<package>.py` with a function `solve(seed)`; it is run in a process of its own,
whose CPU time, imports and compilation included, is what counts: wall times on a shared machine say little. The
error of moments is the largest error of a mean or a standard deviation, in standard deviations of the posterior; that
of the log evidence is in nats.
"""

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.contract import Benchmark, Program, own_process

__all__ = ["BENCHMARK"]

HERE = Path(__file__).parent
PROBLEMS = ("eight_schools", "two_moons", "two_modes")
CPU, ERROR, EVIDENCE = "CPU time", "error of moments", "error of log evidence"
MODULES = {"auxmc": "jax", "numpyro_in_auxmc": "numpyro"}
NAMES = {
    "auxmc": "auxmc",
    "blackjax": "BlackJAX",
    "mici": "Mici",
    "numpyro": "NumPyro",
    "numpyro_in_auxmc": "NumPyro in auxmc",
    "dynesty": "dynesty",
    "pyabc": "pyABC",
}


def _programs(problem: str, quick: bool) -> Sequence[Program]:
    def run(package: str, i: int) -> dict[str, float]:
        words = ("-m", "benchmarks.library_comparison.solve", problem, package, str(i + 1))
        return dict(json.loads(own_process(*words)[0].strip().splitlines()[-1]))

    return [
        Program(name, partial(partial, run, package), "", MODULES.get(package, package))
        for package, name in NAMES.items()
        if (HERE / problem / f"by_{package}.py").exists()
    ]


BENCHMARK = Benchmark(
    problems={problem.replace("_", " "): partial(_programs, problem) for problem in PROBLEMS},
    units={CPU: "s", ERROR: "", EVIDENCE: "nats"},
    quick=["two modes"],
)
