"""Memory and time of a streaming run against the number of rows: the linear model at the published settings.

    python benchmarks/streaming_memory.py [--sizes 1000000,10000000,100000000] [--estimator annealed]
                                          [--output benchmarks/results]

Rows are simulated block by block as they are read, so that nothing of the size of the stream exists anywhere. Each size
runs in a process of its own, with a checkpoint on disk as a user's run has. Float32, one core. The largest size takes
about a quarter of an hour. Columns of the table:

* rows; seconds of the run, compilation apart; seconds for a million rows, over the whole run and over its last tenth;
* host: seconds for a million rows with an estimator that does nothing, which is reading, packing, the reservoir and
  saving (measured once, on a million rows);
* peak_mib: largest resident memory of the process; start_mib: after compiling, before the first row;
* record_mib: what the record takes of it, the one part that grows: 80 bytes a chunk;
* log_evidence and the exact value, in nats.

Writes streaming_memory.csv and streaming_memory.md.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from auxmc.driver.runtime import configure

configure("cpu")  # before JAX is imported, as a run of a study does

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from auxmc.data.simulated_streams import blocks
from auxmc.driver.checkpoint import Checkpoint
from auxmc.driver.provenance import peak_memory_mib
from auxmc.driver.seeds import stream as stream_key
from auxmc.driver.streams import run_stream
from auxmc.kernels.streams.running_laplace import running_laplace
from auxmc.kernels.streams.contract import (
    ESTIMATORS,
    Chunk,
    ChunkRecord,
    PastRows,
    Stream,
    StreamSettings,
    StreamState,
)
from auxmc.kernels.streams.published_estimators import stream_evidence
from auxmc.models.regression.linear_regression import PrefixEvidence, extend_evidence, linear_regression

__all__ = ["main"]

SEED = 20170717
N_FEATURES = 5
HOST_ROWS = 1_000_000


def nothing_to_do() -> Stream:
    """An estimator without work, whose run time is that of everything around it."""

    def init(key: jax.Array, dtype: object) -> StreamState:
        del key
        return StreamState(jnp.zeros((10, 6)).astype(dtype), jnp.zeros(10), jnp.zeros((), jnp.int64), None)

    def absorb(
        key: jax.Array, state: StreamState, chunk: Chunk, past: PastRows
    ) -> tuple[StreamState, ChunkRecord]:
        del key, past
        n_rows = state.n_rows + chunk.n_valid.astype(jnp.int64)
        zero, none = jnp.zeros(()), jnp.zeros((), jnp.int32)
        return state._replace(n_rows=n_rows), ChunkRecord(n_rows, zero, none, zero, zero, zero, none, none)

    return Stream(init, absorb)


def run_size(n_rows: int, estimator: str) -> dict[str, float]:
    """One run in this process."""
    evidence = PrefixEvidence.empty(N_FEATURES)
    start_mib = 0.0

    def read(first: int) -> Iterator[np.ndarray]:
        nonlocal evidence, start_mib
        assert first == 0
        start_mib = peak_memory_mib()
        for block in blocks("linear", n_rows):
            if estimator != "none":
                evidence = extend_evidence(evidence, block, 1.0)
            yield block

    model = linear_regression(N_FEATURES)
    if estimator == "none":
        stream = nothing_to_do()
    elif estimator == "running_laplace":
        stream = running_laplace(model)
    else:
        stream = stream_evidence(model, StreamSettings(estimator=estimator))
    with tempfile.TemporaryDirectory() as folder:
        done = run_stream(
            stream,
            read,
            stream_key(SEED, "streaming_memory", estimator),
            N_FEATURES + 1,
            checkpoint=Checkpoint(Path(folder) / "state", "benchmark"),
        )
    record = done.record
    seconds = float(record["seconds"][-1])
    # Times are those of blocks of chunks; a short run may be within one.
    late = np.searchsorted(record["n_rows"], 0.9 * n_rows)
    late_s, last_rows = seconds - float(record["seconds"][late]), float(n_rows - record["n_rows"][late])
    return {
        "rows": n_rows,
        "seconds": seconds,
        "s_per_million": 1e6 * seconds / n_rows,
        "s_per_million_last_tenth": 1e6 * late_s / last_rows if late_s > 0.0 else float("nan"),
        "compile_s": done.compile_s,
        "start_mib": start_mib,
        "peak_mib": peak_memory_mib(),
        "record_mib": sum(values.nbytes for values in record.values()) / 2**20,
        "log_evidence": float(record["log_evidence"][-1]),
        "exact": evidence.log_evidence(1.0) if estimator != "none" else float("nan"),
    }


def main() -> None:
    """Runs all sizes and writes the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="1000000,10000000,100000000", help="rows, separated by commas")
    parser.add_argument("--estimator", choices=(*ESTIMATORS, "running_laplace"), default="annealed")
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--worker", nargs=2, metavar=("ROWS", "ESTIMATOR"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(run_size(int(options.worker[0]), options.worker[1])))
        return
    host = in_own_process(HOST_ROWS, "none")["s_per_million"]
    rows = []
    for size in (int(float(text)) for text in options.sizes.split(",")):
        begin = time.perf_counter()
        rows.append({"estimator": options.estimator, **in_own_process(size, options.estimator), "host": host})
        print(f"{size} rows: {rows[-1]}, {time.perf_counter() - begin:.0f} s in all", flush=True)
    table = pd.DataFrame(rows)
    options.output.mkdir(parents=True, exist_ok=True)
    table.to_csv(options.output / "streaming_memory.csv", index=False, float_format="%.8g")
    header = f"| {' | '.join(table)} |\n|{'---|' * len(table.columns)}\n"
    lines = "".join(
        f"| {' | '.join(f'{value:.6g}' if isinstance(value, float) else str(value) for value in row)} |\n"
        for row in table.itertuples(index=False)
    )
    (options.output / "streaming_memory.md").write_text(header + lines)
    print(header + lines)


def in_own_process(n_rows: int, estimator: str) -> dict[str, float]:
    """One run in a process of its own, whose peak memory is that of the run alone."""
    words = [sys.executable, __file__, "--worker", str(n_rows), estimator]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return dict(json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
