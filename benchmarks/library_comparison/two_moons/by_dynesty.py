import dynesty
import numpy as np


def solve(seed):
    # The likelihood, by hand: a point of the moon in polar coordinates about (0.25, 0).
    def log_likelihood(t):
        x, y = abs(t[0] + t[1]) / np.sqrt(2.0) - 0.25, (t[0] - t[1]) / np.sqrt(2.0)
        r = np.hypot(x, y)
        if x <= 0.0:
            return -1e10 - r
        return -0.5 * ((r - 0.1) / 0.01) ** 2 - np.log(0.01 * np.sqrt(2.0 * np.pi) * np.pi * r)

    sampler = dynesty.NestedSampler(
        log_likelihood, lambda u: 2.0 * u - 1.0, 2, nlive=1000, rstate=np.random.default_rng(seed)
    )
    sampler.run_nested(print_progress=False)
    return {"theta": sampler.results.samples_equal(rstate=np.random.default_rng(seed))}
