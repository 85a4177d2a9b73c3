"""A model file for `auxmc sample`: a decay whose rate and noise are not known, conditioned exactly on its data.

Usage: `auxmc sample docs/examples/decay.py --data docs/examples/decay.csv`.
"""

import jax.numpy as jnp

import auxmc


def inputs(data):
    """Everything that is random, the noise of each measurement included."""
    return {
        "rate": auxmc.prior.log_normal(),
        "noise_scale": auxmc.prior.log_normal(log_mean=-2.0),
        "noise": auxmc.prior.normal(len(data["time"])),
    }


def generate(inputs, data):
    """The measurements, from what is random."""
    return jnp.exp(-inputs["rate"] * data["time"]) + inputs["noise_scale"] * inputs["noise"]


def observed(data):
    """What was measured."""
    return data["value"]
