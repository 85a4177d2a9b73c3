"""`auxmc list`, `plan`, `settings`, `show`, `where`, `compare`: which studies there are, their cost, their results."""

import argparse
import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

_LIST = """\
examples:
  auxmc list                        studies, number of cases, CPU time at each preset
  auxmc list radon                  cases of a study at preset quick, which are done, what they took
  auxmc list radon --preset paper
"""
_SETTINGS = """\
example:
  auxmc settings radon
"""
_SHOW = """\
examples:
  auxmc show results/quick/radon/nuts.nc
  auxmc show decay-sample          what auxmc sample, evidence or stream wrote to a folder, or a file of it
  auxmc show published              what is kept in published/, what made it, what the present code would make anew
  auxmc show published paper
"""
_WHERE = """\
examples:
  auxmc where fig_5_6 radon
  auxmc where fig_c_2 tempering_illustration
"""
_PLAN = """\
examples:
  auxmc plan --preset paper --cores 64
  auxmc plan --preset paper --cores 2 --without image_models
"""
_COMPARE = """\
example:
  auxmc compare results/quick/radon/nuts.nc results/quick/radon/centred.nc

A difference is given with its Monte Carlo standard error; |z| is their ratio.
"""


def register(subparsers: Any) -> None:
    """Adds the subcommands.

    Args:
        subparsers: what `ArgumentParser.add_subparsers` returned; each subcommand sets `run`, a function of the
            options that returns the exit status.
    """
    listing = _add(subparsers, "list", "show the studies, or the cases of one with what they took", _LIST)
    listing.add_argument("study", nargs="?", help="a study, to see its cases")
    listing.add_argument(
        "--preset", default="quick", help="whose cases: smoke, quick or paper (default: quick)"
    )
    listing.set_defaults(run=_list)

    settings = _add(subparsers, "settings", "show the settings of a study and what is allowed", _SETTINGS)
    settings.add_argument("study", help="name of the study")
    settings.set_defaults(run=_settings)

    planning = _add(
        subparsers, "plan", "say what a preset costs, and how long it takes on a number of cores", _PLAN
    )
    planning.add_argument("--preset", default="paper", help="smoke, quick or paper (default: paper)")
    planning.add_argument("--cores", type=int, default=64, help="number of cores (default: 64)")
    planning.add_argument("--without", nargs="+", default=[], metavar="STUDY", help="studies to leave out")
    planning.set_defaults(run=_plan)

    showing = _add(subparsers, "show", "say what a result file, or published/, holds and what made it", _SHOW)
    showing.add_argument(
        "result",
        type=Path,
        metavar="RESULT",
        help="result file (.nc), file or folder of a run of your own, or the word published",
    )
    showing.add_argument("preset", nargs="?", help="after published: of which preset (default: all)")
    showing.set_defaults(run=_show)

    tracing = _add(
        subparsers,
        "where",
        "say which function draws a figure, and what its study runs, with their files",
        _WHERE,
    )
    tracing.add_argument("figure", help="name of its files, such as fig_5_6")
    tracing.add_argument("study", nargs="?", help="the study, where several have such a figure")
    tracing.set_defaults(run=_where)

    comparing = _add(
        subparsers, "compare", "compare two result files: settings, code, posteriors, statistics", _COMPARE
    )
    comparing.add_argument("first", type=Path, metavar="A", help="result file (.nc), or record of a stream")
    comparing.add_argument("second", type=Path, metavar="B", help="result file (.nc), or record of a stream")
    comparing.set_defaults(run=_compare)


def _add(subparsers: Any, name: str, help: str, examples: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=help,
        description=f"{help[0].upper()}{help[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    return parser


# What the subcommands need takes a second to import, which `--help` should not cost.
def _list(options: argparse.Namespace) -> int:
    with _of_studies("studies") as studies:
        print(studies.list_cases(options.study, options.preset) if options.study else studies.list_studies())
    return 0


def _settings(options: argparse.Namespace) -> int:
    with _of_studies("settings") as settings:
        print(settings.list_settings(options.study))
    return 0


def _plan(options: argparse.Namespace) -> int:
    with _of_studies("plan") as plan:
        print(plan.describe_plan(options.preset, options.cores, options.without))
    return 0


def _show(options: argparse.Namespace) -> int:
    if str(options.result) == "published":
        with _of_studies("show_published") as published:
            print(published.describe_published(options.preset))
        return 0
    from auxmc_pipeline.command_line.show import describe

    print(describe(options.result))
    return 0


def _where(options: argparse.Namespace) -> int:
    with _of_studies("where") as where:
        print(where.describe_figure(options.figure, options.study))
    return 0


def _compare(options: argparse.Namespace) -> int:
    from auxmc_pipeline.command_line.compare import compare

    print(compare(options.first, options.second))
    return 0


@contextmanager
def _of_studies(module: str) -> Iterator[ModuleType]:
    """A module that needs a checkout with studies.

    Raises:
        CommandError: there is none, or a name or a setting is wrong.
    """
    from auxmc.errors import CommandError
    from auxmc_pipeline.settings import SettingsError

    try:
        yield importlib.import_module(f"auxmc_pipeline.command_line.{module}")
    except SettingsError as error:
        raise CommandError(str(error)) from error
