import dynesty
import numpy as np
from scipy.stats import norm


def solve(seed):
    def log_likelihood(x):
        constant = -10.0 * np.log(0.5 * np.sqrt(2.0 * np.pi))
        left = np.log(0.3) - 2.0 * np.sum((x + 3.0) ** 2)
        right = np.log(0.7) - 2.0 * np.sum((x - 3.0) ** 2)
        return np.logaddexp(left, right) + constant

    sampler = dynesty.NestedSampler(
        log_likelihood, lambda u: norm.ppf(u, 0.0, 5.0), 10, rstate=np.random.default_rng(seed)
    )
    sampler.run_nested(print_progress=False)
    return {
        "x": sampler.results.samples_equal(rstate=np.random.default_rng(seed)),
        "log_evidence": sampler.results.logz[-1],
        "standard_error": sampler.results.logzerr[-1],
    }
