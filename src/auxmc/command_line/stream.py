"""`auxmc stream`: the running log evidence of models over a stream of rows. This module holds its options."""

import argparse
from pathlib import Path
from typing import Any

from auxmc.command_line.errors import output_folder

ESTIMATORS = {
    "running_laplace": "exact moves among the first rows, then a running Gaussian; most accurate with one mode",
    "annealed": "annealed importance sampling with stochastic gradients; the published method",
    "sequential": "each chunk is scored by particles that have not seen it; the fastest",
}
"""Estimators and what they do."""

SETTINGS: dict[str, tuple[type, str]] = {
    "n_particles": (int, "particles (default: 10, running_laplace 100)"),
    "n_moves": (int, "moves after each change of the target (default: 20, running_laplace 3)"),
    "batch_size": (int, "past rows of a stochastic gradient (default: 500)"),
    "learning_rate": (float, "step of the stochastic gradient times the number of rows (default: 0.1)"),
    "friction": (float, "fraction of the velocity lost in a step, in (0, 1] (default: 0.2)"),
    "gradient_noise": (float, "half the variance of the gradient's noise, where known (default: 0.0)"),
    "dynamics": (str, "of moves: sghmc, or nose_hoover with a thermostat (default: sghmc)"),
    "control_variates": (bool, "take gradients relative to an anchor: more work, far smaller bias"),
    "cooling_rows": (int, "rows after which the learning rate falls (default: never)"),
    "target_size": (float, "effective particles kept by an annealing step (default: half of them)"),
    "resampling": (str, "none, always, effective_size or chunk (default: none)"),
    "max_annealing_steps": (int, "annealing steps after which a chunk is given up (default: 1000)"),
    "n_leapfrog": (int, "mean leapfrog steps of a move (default: 6)"),
    "n_draws": (int, "importance draws of a chunk from the Gaussian (default: 400)"),
    "first_fit": (int, "rows at which a Gaussian is first tried (default: 2000)"),
    "least_fit": (float, "least ESS of draws from the Gaussian, as a fraction (default: 0.3)"),
    "exact_rows": (int, "rows at which the Gaussian is used in any case (default: 12000)"),
}
"""Settings of the kernels by field name, with type and help; the option drops `n_`."""

ANNEALED_ONLY = ("target_size", "resampling", "max_annealing_steps")
"""Settings that the sequential estimator shares with the annealed one in the kernel, but does not use."""

_EXAMPLES = """examples:
  auxmc stream --data docs/examples/stream.csv --model linear --model 'linear noise_scale=0.5'
  auxmc stream --data rows.parquet --model 'logistic classes=4' --response y --output run
  auxmc stream --data docs/examples/stream.csv --model docs/examples/student_regression.py"""

_MODEL = (
    "'linear noise_scale=1', 'logistic classes=K', 'mixture components=K', or FILE.py[:NAME] for your own "
    "(docs/streaming.md); give it again to compare models on one reading of the rows"
)
_FIRST_CHUNKS = (
    "chunks of N, 2 N, 3 N, ... rows at the beginning (default: 20 for sequential, otherwise equal chunks)"
)
_PAST = (
    "where past rows are drawn from: a uniform sample in memory, or a file of all rows (default: reservoir)"
)
_PRECISION = "of rows and particles (default: float32, unless a column of the first chunk loses digits in it)"
_OUTPUT = "folder for record, settings and state; a run found there is resumed (default: nothing is kept)"
_EVERY = "least seconds between two printed tables outside of a terminal (default: 2)"


def register(subparsers: Any) -> None:
    """Adds the subcommand to what `ArgumentParser.add_subparsers` returned."""
    parser = subparsers.add_parser(
        "stream",
        help="running log evidence of models over a stream of rows",
        description="Prints the log evidence of one or more models for every prefix of a stream of rows, compares "
        "the models, and flags change points. Rows need not fit in memory.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=_run)
    add = parser.add_argument_group("data").add_argument
    add("--data", type=Path, required=True, metavar="FILE", help="text, Parquet or NumPy file")
    add("--columns", metavar="A,B,...", default="", help="columns to read (default: all)")
    add("--response", metavar="NAME", default="", help="column of the response (default: the last)")
    add("--rows", type=int, metavar="N", help="stop after N rows of the file (default: all)")

    add = parser.add_argument_group("models and estimator").add_argument
    add("--model", action="append", required=True, metavar="TEXT", help=_MODEL)
    names = "; ".join(f"{name}: {text}" for name, text in ESTIMATORS.items())
    add("--estimator", choices=ESTIMATORS, default="running_laplace", help=f"{names} (default: %(default)s)")
    add("--replicates", **_number(4, "independent estimates, whose spread is the error"))
    for field, (kind, text) in SETTINGS.items():
        how = {"action": "store_true", "default": None} if kind is bool else {"type": kind, "metavar": "X"}
        add(f"--{field.removeprefix('n_').replace('_', '-')}", dest=field, help=text, **how)

    add = parser.add_argument_group("chunks and past rows").add_argument
    add("--chunk-rows", **_number(500, "rows of a chunk"))
    add("--first-chunks", type=int, metavar="N", help=_FIRST_CHUNKS)
    add("--past", choices=("reservoir", "store"), default="reservoir", help=_PAST)
    add("--capacity", **_number(100_000, "rows of the reservoir"))
    add("--precision", choices=("float32", "float64"), help=_PRECISION)

    add = parser.add_argument_group("run").add_argument
    add("--seed", **_number(20170717, "root seed"))
    add("--output", type=output_folder, metavar="DIR", help=_OUTPUT)
    add("--restart", action="store_true", help="delete the run that is in the folder")
    add("--hardware", choices=("cpu", "gpu", "auto"), default="cpu", help="device (default: cpu)")
    add("--every", type=float, default=2.0, metavar="S", help=_EVERY)


def _number(default: int, text: str) -> dict[str, Any]:
    return {"type": int, "default": default, "metavar": "N", "help": f"{text} (default: %(default)s)"}


def _run(options: argparse.Namespace) -> int:
    # Imported late: the help needs none of these libraries, and JAX must be configured before it is imported.
    from auxmc.command_line.kept_programs import keep_programs
    from auxmc.driver.runtime import configure

    configure(options.hardware)
    keep_programs()
    from auxmc.command_line.stream_session import run_session

    return run_session(options)
