"""`auxmc list`, `plan`, `settings`, `show`, `where`, `compare`: which studies there are, their cost, their results."""

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def register(subparsers: Any) -> None:
    """Adds the subcommands, each of which sets `run`, a function of the options that returns the exit status."""
    add = _command(
        subparsers,
        "list",
        lambda studies, options: (
            studies.list_claims(options.preset)
            if options.study == "claims"
            else studies.list_cases(options.study, options.preset)
            if options.study
            else studies.list_studies()
        ),
        "show the studies, the cases of one, or the claims, with what they took",
        "auxmc list                        studies, number of cases, CPU time at each preset",
        "auxmc list radon --preset paper   cases of a study, which are done, what they took",
        "auxmc list claims                 claims, number of cases that each needs, their CPU time",
        module="studies",
    )
    add("study", nargs="?", help="a study, to see its cases, or the word claims")
    add("--preset", default="quick", help="whose cases: smoke, quick or paper (default: quick)")

    add = _command(
        subparsers,
        "settings",
        lambda studies, options: studies.list_settings(options.study),
        "show the settings of a study and what is allowed",
        "auxmc settings radon",
        module="studies",
    )
    add("study", help="name of the study")

    add = _command(
        subparsers,
        "plan",
        lambda plan, options: plan.describe_plan(options.preset, options.cores, options.without),
        "say what a preset costs, and how long it takes on a number of cores",
        "auxmc plan --preset paper --cores 64",
        "auxmc plan --preset paper --cores 2 --without image_models",
    )
    add("--preset", default="paper", help="smoke, quick or paper (default: paper)")
    add("--cores", type=int, default=64, help="number of cores (default: 64)")
    add("--without", nargs="+", default=[], metavar="STUDY", help="studies to leave out")

    add = _command(
        subparsers,
        "show",
        lambda show, options: show.describe(options.result, options.preset),
        "say what a result file, or published/, holds and what made it",
        "auxmc show results/quick/radon/nuts.nc",
        "auxmc show decay-sample          what auxmc sample, evidence or stream wrote to a folder, or a file of it",
        "auxmc show published paper       what is kept in published/, what made it, what is out of date",
    )
    shown = "result file (.nc), file or folder of a run of your own, or the word published"
    add("result", type=Path, metavar="RESULT", help=shown)
    add("preset", nargs="?", help="after published: of which preset (default: all)")

    add = _command(
        subparsers,
        "where",
        lambda where, options: where.describe_figure(options.figure, options.study),
        "say which function draws a figure, and what its study runs, with their files",
        "auxmc where fig_5_6 radon",
        "auxmc where fig_c_2 tempering_illustration",
    )
    add("figure", help="name of its files, such as fig_5_6")
    add("study", nargs="?", help="the study, where several have such a figure")

    add = _command(
        subparsers,
        "compare",
        lambda compare, options: compare.compare(options.first, options.second),
        "compare two result files: settings, code, posteriors, statistics",
        "auxmc compare results/quick/radon/nuts.nc results/quick/radon/centred.nc",
        "",
        "A difference is given with its Monte Carlo standard error; |z| is their ratio.",
    )
    add("first", type=Path, metavar="A", help="result file (.nc), or record of a stream")
    add("second", type=Path, metavar="B", help="result file (.nc), or record of a stream")


def _command(
    subparsers: Any, name: str, describe: Callable[..., Any], help: str, *examples: str, module: str = ""
) -> Callable[..., argparse.Action]:
    """Adds a subcommand that prints what a function of its module, by default of its name, and the options return."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        epilog="\n  ".join(["examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )

    def run(options: argparse.Namespace) -> int:
        # What the subcommands need takes a second to import, which `--help` should not cost.
        print(describe(importlib.import_module(f"auxmc_pipeline.command_line.{module or name}"), options))
        return 0

    parser.set_defaults(run=run)
    return parser.add_argument
