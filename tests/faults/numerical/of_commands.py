"""Numerical faults given to the command line."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.faults.numerical.numerical_trials import Trial, command
from tests.faults.trials import REFUSED

__all__ = ["TRIALS"]

_DENSITY = """import jax.numpy as jnp
def log_density(v):
    return {density}
start = {{"x": {start}}}
"""
_ROWS = """import jax, jax.numpy as jnp
def log_likelihood(parameters, rows):
    return -0.5 * (rows[:, 0] - parameters[0]) ** 2
def log_prior(parameters):
    return -0.5 * jnp.sum(parameters**2) - 0.5 * jnp.log(2 * jnp.pi)
def draw_prior(key):
    return jax.random.normal(key, (1,))
"""


def _of_density(verb: str, density: str, start: str) -> Callable[[], str]:
    def run() -> str:
        with tempfile.TemporaryDirectory() as folder:
            model = Path(folder) / "model.py"
            model.write_text(_DENSITY.format(density=density, start=start))
            small = ["--draws", "10", "--warm-up", "2", "--chains", "2", "--cores", "1", "--quiet"]
            return _without(folder, [verb, str(model), *small, "--output", f"{folder}/out"])

    return run


def _of_rows(cell: str) -> Callable[[], str]:
    def run() -> str:
        with tempfile.TemporaryDirectory() as folder:
            model, rows = Path(folder) / "model.py", Path(folder) / "rows.csv"
            model.write_text(_ROWS)
            rows.write_text("y\n0.1\n0.4\n" + cell + "\n0.3\n")
            small = ["--particles", "8", "--moves", "1", "--replicates", "2", "--chunk-rows", "4"]
            return _without(folder, ["stream", "--data", str(rows), "--model", str(model), *small])

    return run


def _without(folder: str, words: list[str]) -> str:
    """Runs a command, whose message must not differ with the folder's name."""
    try:
        return command(words)
    except ValueError as error:
        raise ValueError(str(error).replace(f"{folder}/", "")) from error


TRIALS = [
    *(
        Trial(f"`auxmc {verb}`", fault, given, _of_density(verb, density, start), REFUSED, says)
        for verb in ("sample", "evidence")
        for fault, given, density, start, says in (
            ("start off the support", "log(x) at -1", "jnp.log(v['x']) - v['x']", "-1.0", "start is nan"),
            ("start at 1e300", "standard normal", "-0.5 * v['x'] ** 2", "1e300", "start is -inf"),
            ("improper", "x, of a real x", "v['x']", "0.0", "grows without end along x"),
            ("constant density", "0 everywhere", "0.0 * v['x']", "0.0", "is the same everywhere"),
        )
    ),
    Trial("`auxmc stream`", "NaN in a row", "row 3 is nan", _of_rows("nan"), REFUSED, "rows.csv"),
    Trial(
        "`auxmc stream`",
        "row of 1e300",
        "row 3 is 1e300",
        _of_rows("1e300"),
        REFUSED,
        "too large for float32",
    ),
]
