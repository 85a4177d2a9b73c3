import jax
import jax.numpy as jnp
import mici
import numpy as np
from jax.scipy.stats import cauchy, norm

from benchmarks.library_comparison.data import EFFECTS, ERRORS

jax.config.update("jax_enable_x64", True)


def solve(seed):
    y, sigma = jnp.asarray(EFFECTS), jnp.asarray(ERRORS)

    def neg_log_dens(q):
        mu, log_tau, z = q[0], q[1], q[2:]
        tau = jnp.exp(log_tau)
        prior = norm.logpdf(mu, 0.0, 5.0) + cauchy.logpdf(tau, 0.0, 5.0) + jnp.log(2.0) + log_tau
        return -prior - jnp.sum(norm.logpdf(z) + norm.logpdf(y, mu + tau * z, sigma))

    found = mici.sample_hmc_chains(
        1000,
        2000,
        [np.zeros(10) for _ in range(4)],
        neg_log_dens,
        backend="jax",
        seed=seed,
        adapters=[mici.adapters.DualAveragingStepSizeAdapter(0.8)],
        trace_funcs=[lambda state: {"mu": state.pos[0], "tau": np.exp(state.pos[1])}],
        display_progress=False,
    )
    return {name: np.stack(found.traces[name]) for name in ("mu", "tau")}
