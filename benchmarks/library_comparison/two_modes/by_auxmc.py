import jax.numpy as jnp
from jax.scipy.stats import norm

import auxmc


def solve(seed):
    def log_density(v):
        x = v["x"]
        left = jnp.log(0.3) + jnp.sum(norm.logpdf(x, -3.0, 0.5))
        right = jnp.log(0.7) + jnp.sum(norm.logpdf(x, 3.0, 0.5))
        return jnp.sum(norm.logpdf(x, 0.0, 5.0)) + jnp.logaddexp(left, right)

    result = auxmc.evidence(log_density, {"x": [0.1] * 10}, seed=seed, progress=False)
    return {
        "x": result.posterior["posterior"]["x"],
        "log_evidence": result.log_evidence,
        "standard_error": result.standard_error,
    }
