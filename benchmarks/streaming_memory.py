"""Memory and time of a streaming run against the number of rows: the linear model at the published settings.

Rows are simulated block by block as they are read, so that nothing of the size of the stream exists anywhere. Each run
has a process of its own, with a checkpoint on disk as a user's run has. Float32.
"""

import json
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import jax

from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.provenance import peak_memory_mib
from auxmc.driver.runtime import configure
from auxmc.kernels.streams.contract import StreamSettings
from auxmc.kernels.streams.published_estimators import particle_evidence
from auxmc.models.regression.linear_regression import linear_regression
from benchmarks.harness import Benchmark, Program, own_process
from benchmarks.streaming_speed import absorb
from experiments.streaming_evidence.model import blocks

CPU, MEMORY = "CPU time for a million rows", "peak memory"


def _programs(n_rows: int, quick: bool) -> Sequence[Program]:
    def run(i: int) -> dict[str, float]:
        output, _ = own_process("-m", "benchmarks.streaming_memory", str(n_rows), str(i))
        return dict(json.loads(output.splitlines()[-1]))

    return [Program("auxmc, annealed", lambda: run)]


BENCHMARK = Benchmark(
    problems={f"1e{power} rows": partial(_programs, 10**power) for power in (4, 6, 8)},
    units={CPU: "s", MEMORY: "MiB"},
    quick=["1e4 rows", "1e6 rows"],
)

if __name__ == "__main__":
    configure("cpu")
    n_rows, key = int(sys.argv[1]), jax.random.key(int(sys.argv[2]))
    stream = particle_evidence(linear_regression(5), StreamSettings())
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(Path(folder) / "state", "benchmark")
        _, seconds = absorb(stream, lambda _: blocks("linear", n_rows), key, 6, checkpoint=checkpoint)
    print(json.dumps({CPU: 1e6 * seconds / n_rows, MEMORY: peak_memory_mib()}))
