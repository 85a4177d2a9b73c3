"""`auxmc stream`: the running evidence of models over a stream of rows. This module holds its options."""

import argparse
from pathlib import Path
from typing import Any

from auxmc.command_line.errors import output_folder
from auxmc.command_line.stream_settings import ESTIMATORS, SETTINGS, Setting

__all__ = ["register"]


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
    data.add_argument("--data", type=Path, required=True, metavar="FILE", help="text, Parquet or NumPy file")
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
        default="running_laplace",
        help="; ".join(f"{name}: {what}" for name, what in ESTIMATORS.items())
        + " (default: running_laplace)",
    )
    models.add_argument(
        "--replicates",
        type=int,
        default=4,
        metavar="N",
        help="independent estimates on one reading of the rows, whose spread is the error; time grows with them "
        "(default: 4)",
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
        help="of rows and particles; evidences are float64 (default: float32, unless a column loses digits in it)",
    )

    run = parser.add_argument_group("run")
    run.add_argument("--seed", type=int, default=20170717, metavar="N", help="root seed (default: 20170717)")
    run.add_argument(
        "--output",
        type=output_folder,
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
    from auxmc.command_line.kept_programs import keep_programs
    from auxmc.driver.runtime import configure
    from auxmc.errors import CommandError, HardwareError

    try:
        configure(options.hardware)
    except HardwareError as error:
        raise CommandError(str(error)) from error
    keep_programs()
    from auxmc.command_line.stream_session import run_session

    return run_session(options)
