import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

numpyro.enable_x64()


def model():
    x = numpyro.sample("x", dist.Normal(0.0, 5.0).expand([10]).to_event(1))
    left = jnp.log(0.3) + dist.Normal(-3.0, 0.5).log_prob(x).sum()
    right = jnp.log(0.7) + dist.Normal(3.0, 0.5).log_prob(x).sum()
    numpyro.factor("likelihood", jnp.logaddexp(left, right))


def solve(seed):
    nuts = numpyro.infer.NUTS(model)
    run = numpyro.infer.MCMC(
        nuts, num_warmup=1000, num_samples=2000, num_chains=4, chain_method="vectorized", progress_bar=False
    )
    run.run(jax.random.key(seed))
    return {"x": run.get_samples(group_by_chain=True)["x"]}
