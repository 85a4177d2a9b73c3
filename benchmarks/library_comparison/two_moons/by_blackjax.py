import blackjax
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm

jax.config.update("jax_enable_x64", True)


def solve(seed):
    # The likelihood, by hand: a point of the moon in polar coordinates about (0.25, 0).
    def log_likelihood(t):
        x = jnp.abs(t[0] + t[1]) / jnp.sqrt(2.0) - 0.25
        y = (t[0] - t[1]) / jnp.sqrt(2.0)
        r = jnp.sqrt(x**2 + y**2)
        return jnp.where(x > 0.0, norm.logpdf(r, 0.1, 0.01) - jnp.log(jnp.pi * r), -1e10)

    def log_prior(t):
        return jnp.where(jnp.all(jnp.abs(t) < 1.0), -2.0 * jnp.log(2.0), -jnp.inf)

    walk = blackjax.rmh.build_kernel()

    def propose(key, position):
        return position + 0.05 * jax.random.normal(key, position.shape)

    start, main = jax.random.split(jax.random.key(seed))
    smc = blackjax.adaptive_tempered_smc(
        log_prior,
        log_likelihood,
        lambda key, state, log_density: walk(key, state, log_density, propose),
        blackjax.rmh.init,
        {},
        blackjax.smc.resampling.systematic,
        0.5,
        num_mcmc_steps=20,
    )
    state = smc.init(jax.random.uniform(start, (4000, 2), minval=-1.0, maxval=1.0))
    step, i = jax.jit(smc.step), 0
    while state.tempering_param < 1.0:
        state, _ = step(jax.random.fold_in(main, i), state)
        i += 1
    return {"theta": state.particles}
