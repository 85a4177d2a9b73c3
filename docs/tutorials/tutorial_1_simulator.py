"""
A simulator of your own, conditioned exactly
============================================

A cup of coffee cools. A thermometer that is not very good read it ten times. How fast does it cool, and how
large are the errors of the thermometer? The model is a program that makes such readings from random inputs;
chains move over the inputs that give *exactly* these readings. No likelihood is written down, and there is no
tolerance.
"""

# %%
# The readings
# ------------
# Temperatures are in degrees Celsius, times in minutes. The room has 20 degrees, the coffee began with 90.

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import auxmc

auxmc.enable_x64()
times = np.array([2.0, 5, 10, 15, 20, 25, 30, 40, 50, 60])
readings = np.array([86.2, 77.8, 71.0, 62.5, 59.9, 51.5, 49.4, 38.6, 36.7, 30.4])

# %%
# The simulator
# -------------
# Everything random is an input with a prior of its own: the rate of cooling, the size of the errors, and the
# error of every reading in units of that size. The program itself draws nothing.


def cool(inputs):
    """Ten readings, in degrees Celsius."""
    return 20.0 + 70.0 * jnp.exp(-inputs["rate"] * times) + inputs["error"] * inputs["noise"]


priors = {
    "rate": auxmc.prior.log_normal(log_mean=np.log(0.05), log_sd=1.0),  # in 1 / minute
    "error": auxmc.prior.log_normal(log_mean=0.0, log_sd=1.0),  # in degrees
    "noise": auxmc.prior.normal(10),
}
model = auxmc.simulator(cool, observed=readings, inputs=priors)

# %%
# Draws
# -----
# Starts, step sizes and warm-up are found by the method. What must not be trusted comes with a warning; an
# empty list is good news. The result is an ArviZ tree, with the names and units of the inputs.

draws = auxmc.sample(auxmc.constrained_hmc(model), draws=500, warm_up=300, progress=False)
posterior = draws["posterior"]
print("warnings:", draws.attrs["warnings"])
made = 20.0 + 70.0 * np.exp(-posterior["rate"].to_numpy()[..., None] * times)
made += posterior["error"].to_numpy()[..., None] * posterior["noise"].to_numpy()
print(f"largest difference from a reading: {np.abs(made - readings).max():.1e} degrees")

# %%
# The check
# ---------
# This simulator is so simple that its likelihood is known: normal errors around a curve. With two unknowns,
# sums over a grid give the exact posterior. Chains never saw this likelihood.

rates, errors = np.linspace(0.026, 0.036, 400), np.linspace(0.3, 6.0, 500)
misfit = ((readings - 20.0 - 70.0 * np.exp(-rates[:, None] * times)) ** 2).sum(1)[:, None]
log_density = -10 * np.log(errors) - 0.5 * misfit / errors**2
log_density += -0.5 * np.log(rates[:, None] / 0.05) ** 2 - np.log(rates[:, None])
log_density += -0.5 * np.log(errors) ** 2 - np.log(errors)
weight = np.exp(log_density - log_density.max())
exact = {"rate": (rates, weight.sum(1)), "error": (errors, weight.sum(0))}

figure, panels = plt.subplots(1, 3, figsize=(9.5, 3.0), layout="constrained")
curves = 20.0 + 70.0 * np.exp(-posterior["rate"].to_numpy()[:, ::25].reshape(-1, 1) * np.arange(61))
panels[0].plot(curves.T, color="C0", alpha=0.15)
panels[0].plot(times, readings, "o", color="C1", label="reading")
panels[0].set(xlabel="time (minutes)", ylabel="temperature (degrees Celsius)")
labels = {
    "rate": ("rate of cooling (1 / minute)", "posterior density (minutes)"),
    "error": ("size of an error (degrees Celsius)", "posterior density (1 / degree)"),
}
for panel, (name, (grid, density)) in zip(panels[1:], exact.items(), strict=True):
    density = density / (density.sum() * (grid[1] - grid[0]))
    panel.hist(posterior[name].to_numpy().ravel(), bins=40, density=True, alpha=0.5, label="draws")
    panel.plot(grid, density, color="C1", label="exact")
    panel.set(xlabel=labels[name][0], ylabel=labels[name][1])
    mean = np.average(grid, weights=density)
    print(f"mean {name}: {float(posterior[name].mean()):.4f}, exact {mean:.4f}")
    assert abs(float(posterior[name].mean()) - mean) < 0.1 * float(posterior[name].std())
for panel in panels:
    panel.legend()
