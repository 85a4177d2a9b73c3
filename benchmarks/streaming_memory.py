"""Memory and time of a streaming run against the number of rows: the linear model at the published settings.

Rows are simulated block by block as they are read, so that nothing of the size of the stream exists anywhere. Each run
has a process of its own, with a checkpoint on disk as a user's run has. Float32.
"""

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import jax

from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.provenance import peak_memory_mib
from auxmc.driver.runtime import configure
from auxmc.kernels.streams.contract import StreamSettings
from auxmc.kernels.streams.published_estimators import stream_evidence
from auxmc.models.regression.linear_regression import PrefixEvidence, extend_evidence, linear_regression
from auxmc.numerics.array_types import FloatArray
from benchmarks.contract import Benchmark, Program, own_process
from benchmarks.streaming_speed import absorb
from experiments.streaming_evidence.model import blocks

__all__ = ["BENCHMARK"]

N_FEATURES = 5
UNITS = {
    "CPU time for a million rows": "s",
    "peak memory": "MiB",
    "before the first row": "MiB",
    "the record": "MiB",
    "error of log evidence": "nats",
}


def run_size(n_rows: int, seed: int) -> dict[str, float]:
    """One run in this process."""
    evidence, start_mib = PrefixEvidence.empty(N_FEATURES), 0.0

    def read(skip: int) -> Iterator[FloatArray]:
        nonlocal evidence, start_mib
        start_mib = peak_memory_mib()
        for block in blocks("linear", n_rows):
            evidence = extend_evidence(evidence, block, 1.0)
            yield block

    stream = stream_evidence(linear_regression(N_FEATURES), StreamSettings())
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = Checkpoint(Path(folder) / "state", "benchmark")
        record, seconds = absorb(stream, read, jax.random.key(seed), N_FEATURES + 1, checkpoint=checkpoint)
    record_mib = sum(values.nbytes for values in record.values()) / 2**20
    error = float(record["log_evidence"][-1]) - evidence.log_evidence(1.0)
    values = (1e6 * seconds / n_rows, peak_memory_mib(), start_mib, record_mib, error)
    return dict(zip(UNITS, values, strict=True))


def _programs(n_rows: int, quick: bool) -> Sequence[Program]:
    def run(i: int) -> dict[str, float]:
        output, _ = own_process("-m", "benchmarks.streaming_memory", str(n_rows), str(i))
        return dict(json.loads(output.splitlines()[-1]))

    return [Program("auxmc, annealed", lambda: run)]


BENCHMARK = Benchmark(
    problems={f"1e{power} rows": partial(_programs, 10**power) for power in (4, 5, 6, 7, 8)},
    units=UNITS,
    page_problems=["1e4 rows", "1e6 rows", "1e8 rows"],
    page_quantities=list(UNITS)[:2],
    quick=["1e5 rows", "1e6 rows"],
)

if __name__ == "__main__":
    configure("cpu")
    print(json.dumps(run_size(int(sys.argv[1]), int(sys.argv[2]))))
