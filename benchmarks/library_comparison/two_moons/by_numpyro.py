import jax
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

numpyro.enable_x64()


def model():
    # The likelihood, by hand: a point of the moon in polar coordinates about (0.25, 0).
    t = numpyro.sample("theta", dist.Uniform(-1.0, 1.0).expand([2]).to_event(1))
    x = jnp.abs(t[0] + t[1]) / jnp.sqrt(2.0) - 0.25
    y = (t[0] - t[1]) / jnp.sqrt(2.0)
    r = jnp.sqrt(x**2 + y**2)
    inside = dist.Normal(0.1, 0.01).log_prob(r) - jnp.log(jnp.pi * r)
    numpyro.factor("moon", jnp.where(x > 0.0, inside, -jnp.inf))


def solve(seed):
    nuts = numpyro.infer.NUTS(model)
    run = numpyro.infer.MCMC(
        nuts, num_warmup=1000, num_samples=2000, num_chains=4, chain_method="vectorized", progress_bar=False
    )
    # Starts on the support: few points of the prior have any density.
    signs = jnp.where(jax.random.bernoulli(jax.random.key(seed), 0.5, (4, 1)), 1.0, -1.0)
    start = 0.5 * jnp.log((1.0 + 0.25 * signs) / (1.0 - 0.25 * signs)) * 2.0 * jnp.ones((4, 2))
    run.run(jax.random.key(seed), init_params={"theta": start})
    return {"theta": run.get_samples(group_by_chain=True)["theta"]}
