"""Draws one figure from a study's tables: `python -m experiments.draw --help`."""

import argparse
import sys
from pathlib import Path

from auxmc.engine.config import SettingsError, nearest
from auxmc.plots.style import save_figure, use_style
from experiments.catalogue import load_study
from experiments.tables import read_tables

__all__ = ["main"]


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.draw", description="Draw one figure of a study from its tables."
    )
    parser.add_argument("study")
    parser.add_argument("preset")
    parser.add_argument("figure")
    parser.add_argument("--tables", nargs=2, type=Path, required=True, metavar=("SUMMARY", "CURVES"))
    parser.add_argument("--out", type=Path, required=True, help="PNG to write; the PDF stands beside it")
    options = parser.parse_args(arguments)
    study = load_study(options.study)
    draw = study.module("figures").DRAW
    if options.figure not in draw:
        hint = nearest(options.figure, list(draw))
        print(
            f"error: study {study.name} has no figure {options.figure!r}.{hint} Figures: {', '.join(draw)}",
            file=sys.stderr,
        )
        return 2
    try:
        summary, curves = read_tables(study, options.preset, options.tables)
    except SettingsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    with use_style():
        save_figure(draw[options.figure](summary, curves), options.out.with_suffix(""))
    return 0


if __name__ == "__main__":
    sys.exit(main())
