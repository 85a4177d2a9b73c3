"""
Evidence, and draws from both modes
===================================

A boat hears two beacons on the shore and knows its distance from each, with errors. It may be north or south
of the line between them: the posterior has two modes. A look at the stars says, roughly, that it is north.
Where is it, and how probable were the measurements, the *evidence* of this model?
"""

# %%
# The measurements
# ----------------
# All lengths are in kilometres.

import jax
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
from jax.scipy.stats import norm

import auxmc

auxmc.enable_x64()
beacons = np.array([[-4.0, 0.0], [4.0, 0.0]])
distances, distance_error = np.array([5.9, 5.3]), 0.3
north, north_error = 2.0, 8.0

# %%
# The model
# ---------
# For an evidence, the log prior is a normalised density: it is added with its constant. So is the likelihood.


def log_density(v):
    """Log prior plus log likelihood of a place, in nats."""
    found = jnp.sqrt(jnp.sum((v["place"] - beacons) ** 2, axis=1))
    log_prior = jnp.sum(norm.logpdf(v["place"], scale=5.0))
    log_likelihood = jnp.sum(norm.logpdf(distances, found, distance_error))
    return log_prior + log_likelihood + norm.logpdf(north, v["place"][1], north_error)


# %%
# Evidence and draws
# ------------------
# Chains of this method move between the posterior and a Gaussian base that is found for it, and so cross from one
# mode to the other. The fractions of time at the two ends give the evidence; the spread between chains its error.

result = auxmc.evidence(
    log_density,
    start={"place": [0.0, 1.0]},
    method="gibbs_continuous_tempering",
    draws=4000,
    warm_up=300,
    progress=False,
)
print(result)
print("warnings:", list(result.warnings))

# %%
# The check
# ---------
# Two unknowns are few enough for a sum over a grid, which gives the evidence and the fraction of the northern
# mode to many digits.

line = np.linspace(-12.0, 12.0, 1201)
places = jnp.stack(jnp.meshgrid(line, line, indexing="ij"), axis=-1)  # [east, north, coordinate]
density = np.exp(jax.vmap(jax.vmap(lambda place: log_density({"place": place})))(places))
cell = (line[1] - line[0]) ** 2
exact_evidence = np.log(density.sum() * cell)
exact_fraction = density[:, line > 0].sum() / density.sum()
place = result.posterior["posterior"]["place"].to_numpy().reshape(-1, 2)
print(
    f"log evidence {result.log_evidence:.3f} +- {result.standard_error:.3f}, exact {exact_evidence:.3f} nats"
)
print(f"fraction of draws in the north {(place[:, 1] > 0).mean():.3f}, exact {exact_fraction:.3f}")
assert abs(result.log_evidence - exact_evidence) < 4 * result.standard_error
assert abs((place[:, 1] > 0).mean() - exact_fraction) < 0.1

figure, panels = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
panels[0].plot(*place.T, ".", markersize=2, label="draws")
panels[0].contour(line, line, density.T, levels=density.max() * np.array([0.05, 0.5]), colors="C1")
panels[0].plot([], [], color="C1", label="exact density, 0.05 and 0.5 of its peak")
panels[0].plot(*beacons.T, "^", color="black", markersize=7, label="beacons")
panels[0].set(xlabel="east (kilometres)", ylabel="north (kilometres)", xlim=(-6, 6), ylim=(-7, 7))
panels[0].legend(loc="lower center", bbox_to_anchor=(0.5, 1.0))
chain = result.chains["posterior"]["place"].to_numpy()[0, :400, 1]
temperature = result.chains["sample_stats"]["inverse_temperature"].to_numpy()[0, :400]
points = panels[1].scatter(range(400), chain, s=6, c=temperature, cmap="viridis")
figure.colorbar(points, label="inverse temperature (0 base, 1 posterior)")
panels[1].set(xlabel="iteration of the first chain", ylabel="north (kilometres)")
