"""Evidence of growing data sets: time and error in nats of the estimators here, beside dynesty, UltraNest and BlackJAX.

    python benchmarks/streaming_evidence.py [--sizes 1000,10000,100000] [--models linear,softmax,mixture] [--seeds 5]
        [--programs all] [--live 100] [--particles 200] [--limit 1800] [--output benchmarks/results]

Three models of rows with simulated data: linear regression (6 parameters), softmax regression (44) and a mixture of
five separated normals (25). Float64, one core, the same rows and priors for all. Errors are against the exact
evidence of the linear model, and against importance sampling with 20 000 draws at the mode (the best of 40 optima,
times 120 equal modes, for the mixture) of the others; the table gives the standard error of these. Seconds are those
of one run, compilation apart. A program that would take longer than the limit, by its time at the last size, is left
out and named. Programs:

* auxmc, annealed: the published stream estimator, 10 particles, chunks of 500 rows; evidence of every prefix;
* auxmc, running Laplace: particles at first, then a running Gaussian, chunks of 500 rows; evidence of every prefix;
* auxmc, growing data: sequential Monte Carlo over chunks that grow by a quarter, moves where the weights ask for them;
  evidence of every such prefix;
* auxmc, nested sampling: robust settings, five moves a parameter;
* auxmc, Laplace importance sampling: 2000 draws at the best of eight optima (mixture) or at the one from zero;
* dynesty: NestedSampler, slices in random directions (rslice), multi-ellipsoidal bounds, its own stopping rule; the
  likelihood compiled, one point at a time, which is all that it takes;
* UltraNest: ReactiveNestedSampler with a population of simple slice samplers in mixed directions, as many walkers as
  half the live points, five steps a parameter, one round; the likelihood compiled and vectorised over points;
* blackjax: adaptive tempered sequential Monte Carlo with an effective sample size of a half; five Hamiltonian moves of
  a quarter of a period at each temperature, their metric the particles' covariance.

Live points are those of --live, particles those of --particles. Writes streaming_evidence.csv and
streaming_evidence.md.
"""

import argparse
import csv
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from auxmc.driver.runtime import configure

configure("cpu")  # before JAX is imported, as a run of a study does

import jax
import numpy as np
import streaming_peers
import streaming_programs
from streaming_problems import MODELS, Outcome, Prepared, Problem, Sizes, make_problem

__all__ = ["main"]

COLUMNS = (
    "model",
    "rows",
    "program",
    "seconds_median",
    "compile_s",
    "error_median",
    "error_lowest",
    "error_highest",
    "error_per_row",
    "row_evaluations",
    "n_runs",
    "note",
)
# Programs whose time is that of the first rows, so that the last size says nothing against the next.
NOT_PROPORTIONAL = ("auxmc, running Laplace",)
PROGRAMS = streaming_programs.PROGRAMS | streaming_peers.PROGRAMS


def _row(problem: Problem, program: str, prepared: Prepared, outcomes: list[Outcome]) -> dict[str, Any]:
    errors = np.array([outcome.log_evidence - problem.truth for outcome in outcomes])
    finite = errors[np.isfinite(errors)]
    work = float(np.median([outcome.row_evaluations for outcome in outcomes]))
    lost = len(errors) - len(finite)
    numbers = (np.median(finite), finite.min(), finite.max()) if len(finite) else (math.nan,) * 3
    return {
        "model": problem.name,
        "rows": len(problem.rows),
        "program": program,
        "seconds_median": f"{np.median([outcome.seconds for outcome in outcomes]):.3g}",
        "compile_s": f"{prepared.compile_s:.1f}",
        "error_median": f"{numbers[0]:.2f}",
        "error_lowest": f"{numbers[1]:.2f}",
        "error_highest": f"{numbers[2]:.2f}",
        "error_per_row": f"{numbers[0] / len(problem.rows):.1e}",
        "row_evaluations": f"{work:.2e}" if math.isfinite(work) else "",
        "n_runs": len(outcomes),
        "note": f"{lost} runs without result" if lost else "",
    }


