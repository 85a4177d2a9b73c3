import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

from benchmarks.library_comparison.data import EFFECTS, ERRORS

numpyro.enable_x64()


def model(y, sigma):
    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("schools", 8):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(mu + tau * z, sigma), obs=y)


def solve(seed):
    nuts = numpyro.infer.NUTS(model)
    run = numpyro.infer.MCMC(
        nuts, num_warmup=1000, num_samples=2000, num_chains=4, chain_method="vectorized", progress_bar=False
    )
    run.run(jax.random.key(seed), jnp.asarray(EFFECTS), jnp.asarray(ERRORS))
    x = run.get_samples(group_by_chain=True)
    return {"mu": x["mu"], "tau": x["tau"]}
