"""`auxmc stream`: the running evidence of models over a stream of rows. This module holds its options."""

import argparse
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["ESTIMATORS", "SETTINGS", "Setting", "register"]

ESTIMATORS = {
    "annealed": "each chunk is brought in along a path of powers of its likelihood; the published method",
    "sequential": "each chunk is scored by particles that have not seen it; the quickest",
    "running_laplace": "a running Gaussian that every chunk corrects; the most accurate where one mode holds the mass",
}
"""Estimators and what they are."""


class Setting(NamedTuple):
    """An option that is a setting of an estimator.

    Attributes:
        field: name in the settings of the kernel.
        kind: type of the value.
        help: what it does.
        defaults: value for each estimator that has it; None stands for what `help` says.
    """

    field: str
    kind: Any
    help: str
    defaults: dict[str, Any]


def _of_gradients(value: Any) -> dict[str, Any]:
    return {"annealed": value, "sequential": value}


# Repeated from the kernels, so that the help needs none of their libraries; a test holds them equal.
SETTINGS = {
    "--particles": Setting("n_particles", int, "particles", {**_of_gradients(10), "running_laplace": 100}),
    "--moves": Setting(
        "n_moves",
        int,
        "moves after each change of the target (running_laplace: among the first rows)",
        {**_of_gradients(20), "running_laplace": 3},
    ),
    "--batch-size": Setting(
        "batch_size",
        int,
        "past rows drawn for each stochastic-gradient step and particle",
        _of_gradients(500),
    ),
    "--learning-rate": Setting(
        "learning_rate", float, "step of the stochastic gradient times the number of rows", _of_gradients(0.1)
    ),
    "--friction": Setting(
        "friction", float, "share of velocity lost in a step, in (0, 1]", _of_gradients(0.2)
    ),
    "--gradient-noise": Setting(
        "gradient_noise",
        float,
        "half the variance of the gradient's noise, where it is known; at most friction times rows over learning rate",
        _of_gradients(0.0),
    ),
    "--control-variates": Setting(
        "control_variates",
        bool,
        "take gradients of past rows relative to those at an anchor of each particle: more work a row, a bias that "
        "is smaller by far",
        _of_gradients(False),
    ),
    "--cooling-rows": Setting(
        "cooling_rows",
        int,
        "rows from which on the learning rate falls with the number of rows (default: never)",
        _of_gradients(None),
    ),
    "--target-size": Setting(
        "target_size",
        float,
        "effective number of particles that an annealing step keeps (default: half of the particles)",
        {"annealed": None},
    ),
    "--resampling": Setting(
        "resampling",
        str,
        "when particles are drawn anew: none, always, effective_size or chunk",
        {"annealed": "none"},
    ),
    "--max-annealing-steps": Setting(
        "max_annealing_steps",
        int,
        "after which a chunk is given up as it is, and counted",
        {"annealed": 1000, "running_laplace": 1000},
    ),
    "--leapfrog": Setting(
        "n_leapfrog", int, "mean number of leapfrog steps of a move", {"running_laplace": 6}
    ),
    "--draws": Setting(
        "n_draws", int, "importance draws of a chunk once the Gaussian is there", {"running_laplace": 400}
    ),
    "--first-fit": Setting(
        "first_fit", int, "rows at which a Gaussian is first tried", {"running_laplace": 2000}
    ),
    "--least-fit": Setting(
        "least_fit",
        float,
        "effective share of draws from the Gaussian from which on it takes the place of the particles",
        {"running_laplace": 0.3},
    ),
    "--exact-rows": Setting(
        "exact_rows", int, "rows at which the Gaussian is taken in any case", {"running_laplace": 12_000}
    ),
}
"""Options that are settings of estimators."""