def compare(arguments: argparse.Namespace, sizes: Sizes) -> tuple[list[dict[str, Any]], list[str]]:
    """Runs all programs on all problems; rows of the table, and what the truth is known to."""
    table, truths = [], []
    last_seconds: dict[tuple[str, str], tuple[int, float]] = {}
    for name in arguments.models:
        for n_rows in sorted(arguments.sizes):
            problem = make_problem(name, n_rows)
            truths.append(
                f"{name}, {n_rows} rows: {problem.truth:.3f}, standard error {problem.truth_error:.3f}"
            )
            print(truths[-1], flush=True)
            for program in arguments.programs:
                before = last_seconds.get((name, program))
                too_long = before is not None and before[1] * n_rows / before[0] > arguments.limit
                if before is not None and too_long and program not in NOT_PROPORTIONAL:
                    row = dict.fromkeys(COLUMNS, "") | {"model": name, "rows": n_rows, "program": program}
                    row["note"] = f"left out: above {before[1] * n_rows / before[0]:.0f} s a run"
                else:
                    prepared = PROGRAMS[program](problem, sizes)
                    outcomes = [prepared.run(seed) for seed in range(arguments.seeds)]
                    seconds = max(outcome.seconds for outcome in outcomes)
                    last_seconds[name, program] = (n_rows, seconds)
                    row = _row(problem, program, prepared, outcomes)
                print(row, flush=True)
                table.append(row)
    return table, truths


def main() -> None:
    """Runs all programs and writes the tables."""

    def choices(allowed: tuple[str, ...]) -> Callable[[str], list[str]]:
        def parse(text: str) -> list[str]:
            names = list(allowed) if text == "all" else [name.strip() for name in text.split(";")]
            wrong = [name for name in names if name not in allowed]
            if wrong:
                raise argparse.ArgumentTypeError(
                    f"{', '.join(wrong)} not among {'; '.join(allowed)} (separate several by semicolons)"
                )
            return names

        return parse

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(size) for size in text.split(",")],
        default=[1000, 10_000, 100_000],
        help="numbers of rows",
    )
    parser.add_argument(
        "--models",
        type=lambda text: choices(MODELS)(text.replace(",", ";")),
        default=list(MODELS),
        help="models, separated by commas",
    )
    parser.add_argument(
        "--programs",
        type=choices(tuple(PROGRAMS)),
        default=list(PROGRAMS),
        help="names, separated by semicolons",
    )
    parser.add_argument("--seeds", type=int, default=5, help="runs of each program")
    parser.add_argument("--live", type=int, default=100, help="live points of nested sampling")
    parser.add_argument("--particles", type=int, default=200, help="particles of sequential Monte Carlo")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds above which a run is not begun")
    parser.add_argument(
        "--output", type=Path, default=Path("benchmarks/results"), help="folder for the tables"
    )
    arguments = parser.parse_args()
    table, truths = compare(arguments, Sizes(arguments.live, arguments.particles))
    _write(arguments, table, truths)


def _write(arguments: argparse.Namespace, table: list[dict[str, Any]], truths: list[str]) -> None:
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "streaming_evidence.csv").open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(table)
    lines = [
        "# Evidence of growing data sets: time and error",
        "",
        f"{arguments.seeds} runs of each program, {arguments.live} live points, {arguments.particles} particles, one "
        f"core, float64, jax {jax.__version__}, {streaming_peers.VERSIONS}, "
        f"load average at the end {os.getloadavg()[0]:.1f}. Seconds of a run without compilation. "
        "The streams of the first two programs, and the third, give the evidence of prefixes too.",
        "",
        "| model | rows | program | seconds, median | compile, s | error, nats, median | lowest | highest | per row | "
        "row evaluations | runs | note |",
        "|" + "---|" * len(COLUMNS),
        *("| " + " | ".join(str(row[column]) for column in COLUMNS) + " |" for row in table),
        "",
        "Log evidence that errors are against:",
        "",
        *(f"* {truth}" for truth in truths),
        "",
    ]
    (folder / "streaming_evidence.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    sys.exit(main())
