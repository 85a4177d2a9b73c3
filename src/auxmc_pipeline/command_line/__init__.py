"""`auxmc list`, `auxmc show` and `auxmc compare`: which studies there are, and what result files hold."""

import argparse
from pathlib import Path
from typing import Any

__all__ = ["register"]

_LIST = """\
examples:
  auxmc list                        studies, number of cases, CPU time at each preset
  auxmc list radon                  cases of a study at preset quick, which are done, what they took
  auxmc list radon --preset paper
"""
_SHOW = """\
example:
  auxmc show results/quick/radon/nuts.nc
"""
_COMPARE = """\
example:
  auxmc compare results/quick/radon/nuts.nc results/quick/radon/centred.nc

A difference is given with its Monte Carlo standard error; |z| is their ratio.
"""


def register(subparsers: Any) -> None:
    """Adds the three subcommands.

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

    showing = _add(subparsers, "show", "say what a result file holds and what made it", _SHOW)
    showing.add_argument("result", type=Path, metavar="RESULT", help="result file (.nc)")
    showing.set_defaults(run=_show)

    comparing = _add(
        subparsers, "compare", "compare two result files: settings, code, posteriors, statistics", _COMPARE
    )
    comparing.add_argument("first", type=Path, metavar="A", help="result file (.nc)")
    comparing.add_argument("second", type=Path, metavar="B", help="result file (.nc)")
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
    from auxmc.command_line.errors import CommandError
    from auxmc_pipeline.settings import SettingsError

    try:
        from auxmc_pipeline.command_line.study_list import list_cases, list_studies
    except SettingsError as error:  # there is no checkout
        raise CommandError(str(error)) from error
    print(list_cases(options.study, options.preset) if options.study else list_studies())
    return 0


def _show(options: argparse.Namespace) -> int:
    from auxmc_pipeline.command_line.result_contents import describe

    print(describe(options.result))
    return 0


def _compare(options: argparse.Namespace) -> int:
    from auxmc_pipeline.command_line.result_comparison import compare

    print(compare(options.first, options.second))
    return 0
