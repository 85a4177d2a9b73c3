import jax.numpy as jnp

import auxmc


def solve(seed):
    def generate(v):
        moon = jnp.stack([v["r"] * jnp.cos(v["a"]) + 0.25, v["r"] * jnp.sin(v["a"])])
        t = v["theta"]
        return moon + jnp.stack([-jnp.abs(t[0] + t[1]), t[1] - t[0]]) / jnp.sqrt(2.0)

    inputs = {
        "theta": auxmc.prior.uniform(2, low=-1.0, high=1.0),
        "a": auxmc.prior.uniform(low=-jnp.pi / 2, high=jnp.pi / 2),
        "r": auxmc.prior.normal(mean=0.1, sd=0.01),
    }
    model = auxmc.simulator(generate, [0.0, 0.0], inputs)
    draws = auxmc.sample(auxmc.constrained_hmc(model), draws=2000, seed=seed, progress=False)
    return {"theta": draws["posterior"]["theta"]}
