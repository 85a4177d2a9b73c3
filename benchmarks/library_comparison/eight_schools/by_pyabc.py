import pathlib
import tempfile

import numpy as np
import pyabc

from benchmarks.library_comparison.data import EFFECTS, ERRORS


def solve(seed):
    np.random.seed(seed)  # noqa: NPY002  pyABC draws from it
    y, sigma = np.asarray(EFFECTS), np.asarray(ERRORS)

    def simulate(parameters):
        effects = parameters["mu"] + parameters["tau"] * np.random.normal(size=8)  # noqa: NPY002
        return {"y": effects + sigma * np.random.normal(size=8)}  # noqa: NPY002

    prior = pyabc.Distribution(mu=pyabc.RV("norm", 0.0, 5.0), tau=pyabc.RV("halfcauchy", 0.0, 5.0))
    abc = pyabc.ABCSMC(
        simulate,
        prior,
        lambda a, b: np.linalg.norm((a["y"] - b["y"]) / sigma),
        population_size=500,
        sampler=pyabc.SingleCoreSampler(),
    )
    abc.new(f"sqlite:///{pathlib.Path(tempfile.mkdtemp()) / 'abc.db'}", {"y": y})
    history = abc.run(max_total_nr_simulations=100_000, min_acceptance_rate=0.01)
    frame, weights = history.get_distribution()
    rows = np.random.default_rng(seed).choice(len(frame), 2000, p=weights / weights.sum())
    return {"mu": frame["mu"].to_numpy()[rows], "tau": frame["tau"].to_numpy()[rows]}
