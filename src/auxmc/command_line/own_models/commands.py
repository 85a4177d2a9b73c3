"""Options of `auxmc sample` and `auxmc evidence`. Nothing heavy is imported here."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from auxmc.command_line.errors import output_folder
from auxmc.interface import tempered

METHODS = {
    "simulator": ("constrained_hmc", "constrained_nuts"),
    "estimate": ("auxiliary_pseudo_marginal", "pseudo_marginal"),
    "density": ("nuts", "hmc"),
}
"""Methods for each kind of model, the default first; repeated from the interface, which the help does not import."""

_SAMPLED = """
MODEL.py is one of these, by the functions that it has (written with jax.numpy):

  a simulator, conditioned exactly on its data
    generate(inputs)           outputs, from a dictionary of random inputs
    inputs                     {"rate": auxmc.prior.log_normal(), "noise": auxmc.prior.normal(20)}
    observed                   data of the outputs' shape (default: what --data holds)
    noise_scale, derived(inputs)   optional
  an unbiased estimator of a likelihood
    log_prior(parameters), log_estimate(parameters, auxiliary)
    auxiliary                  shape of standard normal variables, or a function of a key that draws others
    start                      parameters to begin at
  a density
    log_density(variables)     in nats
    start                      variables to begin at
"""
_INTEGRATED = """
MODEL.py is a density (written with jax.numpy):

    log_density(variables)     in nats: log likelihood plus normalised log prior
    start                      variables to begin at
    prior, bounds, periodic, exchangeable    (optional) as for auxmc.density; a prior draws the start
"""
_DATA = """
Any function may have an argument called `data`, and a value may be a function of it: it is the content of --data, a
dictionary of columns (text, .parquet), an array (.npy), a dictionary of arrays (.npz), or what a function load(path)
of the file returns.
"""


def register(subparsers: Any) -> None:
    """Adds the subcommands to what `ArgumentParser.add_subparsers` returned."""
    add = _command(
        subparsers,
        "sample",
        "draws from your model",
        f"Draws from the posterior of a model in a Python file.\n{_SAMPLED}{_DATA}",
        "examples:\n  auxmc sample docs/examples/decay.py --data docs/examples/decay.csv --draws 500",
        plots=("png",),
        draws=1000,
        warm_up=1000,
        chains=4,
    )
    names = [name for names in METHODS.values() for name in names]
    kinds = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in METHODS.items())
    add("--method", choices=names, help=f"{kinds} (default: the first of the model's kind)")
    add = _command(
        subparsers,
        "evidence",
        "log evidence of your model, and draws across its modes",
        "Estimates the log of the integral of a density in a Python file, with an error, and draws from all its modes."
        f"\n{_INTEGRATED}{_DATA}",
        "examples:\n  auxmc evidence docs/examples/two_modes.py --draws 500",
        draws=2000,
        warm_up=500,
        chains=16,
    )
    add("--method", choices=tempered.METHODS, default=tempered.METHODS[0], help="(default: %(default)s)")


def _command(
    subparsers: Any, name: str, short: str, text: str, examples: str, plots: Sequence[str] = (), **counts: int
) -> Callable[..., argparse.Action]:
    """Adds a subcommand with the options of both; returns what adds others."""
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name,
        help=short,
        description=text,
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=_run, command=name)
    add = parser.add_argument
    number: dict[str, Any] = {"type": int, "metavar": "N"}
    add("model", type=Path, metavar="MODEL.py", help="the model")
    add("--data", type=Path, metavar="FILE", help="data for functions with an argument `data`")
    setting = "a setting of the method, such as step_size=0.05; may be given again"
    add("--set", action="append", default=[], metavar="NAME=VALUE", dest="settings", help=setting)
    add("--draws", default=counts["draws"], help="of each chain (default: %(default)s)", **number)
    before = "iterations before them, in which steps are adapted (default: %(default)s)"
    add("--warm-up", default=counts["warm_up"], help=before, **number)
    add("--chains", default=counts["chains"], help="(default: %(default)s)", **number)
    add("--cores", help="chains at a time (default: all cores)", **number)
    add("--seed", default=0, help="root seed (default: %(default)s)", **number)
    kept = "for result.nc, summary.csv, plots and checkpoints; an interrupted run is resumed"
    folder = "(default: the names of model and command, such as decay-sample)"
    add("--output", type=output_folder, metavar="FOLDER", help=f"{kept} {folder}")
    add("--restart", action="store_true", help="delete the run that is in the folder")
    levels = ("basic", "full", "off")
    add("--checks", choices=levels, default="basic", help="of the model and the draws (default: %(default)s)")
    formats = f"formats of plots of the draws, among png, pdf, svg (default: {' '.join(plots) or 'no plots'})"
    add("--plots", nargs="*", choices=("png", "pdf", "svg"), default=plots, metavar="FORMAT", help=formats)
    add("--quiet", action="store_true", help="no progress")
    return add


def _run(options: argparse.Namespace) -> int:
    import os

    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ["JAX_ENABLE_X64"] = "1"
    from auxmc.driver.runtime import importing

    with importing():
        from auxmc.command_line.kept_programs import keep_programs
        from auxmc.command_line.own_models.session import run
    keep_programs()
    return run(options)
