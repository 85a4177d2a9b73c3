import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

import auxmc
from benchmarks.library_comparison.data import EFFECTS, ERRORS


def model(y, sigma):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("schools", 8):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(mu + tau * z, sigma), obs=y)


def solve(seed):
    auxmc.use_float64()
    density = auxmc.from_numpyro(model, jnp.asarray(EFFECTS), jnp.asarray(ERRORS))
    draws = auxmc.sample(auxmc.hmc(density), draws=2000, seed=seed, progress=False)
    return {"mu": draws["posterior"]["mu"], "tau": draws["posterior"]["tau"]}
