"""Simulates how many verdicts Monte Carlo error spoils: `python -m auxmc_pipeline.steps.wrong_verdicts --help`.

Published values and errors are taken for the truth. Each replication draws new values with these errors, and judges
them. A verdict on a claim is wrong where it is decided and is not that of the true values. The number that the report
expects takes all true values as equally likely. Whatever they are, the verdict on a line is wrong with a probability of
at most that of a normal number beyond two standard errors.
"""

import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import ndtr

from auxmc_pipeline.catalogue import check_preset, studies
from auxmc_pipeline.command_errors import errors_in_one_line, step_parser
from auxmc_pipeline.judging.counts import counts_of, verdict_of_claim
from auxmc_pipeline.judging.published import read_published
from auxmc_pipeline.judging.verdicts import FIGURE_ONLY, verdict_of_line

_DECIDED = ("reproduced", FIGURE_ONLY, "not reproduced")
_MOST_WRONG = float(ndtr(-2.0))


class Wrong(NamedTuple):
    """Numbers of claims, means over replications."""

    decided: float  # claims whose verdict is not open
    wrong: float  # of these, with another verdict than that of the true values
    expected: float  # wrong ones that are expected from the values of a replication alone
    error: float  # standard error of wrong


def simulate(judged: pd.DataFrame, n_replications: int, rng: np.random.Generator) -> Wrong:
    """Replicates the verdicts on judged claims whose values are known with their errors; ValueError if none is.

    Each replication draws all values, normal and independent between lines.
    """
    values, errors = (judged[name].to_numpy(np.float64) for name in ("measured", "monte_carlo_error"))
    is_drawn = np.isfinite(values) & (errors > 0.0) & ~judged["exact"].to_numpy(bool)
    if not is_drawn.any():
        raise ValueError("no measured value has an error: nothing to draw")
    # With an unknown error or none at all a line has no true verdict other than the one that it has.
    judged = judged.assign(verdict=_verdicts(judged, is_drawn, exact=True))
    truth = judged.groupby("claim_id", sort=False)[["verdict", "nature"]].apply(verdict_of_claim)
    rows = []
    for _ in range(n_replications):
        noise = np.where(is_drawn, errors, 0.0) * rng.standard_normal(len(judged))
        drawn = judged.assign(measured=values + noise)
        drawn["verdict"] = _verdicts(drawn, is_drawn, exact=False)
        found = drawn.groupby("claim_id", sort=False)[["verdict", "nature"]].apply(verdict_of_claim)
        is_decided = found.isin(_DECIDED)
        is_wrong = is_decided & (found != truth)
        rows.append((is_decided.sum(), is_wrong.sum(), counts_of(drawn).expected_wrong))
    decided, wrong, expected = np.array(rows, dtype=np.float64).T
    error = float(np.std(wrong, ddof=1) / np.sqrt(n_replications))
    return Wrong(float(decided.mean()), float(wrong.mean()), float(expected.mean()), error)


def _verdicts(judged: pd.DataFrame, is_drawn: np.ndarray, *, exact: bool) -> list[str]:
    """Verdicts of the drawn lines, or of what they would be without errors; the others keep theirs."""
    return [
        verdict_of_line({**line, "exact": exact}) if drawn else line["verdict"]
        for line, drawn in zip(judged.to_dict("records"), is_drawn, strict=True)
    ]


@errors_in_one_line()
def main(arguments: list[str] | None = None) -> int:
    """Command line; returns 1 where more verdicts than stated are wrong, by two standard errors of the simulation."""
    parser = step_parser(__doc__, "preset")
    parser.add_argument("--studies", nargs="+", default=studies(), help="which ones, by default all")
    parser.add_argument("--replications", type=int, default=200)
    options = parser.parse_args(arguments)
    judged = read_published(check_preset(options.preset)).judged
    rng, too_many = np.random.default_rng(20261127), False
    for name in options.studies:
        found = simulate(judged[name], options.replications, rng)
        too_many |= found.wrong > _MOST_WRONG * found.decided + 2.0 * found.error
        print(
            f"{name}: of {found.decided:.1f} decided claims {found.wrong:.3f} +- {found.error:.3f} wrong, "
            f"{found.expected:.3f} expected, at most {_MOST_WRONG * found.decided:.3f} stated"
        )
    return int(too_many)


if __name__ == "__main__":
    sys.exit(main())
