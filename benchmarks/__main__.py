"""Measures benchmarks, all or those named, and writes the tables and the figure of docs/benchmarks.md.

Each benchmark runs in a process of its own, bound to one core; its programs take turns. Values go to
benchmarks/measurements.csv seed by seed; what is there is not measured again, so that an interrupted run continues
where it stopped. Programs of packages that are not installed (`make benchmarks` installs them) are left out and named.
"""

import argparse
import importlib
import os
import subprocess
import sys

from benchmarks.harness import ROOT, TABLE, Benchmark, measure, read

# By name, the module whose BENCHMARKS has it.
MODULES = {
    "gaussian_latent": "gaussian_latent",
    "random_numbers": "library",
    "gp_probit": "gp_probit",
    "constrained_hmc": "constrained_hmc",
    "boltzmann": "boltzmann",
    "streaming_speed": "streaming_speed",
    "streaming_memory": "streaming_speed",
    "streaming_evidence": "streaming_evidence",
    "library_speed": "library",
    "library_comparison": "library",
    "library_pages": "library",
    "posterior_accuracy": "posterior_accuracy",
    "evidence_coverage": "evidence_coverage",
    "evidence_set": "evidence_set",
    "two_cores": "library",
}
QUICK_SEEDS = 3
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def benchmark_of(name: str) -> Benchmark:
    """The benchmark of this name."""
    return importlib.import_module(f"benchmarks.{MODULES[name]}").BENCHMARKS[name]


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    words = sys.argv[1:] if arguments is None else arguments
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=f"benchmarks: {', '.join(MODULES)}",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="benchmarks; all, if none is named")
    parser.add_argument("--quick", action="store_true", help="small sizes, some of the problems")
    parser.add_argument("--seeds", type=int, help="repetitions with other random numbers")
    parser.add_argument("--again", action="store_true", help="measure again what was measured in this form")
    parser.add_argument("--page", action="store_true", help="write the pages and measure nothing")
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    if unknown := [name for name in options.names if name not in MODULES]:
        parser.error(f"there is no benchmark {unknown[0]!r}: choose from {', '.join(MODULES)}")
    if options.seeds is not None and options.seeds < 1:
        parser.error(f"--seeds must be at least 1, got {options.seeds}")
    if options.here:
        return _measure_here(options.names[0], options)
    failed, flags = [], [word for word in words if word not in options.names]
    try:
        for name in [] if options.page else options.names or MODULES:
            print(name, flush=True)
            # Threads of BLAS are started when NumPy is imported, where a later bound to cores does not reach them: they
            # would wait in loops on the other cores, and their processor time would count.
            threads = dict.fromkeys(THREADS, str(benchmark_of(name).cores))
            command = [sys.executable, "-m", "benchmarks", name, "--here", *flags]
            if subprocess.run(command, cwd=ROOT, env={**os.environ, **threads}).returncode:
                failed.append(name)
        write_pages()
    except KeyboardInterrupt:
        print("\nstopped; what is finished is kept: the same command continues", file=sys.stderr)
        return 130
    if failed:
        reason = f"programs failed, and have no value, in {', '.join(failed)}: see --again"
        print(f"error: {reason}", file=sys.stderr)
    return min(1, len(failed))


def _measure_here(name: str, options: argparse.Namespace) -> int:
    """Measures in this process, bound to as many cores as the benchmark wants; returns the exit status."""
    from auxmc.driver.runtime import configure

    benchmark = benchmark_of(name)
    # Threads of JAX are started where the process may run at that time.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[-benchmark.cores :]))
    # Of XLA; `configure` would leave it one, on which programs of several threads wait for each other.
    os.environ["NPROC"] = str(benchmark.cores)
    configure("cpu", ROOT / ".cache" / "benchmarks")
    n_seeds = options.seeds or (QUICK_SEEDS if options.quick else benchmark.seeds)
    return measure(name, benchmark, options.quick, n_seeds, options.again)


def write_pages() -> None:
    """Writes the tables of all benchmarks into the page, and the figure."""
    # Not above: drawing is not for the processes that measure.
    from auxmc.driver.files import write_atomically
    from auxmc.plots.style import save_figure
    from benchmarks import pages

    kept, benchmarks = read(), {name: benchmark_of(name) for name in MODULES}
    text = pages.with_tables(pages.PAGE.read_text(encoding="utf-8"), kept, benchmarks)
    write_atomically(pages.PAGE, lambda file: file.write_text(text, encoding="utf-8"))
    if (figure := pages.draw(kept, benchmarks)) is not None:
        save_figure(figure, pages.FIGURE.with_suffix(""), ("svg",))
    print(f"{len(kept)} values in {TABLE.relative_to(ROOT)}; tables and figure are written into docs/")


if __name__ == "__main__":
    sys.exit(main())