def register(subparsers: Any) -> None:
    """Adds the subcommand.

    Args:
        subparsers: what `ArgumentParser.add_subparsers` returned.
    """
    parser = subparsers.add_parser(
        "stream",
        help="running log evidence of models over a stream of rows",
        description="Prints the log evidence of one or more models for every prefix of a stream of rows, compares "
        "the models, and flags chunks that are predicted worse than those before. Rows need not fit in memory.",
        epilog="examples:\n"
        "  auxmc stream --data docs/examples/stream.csv --model linear --model 'linear noise_scale=0.5'\n"
        "  auxmc stream --data rows.parquet --model 'logistic classes=4' --response y --output run\n"
        "  auxmc stream --data docs/examples/stream.csv --model docs/examples/student_regression.py",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=_run)
    data = parser.add_argument_group("data")
    data.add_argument("--data", type=Path, required=True, metavar="FILE", help=".parquet, .csv or .npy")
    data.add_argument("--columns", metavar="A,B,...", default="", help="columns to read (default: all)")
    data.add_argument(
        "--response", metavar="NAME", default="", help="column of the response (default: the last)"
    )
    data.add_argument(
        "--rows", type=int, metavar="N", help="stop after so many rows of the file (default: all)"
    )

    models = parser.add_argument_group("models and estimator")
    models.add_argument(
        "--model",
        action="append",
        required=True,
        metavar="TEXT",
        help="'linear noise_scale=1', 'logistic classes=K', 'mixture components=K', or FILE.py[:NAME] for your own "
        "(docs/streaming.md); give it again to compare models on one reading of the rows",
    )
    models.add_argument(
        "--estimator",
        choices=ESTIMATORS,
        default="annealed",
        help="; ".join(f"{name}: {what}" for name, what in ESTIMATORS.items()) + " (default: annealed)",
    )
    for option, setting in SETTINGS.items():
        if setting.kind is bool:
            models.add_argument(
                option, action="store_true", default=None, dest=setting.field, help=_help(setting)
            )
        else:
            models.add_argument(
                option, type=setting.kind, dest=setting.field, metavar="X", help=_help(setting)
            )

    chunks = parser.add_argument_group("chunks and past rows")
    chunks.add_argument(
        "--chunk-rows", type=int, default=500, metavar="N", help="rows of a chunk (default: 500)"
    )
    chunks.add_argument(
        "--first-chunks",
        type=int,
        metavar="N",
        help="chunks of N, 2 N, 3 N, ... rows at the beginning (default: 20 for sequential, else 0: all alike)",
    )
    chunks.add_argument(
        "--past",
        choices=("reservoir", "store"),
        default="reservoir",
        help="where past rows are drawn from: a uniform sample in memory, or a file of all rows, mapped into memory "
        "(default: reservoir)",
    )
    chunks.add_argument(
        "--capacity", type=int, default=100_000, metavar="N", help="rows of the reservoir (default: 100000)"
    )
    chunks.add_argument(
        "--precision",
        choices=("float32", "float64"),
        default="float32",
        help="of rows and particles; evidences are float64 (default: float32)",
    )

    run = parser.add_argument_group("run")
    run.add_argument("--seed", type=int, default=20170717, metavar="N", help="root seed (default: 20170717)")
    run.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="folder for record, settings and state; a run found there goes on (default: nothing is kept)",
    )
    run.add_argument("--restart", action="store_true", help="throw away the run that is in the folder")
    run.add_argument(
        "--hardware", choices=("cpu", "gpu", "auto"), default="cpu", help="device (default: cpu)"
    )
    run.add_argument(
        "--every",
        type=float,
        default=2.0,
        metavar="S",
        help="least seconds between two printed lines (default: 2)",
    )


def _help(setting: Setting) -> str:
    values = {str(value) for value in setting.defaults.values()}
    only = "" if len(setting.defaults) == len(ESTIMATORS) else f" ({', '.join(setting.defaults)})"
    if values <= {"None", "False"}:
        return f"{setting.help}{only}"
    shown = (
        values.pop() if len(values) == 1 else ", ".join(f"{v} for {k}" for k, v in setting.defaults.items())
    )
    return f"{setting.help}{only} (default: {shown})"


def _run(options: argparse.Namespace) -> int:
    # Here, not at the top: the help and other commands need none of these libraries, and JAX must be configured before
    # it is imported.
    from auxmc.command_line.errors import CommandError
    from auxmc.engine.runtime import HardwareError, configure

    try:
        configure(options.hardware)
    except HardwareError as error:
        raise CommandError(str(error)) from error
    from auxmc.command_line.stream_session import run_session

    return run_session(options)
