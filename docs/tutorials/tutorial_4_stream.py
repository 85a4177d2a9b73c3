"""
Evidence while rows come in
===========================

Loads are hung on a spring, one after another, and its extension is measured. Does the spring do what its
maker says, or something else? After every chunk of rows there is an evidence, with an error, and with it a
Bayes factor. Rows are read once and need not fit in memory.
"""

# %%
# The rows
# --------
# A row is a load in kilograms and an extension in centimetres, read with an error of 0.2 centimetres. The
# maker promises 1.7 centimetres for each kilogram; this spring has 1.65.

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from jax.scipy.stats import norm
from scipy.stats import multivariate_normal

import auxmc

auxmc.enable_x64()
random = np.random.default_rng(4)
error = 0.2
loads = random.uniform(0.0, 2.0, size=400)
extensions = 1.65 * loads + error * random.normal(size=400)
rows = np.column_stack([loads, extensions])

# %%
# The model
# ---------
# A straight line whose two coefficients are unknown, standard normal before any row has come. A model of rows
# is the log likelihood of each row, the log prior, and exact draws from the prior. What the maker says has no
# unknowns: its evidence is its likelihood.


def log_likelihood(p, rows):
    """Of each row, in nats."""
    return norm.logpdf(rows[:, 1], p["line"][0] + p["line"][1] * rows[:, 0], error)


model = auxmc.row_model(
    log_likelihood,
    lambda p: jnp.sum(norm.logpdf(p["line"])),
    lambda key: {"line": jax.random.normal(key, (2,))},
)
result = auxmc.stream_evidence(model, rows, chunk=50, progress=False)
print(result)
print("warnings:", list(result.warnings))

# %%
# The check
# ---------
# With normal errors and normal priors the rows are one normal vector, whose density is known: the exact
# evidence of any number of rows. Models that have none are written in the same way.

design = np.column_stack([np.ones(400), loads])
covariance = design @ design.T + error**2 * np.eye(400)
n_rows = result.record["n_rows"].to_numpy()
exact = np.array([multivariate_normal.logpdf(extensions[:n], cov=covariance[:n, :n]) for n in n_rows])
maker = np.cumsum(norm.logpdf(extensions, 1.7 * loads, error))[n_rows - 1]
found = result.record["log_evidence"].to_numpy()
standard_error = result.record["standard_error"].to_numpy()
print(
    f"log Bayes factor {found[-1] - maker[-1]:.2f} +- {standard_error[-1]:.2f}, exact {exact[-1] - maker[-1]:.2f}"
)
assert abs(found[-1] - exact[-1]) < 4 * standard_error[-1]

figure, panels = plt.subplots(1, 2, figsize=(9.5, 3.5), layout="constrained")
panels[0].errorbar(n_rows, found - maker, standard_error, fmt="o", label="estimate")
panels[0].plot(n_rows, exact - maker, label="exact")
panels[0].set(xlabel="rows", ylabel="log Bayes factor, unknown line\nagainst the maker's (nats)")
panels[1].errorbar(n_rows, found - exact, standard_error, fmt="o", label="estimate, with its standard error")
panels[1].plot(n_rows, 0.0 * n_rows, label="exact")
panels[1].set(xlabel="rows", ylabel="log evidence less\nthe exact one (nats)")
panels[1].margins(y=0.3)
for panel in panels:
    panel.legend()
