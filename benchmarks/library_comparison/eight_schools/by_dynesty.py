import dynesty
import numpy as np
from scipy.stats import halfcauchy, norm

from benchmarks.library_comparison.data import EFFECTS, ERRORS


def solve(seed):
    y, sigma = np.asarray(EFFECTS), np.asarray(ERRORS)

    def log_likelihood(v):
        residuals = (y - v[0] - v[1] * v[2:]) / sigma
        return -0.5 * np.sum(residuals**2) - np.sum(np.log(sigma)) - 4.0 * np.log(2.0 * np.pi)

    def transform(u):
        return np.concatenate([[norm.ppf(u[0], 0.0, 5.0), halfcauchy.ppf(u[1], 0.0, 5.0)], norm.ppf(u[2:])])

    sampler = dynesty.NestedSampler(log_likelihood, transform, 10, rstate=np.random.default_rng(seed))
    sampler.run_nested(print_progress=False)
    x = sampler.results.samples_equal(rstate=np.random.default_rng(seed))
    return {
        "mu": x[:, 0],
        "tau": x[:, 1],
        "log_evidence": sampler.results.logz[-1],
        "standard_error": sampler.results.logzerr[-1],
    }
