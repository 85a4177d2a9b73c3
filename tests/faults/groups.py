"""All groups of trials, with how many make up the whole campaign and how many are tried in a quarter of an hour."""

import signal
import tempfile
from pathlib import Path

import numpy as np

from auxmc.driver.runtime import configure
from tests.faults.damaged_files import try_damaged_file
from tests.faults.data_files import try_data_file
from tests.faults.model_files import try_model_file
from tests.faults.processes import try_process
from tests.faults.settings import try_settings
from tests.faults.trials import Group, Outcome, tried

GROUPS = {
    "settings": Group(try_settings, 10_000, 2000),
    "data files": Group(try_data_file, 10_000, 3000),
    "model files": Group(try_model_file, 500, 40, 300.0, 2),
    "damaged files": Group(try_damaged_file, 5000, 600, 120.0),
    "processes": Group(try_process, 300, 40, 900.0, 1),
}
"""Groups by name, in the order of the page."""


def run_trials(group: str, seed: int, first: int, n: int) -> list[tuple[int, Outcome]]:
    """Some trials of a group, each with random numbers of its own and in a folder of its own."""
    # As every command does: what is compiled in this process before the first of them has the same precision.
    configure("cpu")
    # A shell ignores interrupts of what it runs in the background: commands would take that over, and not be stopped.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    declared = GROUPS[group]
    found = []
    for number in range(first, first + n):
        rng = np.random.default_rng([seed, list(GROUPS).index(group), number])
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            found.append((number, tried(declared.trial, rng, Path(folder), declared.seconds, group)))
    return found
