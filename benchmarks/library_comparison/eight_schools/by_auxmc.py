import jax.numpy as jnp
from jax.scipy.stats import cauchy, norm

import auxmc
from benchmarks.library_comparison.data import EFFECTS, ERRORS


def solve(seed):
    y, sigma = jnp.asarray(EFFECTS), jnp.asarray(ERRORS)

    def log_density(v):
        tau = jnp.exp(v["log_tau"])
        prior = norm.logpdf(v["mu"], 0.0, 5.0) + cauchy.logpdf(tau, 0.0, 5.0) + jnp.log(2.0) + v["log_tau"]
        return prior + jnp.sum(norm.logpdf(v["z"]) + norm.logpdf(y, v["mu"] + tau * v["z"], sigma))

    start = {"mu": 0.0, "log_tau": 0.0, "z": [0.0] * 8}
    draws = auxmc.sample(auxmc.hmc(auxmc.density(log_density, start)), draws=2000, seed=seed, progress=False)
    x = draws["posterior"]
    result = auxmc.evidence(log_density, start, seed=seed, progress=False)
    return {
        "mu": x["mu"],
        "tau": jnp.exp(x["log_tau"].to_numpy()),
        "log_evidence": result.log_evidence,
        "standard_error": result.standard_error,
    }
