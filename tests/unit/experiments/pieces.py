"""A case that is run in pieces."""

import contextlib

from auxmc.driver.units import Share, Units
from auxmc.errors import UnitsMissing


def run_in_pieces(run, n_pieces):
    """The result of a case whose units so many jobs have made; `run` maps a name and Units to a result."""
    given = {}
    for piece in range(n_pieces):
        units = Units(Share(piece, n_pieces))
        with contextlib.suppress(UnitsMissing):
            run(f"{piece}-of-{n_pieces}", units)
        given |= units.made
    # The merging job's part begins after all units, so that a unit that is not given would be missed.
    return run(f"merged-{n_pieces}", Units(Share(len(given), len(given) + 1), given))
