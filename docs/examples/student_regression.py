"""A model file for `auxmc stream`: linear regression whose noise has heavy tails, with an unknown scale.

    auxmc stream --data docs/examples/stream.csv --model linear --model docs/examples/student_regression.py

Rows are (x, y). Parameters are real numbers: weights w, intercept b, and log s. The model is y = x^T w + b + s e with e
of Student's t distribution. Priors: w, b ~ N(0, 1), log s ~ N(0, 1).
"""

import math

import jax
import jax.numpy as jnp

from auxmc.models.row_model import row_model


def model(n_columns, degrees=4.0):
    """The model of rows of `n_columns` numbers; `degrees` is set by '... degrees=10' on the command line."""
    dim = n_columns + 1
    constant = math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2) - 0.5 * math.log(degrees * math.pi)

    def log_likelihood(parameters, rows):
        weights, intercept, log_scale = parameters[:-2], parameters[-2], parameters[-1]
        standard = (rows[:, -1] - rows[:, :-1] @ weights - intercept) * jnp.exp(-log_scale)
        return constant - log_scale - 0.5 * (degrees + 1) * jnp.log1p(standard**2 / degrees)

    def log_prior(parameters):
        # Normalised, as auxmc.laplace_evidence wants it; estimates of a stream are the same without the constant.
        return -0.5 * jnp.sum(parameters**2) - 0.5 * dim * math.log(2 * math.pi)

    def draw_prior(key):
        return jax.random.normal(key, (dim,))

    def natural(parameters):
        return {"weights": parameters[:-2], "intercept": parameters[-2], "scale": jnp.exp(parameters[-1])}

    return row_model(dim, n_columns, log_likelihood, log_prior, draw_prior, natural=natural)
