"""Numerical faults put to the public library: what may come of a trial, and how that is judged."""

import contextlib
import io
import os
import traceback
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

import auxmc
from tests.faults.trials import REFUSED, RIGHT, run_command

__all__ = [
    "WARNED",
    "Found",
    "Trial",
    "as_wanted",
    "checked_draws",
    "command",
    "judged",
    "moments_are",
    "nothing_was_said",
    "off",
]

WARNED = "warned"
"""Outcome of a trial that runs to its end and says what is wrong with what it returns."""


class Trial(NamedTuple):
    """A numerical fault, and what must come of it.

    Attributes:
        family: part of the library, a group of rows.
        fault: the fault, in a few words.
        given: what is given.
        run: gives it, and returns what is wrong with the values that came back: an empty text where they are right.
        outcome: RIGHT, REFUSED or WARNED.
        says: a part of the message; empty where there is none.
        slow: whether it takes more than a few seconds.
    """

    family: str
    fault: str
    given: str
    run: Callable[[], str]
    outcome: str
    says: str = ""
    slow: bool = False


class Found(NamedTuple):
    """What came of a trial, "traceback" and "wrong" being what must not come of it; and the message."""

    outcome: str
    message: str


def judged(trial: Trial) -> Found:
    """Runs a trial, and says what came of it.

    A value that is wrong is excused by a warning, and by nothing else. Of several messages the one that was expected is
    returned, or else the first.
    """
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("always")
        try:
            wrong = trial.run()
        except (ValueError, TypeError) as error:
            return Found("traceback" if "\n" in str(error) else REFUSED, str(error))
        except Exception:
            return Found("traceback", traceback.format_exc()[-2000:])
    said = [str(one.message) for one in caught if issubclass(one.category, auxmc.SamplingWarning)]
    if said:
        named = [text for text in said if trial.says and trial.says in text]
        return Found(WARNED, (named or said)[0])
    return Found("wrong", wrong) if wrong else Found(RIGHT, "")


def as_wanted(trial: Trial, found: Found) -> bool:
    """Whether outcome and message are those that must come of a trial."""
    return found.outcome == trial.outcome and trial.says in found.message


def off(what: str, value: Any, exact: float, most: float) -> str:
    """A text where a value is farther from the exact one than it may be, or not a number."""
    return "" if abs(float(value) - exact) <= most else f"{what} is {float(value):.6g}, not {exact:.6g}"


def moments_are(mean: float, sd: float, name: str = "mean", most: float = 0.3) -> Callable[[xr.Dataset], str]:
    """A check of the mean and the spread of a variable's draws, in units of the exact standard deviation."""

    def check(draws: xr.Dataset) -> str:
        values = draws[name].to_numpy()
        return off("the mean", (values.mean() - mean) / sd, 0.0, most) or off(
            "the spread", values.std() / sd, 1.0, most
        )

    return check


def nothing_was_said(draws: xr.Dataset) -> str:
    """The check of a trial that must be refused or warned of: that it came this far is wrong."""
    del draws
    return "nothing was said"


def checked_draws(tree: xr.DataTree, check: Callable[[xr.Dataset], str]) -> str:
    """What is wrong with the draws of a posterior: those that are not finite, or else what the check says."""
    draws = tree["posterior"].to_dataset()
    bad = [str(name) for name in draws if not np.all(np.isfinite(draws[name]))]
    return f"draws of {bad} are not finite" if bad else check(draws)


def command(words: list[str]) -> str:
    """Runs a command line in this process.

    Returns:
        What is wrong: nothing where it ended well; its warnings are issued here.

    Raises:
        ValueError: it refused; its line of error.
        RuntimeError: it ended in a traceback, or without a line of error.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        code, text = run_command(words)
    if "Traceback (most recent call last)" in text:
        raise RuntimeError(text)
    for one in caught:
        warnings.warn(one.message, stacklevel=2)
    lines = [line for line in text.splitlines() if line.strip()]
    if code:
        named = [line for line in lines if "error" in line]
        if not named:
            raise RuntimeError(f"exit status {code}: {text}")
        raise ValueError(named[-1].replace(os.getcwd() + os.sep, ""))
    for line in lines:
        if "warning" in line.lower():
            warnings.warn(line, auxmc.SamplingWarning, stacklevel=2)
    return ""
