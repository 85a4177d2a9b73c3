"""Draws of problems with known posteriors, next to exact draws: is each right, or warned of?

8 chains of 2000 draws next to 2000 exact ones (`posterior_problems.py`). The largest z of the means is with the draws'
own Monte Carlo errors; a classifier by nearest neighbours that cannot tell draws from exact ones is right in half of
the cases.
"""

import math
import warnings
from functools import partial

import numpy as np
from scipy import stats
from scipy.spatial import cKDTree

import auxmc
from auxmc.diagnostics.convergence import bulk_ess, rank_r_hat
from benchmarks import posterior_problems as problems
from benchmarks.harness import Benchmark, Program, Run
from benchmarks.posterior_problems import N_EXACT, Draw, Found

_NEIGHBOURS = 15
MEANS, CLASSIFIER, R_HAT = "largest z of means", "classifier right", "R-hat"


def largest_z(found: Found) -> tuple[float, float]:
    """Largest z of means and of variances."""
    scores = []
    for power in (1, 2):
        centre = found.exact.mean(axis=0)
        values, exact = (found.draws - centre) ** power, (found.exact - centre) ** power
        size = np.maximum(np.asarray(bulk_ess(np.moveaxis(values, -1, 0))), 1.0)
        error = np.sqrt(values.var(axis=(0, 1)) / size + exact.var(axis=0) / len(exact))
        scores.append(float(np.max(np.abs(values.mean(axis=(0, 1)) - exact.mean(axis=0)) / error)))
    return scores[0], scores[1]


def told_apart(found: Found) -> tuple[float, float]:
    """Fraction of points that their nearest neighbours, itself left out, class rightly, and its standard error.

    As many draws are compared as are independent in effect, squares included: neighbours of a chain lie near each
    other, which a classifier sees however right the chain is.
    """
    flat = found.draws.reshape(-1, found.draws.shape[-1])
    centred = np.moveaxis(found.draws - found.exact.mean(axis=0), -1, 0)
    sizes = [np.min(np.asarray(bulk_ess(values))) for values in (centred, centred**2)]
    n = max(int(min(N_EXACT, *sizes)), _NEIGHBOURS)
    chosen = flat[np.linspace(0, len(flat) - 1, n).astype(int)]
    points = np.concatenate([chosen, found.exact[:n]])
    ranks = stats.rankdata(points, axis=0) / len(points)
    labels = np.repeat([0, 1], n)
    near = cKDTree(ranks).query(ranks, _NEIGHBOURS + 1)[1][:, 1:]
    # A point's own class is one fewer among its neighbours: in balance, each is missing once.
    right = (labels[near].mean(axis=1) > 0.5) == labels
    # Parts of chains differ more than their effective sample sizes say, where regions are visited for long. Votes of
    # neighbours are alike: the fraction varies a quarter more than that of independent guesses.
    parts = [part.mean() for part in np.array_split(right[:n], 16)]
    errors = np.std(parts, ddof=1) / math.sqrt(len(parts)), 1.25 * math.sqrt(0.25 / n)
    return float(right.mean()), 0.5 * math.hypot(*errors)


def _prepare(draw: Draw, quick: bool) -> Run:
    def run(seed: int) -> dict[str, float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", auxmc.SamplingWarning)
            found = draw(np.random.default_rng(seed))
        r_hat = float(np.max(rank_r_hat(np.moveaxis(found.draws, -1, 0))))
        return {MEANS: largest_z(found)[0], CLASSIFIER: told_apart(found)[0], R_HAT: r_hat}

    return run


PROGRAMS: dict[str, dict[str, Draw]] = {
    "two moons": {
        "constrained HMC": problems.two_moons,
        "constrained HMC with jumps to the mirror image": problems.two_moons_jumps,
    },
    "SLCP, four modes": {
        "constrained HMC": problems.slcp,
        "constrained HMC with jumps to mirror images": problems.slcp_jumps,
    },
    "SLCP, its likelihood given": {"auxmc.evidence": problems.slcp_likelihood},
    "Gaussian linear, 10 parameters": {"constrained HMC": problems.gaussian_linear},
    "Gaussian mixture, scales 1 and 0.1": {"HMC": problems.gaussian_mixture},
    "two modes of 30 and 70 %": {"auxmc.evidence": problems.two_modes},
}
PROBLEMS = {
    problem: [Program(name, partial(_prepare, draw)) for name, draw in draws.items()]
    for problem, draws in PROGRAMS.items()
}
UNITS, QUICK = dict.fromkeys([MEANS, CLASSIFIER, R_HAT], ""), ["Gaussian linear, 10 parameters"]
BENCHMARKS = {"posterior_accuracy": Benchmark(PROBLEMS, UNITS, QUICK, ratios=False, timed=False)}
