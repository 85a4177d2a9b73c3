"""
An unbiased estimate of your own
================================

Insects were counted in thirty traps. Traps differ: the mean count of a trap is itself random, log-normal, and
unknown. The likelihood is an integral over the means of all traps, which has no closed form. An unbiased
estimate of it is enough: draws are those of the exact posterior.
"""

# %%
# The counts
# ----------

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import auxmc

auxmc.enable_x64()
random = np.random.default_rng(1)
counts = random.poisson(np.exp(1.0 + 0.7 * random.normal(size=30)))
print(counts)

# %%
# The estimate
# ------------
# The parameters are the mean of the logarithm of a trap's mean count, and the logarithm of its standard
# deviation: real numbers without bounds. Auxiliary variables are standard normal numbers, eight for each
# trap. An average over the eight estimates the likelihood of a trap; the product over traps is an unbiased
# estimate of the whole.


def log_prior(p):
    """Standard normal distributions of both parameters, in nats."""
    return -0.5 * (p["log_mean"] ** 2 + p["log_spread"] ** 2)


def log_estimate(p, u):
    """Log of the estimate from auxiliary numbers [number, trap], in nats."""
    log_means = p["log_mean"] + jnp.exp(p["log_spread"]) * u
    of_each = jax.scipy.stats.poisson.logpmf(counts, jnp.exp(log_means))
    return jnp.sum(jax.nn.logsumexp(of_each, axis=0) - jnp.log(8.0))


model = auxmc.estimated(
    log_prior, log_estimate, auxiliary=(8, 30), start={"log_mean": 0.0, "log_spread": 0.0}
)

# %%
# Draws
# -----
# Auxiliary variables and parameters are updated in turn: the first along ellipses, the second by a random
# walk. Plain pseudo-marginal sampling draws them together, and sticks where an estimate happens to be too
# high.

method = auxmc.auxiliary_pseudo_marginal(model, u="slice", x="metropolis")
draws = auxmc.sample(method, draws=10_000, warm_up=2000, progress=False)
posterior = draws["posterior"]
print("warnings:", draws.attrs["warnings"])

# %%
# The check
# ---------
# A trap's integral has one dimension, so Gauss-Hermite quadrature with sixty nodes gives it to many digits,
# and sums over a grid of the two parameters the exact posterior. Problems with more latent variables leave
# only the estimate.

nodes, weights = np.polynomial.hermite_e.hermegauss(60)
means, spreads = np.linspace(-0.2, 2.0, 100), np.linspace(-4.5, 0.8, 200)


def log_posterior(mean, spread):
    """By quadrature, without a constant."""
    of_each = jax.scipy.stats.poisson.logpmf(counts, jnp.exp(mean + jnp.exp(spread) * nodes[:, None]))
    return log_prior({"log_mean": mean, "log_spread": spread}) + jnp.sum(jnp.log(weights @ jnp.exp(of_each)))


log_density = jax.lax.map(lambda m: jax.vmap(log_posterior, (None, 0))(m, jnp.asarray(spreads)), means)
density = np.exp(log_density - log_density.max())

figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.0), layout="constrained")
for chain in posterior["log_mean"].to_numpy():
    panels[0].plot(chain[:500], linewidth=0.6)
panels[0].set(xlabel="draw", ylabel="mean of log count")
x, y = (posterior[name].to_numpy()[:, ::20].ravel() for name in ("log_mean", "log_spread"))
panels[1].plot(x, y, ".", markersize=2, alpha=0.6, label="draws")
panels[1].contour(means, spreads, density.T, levels=[0.01, 0.1, 0.5], colors="C1")
panels[1].plot([], [], color="C1", label="exact density, 0.01, 0.1 and 0.5 of its peak")
panels[1].set(xlabel="mean of log count", ylabel="log of spread of log count")
panels[1].set(xlim=(0.4, 1.6), ylim=(-3.5, 0.6))
panels[1].legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
for name, grid, marginal in (("log_mean", means, density.sum(1)), ("log_spread", spreads, density.sum(0))):
    mean = np.average(grid, weights=marginal)
    print(f"mean {name}: {float(posterior[name].mean()):.3f}, exact {mean:.3f}")
    assert abs(float(posterior[name].mean()) - mean) < 0.1 * float(posterior[name].std())
