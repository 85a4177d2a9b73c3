"""All comparisons, or those named: measures, keeps one tidy table, and writes the tables and the figure of the pages.

Each benchmark runs in a process of its own, bound to one core; its programs take turns. Values go to
benchmarks/measurements.csv seed by seed; what is there is not measured again, so that an interrupted run continues
where it stopped. Programs of packages that are not installed (`make benchmarks` installs them) are left out and named.
"""

import argparse
import importlib
import os
import subprocess
import sys
import time

from benchmarks.contract import ROOT, Benchmark
from benchmarks.figure import save
from benchmarks.measurements import TABLE, forget, page_table, read, write_between

NAMES = (
    "gaussian_latent",
    "random_numbers",
    "gp_probit",
    "constrained_hmc",
    "boltzmann",
    "streaming_speed",
    "streaming_memory",
    "streaming_evidence",
    "library_speed",
    "library_comparison",
    "library_pages",
    "posterior_accuracy",
    "evidence_coverage",
    "two_cores",
)
PAGE = ROOT / "docs" / "benchmarks.md"
QUICK_SEEDS = 3
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def benchmark_of(name: str) -> Benchmark:
    """What the module of this name measures."""
    return importlib.import_module(f"benchmarks.{name}").BENCHMARK


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"benchmarks: {', '.join(NAMES)}",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks; all, if none is named")
    parser.add_argument("--quick", action="store_true", help="small sizes, some of the problems")
    parser.add_argument("--seeds", type=int, help="repetitions with other random numbers")
    parser.add_argument("--again", action="store_true", help="measure again what was measured in this form")
    parser.add_argument(
        "--page", action="store_true", help="write the pages from what is there, and measure nothing"
    )
    options = parser.parse_args(arguments)
    if unknown := [name for name in options.names if name not in NAMES]:
        parser.error(f"there is no benchmark {unknown[0]!r}: choose from {', '.join(NAMES)}")
    if options.seeds is not None and options.seeds < 1:
        parser.error(f"--seeds must be at least 1, got {options.seeds}")
    names, form, failed = options.names or NAMES, "quick" if options.quick else "full", []
    try:
        if options.again:
            forget(names, form)
        for i, name in enumerate([] if options.page else names):
            print(f"{name}, {form}: {i + 1} of {len(names)}", flush=True)
            wall, cpu = time.monotonic(), sum(os.times()[2:4])
            failed += [name] * bool(_measure(name, form, options.seeds))
            took = f"{time.monotonic() - wall:.0f} s, {sum(os.times()[2:4]) - cpu:.0f} s of CPU time"
            print(f"{name}, {form}: {took}", flush=True)
        write_pages()
    except KeyboardInterrupt:
        print(
            "\nstopped; what is finished is kept, and the same command continues with the rest",
            file=sys.stderr,
        )
        return 130
    except (ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    if failed:
        again = f"python -m benchmarks {' '.join(failed)} --again{' --quick' * options.quick}"
        print(
            f"error: programs failed, and have no value, in {', '.join(failed)}; again: {again}",
            file=sys.stderr,
        )
    return min(1, len(failed))


def _measure(name: str, form: str, n_seeds: int | None) -> int:
    """Runs a benchmark in a process of its own; returns its exit status."""
    benchmark = benchmark_of(name)
    seeds = n_seeds or (QUICK_SEEDS if form == "quick" else benchmark.seeds)
    words = [name, str(benchmark.cores), form, str(seeds)]
    # Threads of BLAS are started when NumPy is imported, where a later bound to cores does not reach them: they would
    # wait in loops on the other cores, and their processor time would count.
    threads = dict.fromkeys(THREADS, str(benchmark.cores))
    command = [sys.executable, "-m", "benchmarks.worker", *words]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **threads}).returncode


def write_pages() -> None:
    """Writes the tables of all benchmarks into the page, and the figure."""
    kept = read()
    for name in NAMES:
        benchmark, rows = benchmark_of(name), kept[kept["benchmark"] == name]
        text = (benchmark.table or page_table)(rows, benchmark)
        write_between(PAGE, name, text)
    if len(kept):
        save(kept)
    print(
        f"{len(kept)} values in {TABLE.relative_to(ROOT)}; tables and figure are written into docs/",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
