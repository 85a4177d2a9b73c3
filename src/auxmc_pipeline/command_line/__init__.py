"""`auxmc list`, `plan`, `settings`, `show`, `where`, `compare`: which studies there are, their cost, their results."""

import argparse
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

Options = argparse.Namespace


def register(subparsers: Any) -> None:
    """Adds the subcommands.

    Args:
        subparsers: what `ArgumentParser.add_subparsers` returned; each subcommand sets `run`, a function of the
            options that returns the exit status.
    """
    listing = _add(
        subparsers,
        "list",
        _list,
        "show the studies, the cases of one, or the claims, with what they took",
        "auxmc list                        studies, number of cases, CPU time at each preset",
        "auxmc list radon --preset paper   cases of a study, which are done, what they took",
        "auxmc list claims                 claims, number of cases that each needs, their CPU time",
    )
    listing.add_argument("study", nargs="?", help="a study, to see its cases, or the word claims")
    listing.add_argument(
        "--preset", default="quick", help="whose cases: smoke, quick or paper (default: quick)"
    )

    settings = _add(
        subparsers,
        "settings",
        lambda options: _study_module("studies").list_settings(options.study),
        "show the settings of a study and what is allowed",
        "auxmc settings radon",
    )
    settings.add_argument("study", help="name of the study")

    planning = _add(
        subparsers,
        "plan",
        lambda options: _study_module("plan").describe_plan(options.preset, options.cores, options.without),
        "say what a preset costs, and how long it takes on a number of cores",
        "auxmc plan --preset paper --cores 64",
        "auxmc plan --preset paper --cores 2 --without image_models",
    )
    planning.add_argument("--preset", default="paper", help="smoke, quick or paper (default: paper)")
    planning.add_argument("--cores", type=int, default=64, help="number of cores (default: 64)")
    planning.add_argument("--without", nargs="+", default=[], metavar="STUDY", help="studies to leave out")

    showing = _add(
        subparsers,
        "show",
        _show,
        "say what a result file, or published/, holds and what made it",
        "auxmc show results/quick/radon/nuts.nc",
        "auxmc show decay-sample          what auxmc sample, evidence or stream wrote to a folder, or a file of it",
        "auxmc show published paper       what is kept in published/, what made it, what is out of date",
    )
    showing.add_argument(
        "result",
        type=Path,
        metavar="RESULT",
        help="result file (.nc), file or folder of a run of your own, or the word published",
    )
    showing.add_argument("preset", nargs="?", help="after published: of which preset (default: all)")

    tracing = _add(
        subparsers,
        "where",
        lambda options: _study_module("where").describe_figure(options.figure, options.study),
        "say which function draws a figure, and what its study runs, with their files",
        "auxmc where fig_5_6 radon",
        "auxmc where fig_c_2 tempering_illustration",
    )
    tracing.add_argument("figure", help="name of its files, such as fig_5_6")
    tracing.add_argument("study", nargs="?", help="the study, where several have such a figure")

    comparing = _add(
        subparsers,
        "compare",
        _compare,
        "compare two result files: settings, code, posteriors, statistics",
        "auxmc compare results/quick/radon/nuts.nc results/quick/radon/centred.nc",
        "",
        "A difference is given with its Monte Carlo standard error; |z| is their ratio.",
    )
    comparing.add_argument("first", type=Path, metavar="A", help="result file (.nc), or record of a stream")
    comparing.add_argument("second", type=Path, metavar="B", help="result file (.nc), or record of a stream")


def _add(
    subparsers: Any, name: str, describe: Callable[[Options], str], help: str, *examples: str
) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        epilog="\n  ".join(["examples:", *examples]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )

    def run(options: Options) -> int:
        print(describe(options))
        return 0

    parser.set_defaults(run=run)
    return parser


# What the subcommands need takes a second to import, which `--help` should not cost.
def _list(options: Options) -> str:
    studies = _study_module("studies")
    if options.study == "claims":
        return str(studies.list_claims(options.preset))
    return str(studies.list_cases(options.study, options.preset) if options.study else studies.list_studies())


def _show(options: Options) -> str:
    if str(options.result) == "published":
        return str(_study_module("show_published").describe_published(options.preset))
    from auxmc_pipeline.command_line.show import describe

    return describe(options.result)


def _compare(options: Options) -> str:
    from auxmc_pipeline.command_line.compare import compare

    return compare(options.first, options.second)


def _study_module(name: str) -> Any:
    """A module that needs a clone with studies."""
    return importlib.import_module(f"auxmc_pipeline.command_line.{name}")
