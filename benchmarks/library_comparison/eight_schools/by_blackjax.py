import blackjax
import jax
import jax.numpy as jnp
from jax.scipy.stats import cauchy, norm

from benchmarks.library_comparison.data import EFFECTS, ERRORS

jax.config.update("jax_enable_x64", True)


def solve(seed):
    y, sigma = jnp.asarray(EFFECTS), jnp.asarray(ERRORS)

    def log_density(v):
        tau = jnp.exp(v["log_tau"])
        prior = norm.logpdf(v["mu"], 0.0, 5.0) + cauchy.logpdf(tau, 0.0, 5.0) + jnp.log(2.0) + v["log_tau"]
        return prior + jnp.sum(norm.logpdf(v["z"]) + norm.logpdf(y, v["mu"] + tau * v["z"], sigma))

    def chain(key):
        warm, main = jax.random.split(key)
        start = {"mu": jnp.zeros(()), "log_tau": jnp.zeros(()), "z": jnp.zeros(8)}
        adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)
        (state, parameters), _ = adaptation.run(warm, start, 1000)
        kernel = blackjax.nuts(log_density, **parameters)

        def step(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position

        return jax.lax.scan(step, state, jax.random.split(main, 2000))[1]

    x = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(seed), 4))
    return {"mu": x["mu"], "tau": jnp.exp(x["log_tau"])}
