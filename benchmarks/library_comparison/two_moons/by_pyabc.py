import pathlib
import tempfile

import numpy as np
import pyabc


def solve(seed):
    np.random.seed(seed)  # noqa: NPY002  pyABC draws from it

    def simulate(p):
        a, r = np.random.uniform(-np.pi / 2, np.pi / 2), np.random.normal(0.1, 0.01)  # noqa: NPY002
        moon = np.array([r * np.cos(a) + 0.25, r * np.sin(a)])
        return {"x": moon + np.array([-abs(p["t0"] + p["t1"]), p["t1"] - p["t0"]]) / np.sqrt(2.0)}

    prior = pyabc.Distribution(t0=pyabc.RV("uniform", -1.0, 2.0), t1=pyabc.RV("uniform", -1.0, 2.0))
    abc = pyabc.ABCSMC(
        simulate,
        prior,
        lambda a, b: np.linalg.norm(a["x"] - b["x"]),
        population_size=1000,
        transitions=pyabc.LocalTransition(k_fraction=0.2),
        sampler=pyabc.SingleCoreSampler(),
    )
    abc.new(f"sqlite:///{pathlib.Path(tempfile.mkdtemp()) / 'abc.db'}", {"x": np.zeros(2)})
    history = abc.run(minimum_epsilon=0.01, max_total_nr_simulations=200_000)
    frame, weights = history.get_distribution()
    rows = np.random.default_rng(seed).choice(len(frame), 4000, p=weights / weights.sum())
    return {"theta": frame[["t0", "t1"]].to_numpy()[rows]}
