import blackjax
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm

jax.config.update("jax_enable_x64", True)


def solve(seed):
    def log_likelihood(x):
        left = jnp.log(0.3) + jnp.sum(norm.logpdf(x, -3.0, 0.5))
        right = jnp.log(0.7) + jnp.sum(norm.logpdf(x, 3.0, 0.5))
        return jnp.logaddexp(left, right)

    smc = blackjax.adaptive_tempered_smc(
        lambda x: jnp.sum(norm.logpdf(x, 0.0, 5.0)),
        log_likelihood,
        blackjax.hmc.build_kernel(),
        blackjax.hmc.init,
        blackjax.smc.extend_params(
            {"step_size": 0.2, "inverse_mass_matrix": jnp.ones(10), "num_integration_steps": 10}
        ),
        blackjax.smc.resampling.systematic,
        0.5,
        num_mcmc_steps=5,
    )

    # The estimate has no error of its own: eight runs give one.
    step, init = jax.jit(smc.step), smc.init
    estimates, particles = [], []
    for run in range(8):
        start, main = jax.random.split(jax.random.fold_in(jax.random.key(seed), run))
        state, total, i = init(5.0 * jax.random.normal(start, (1000, 10))), 0.0, 0
        while state.tempering_param < 1.0:
            state, info = step(jax.random.fold_in(main, i), state)
            total, i = total + info.log_likelihood_increment, i + 1
        estimates.append(total)
        particles.append(state.particles)
    weights = jnp.exp(jnp.stack(estimates) - jnp.max(jnp.stack(estimates)))
    return {
        "x": jnp.concatenate(particles),
        "log_evidence": jnp.log(jnp.mean(weights)) + jnp.max(jnp.stack(estimates)),
        "standard_error": jnp.std(weights, ddof=1) / jnp.sqrt(8.0) / jnp.mean(weights),
    }
