"""Independent observations from the generalised lambda distribution, as a differentiable map of random inputs.

Only its quantile function is known. With location z1, inverse scale z2 > 0, and shapes z3, z4 of left and right tail,

    q(p | z) = z1 + [(p^z3 - 1)/z3 - ((1 - p)^z4 - 1)/z4] / z2,    0 < p < 1.

PhD thesis, section 4.10.1, and Graham and Storkey 2017, section 10.1, print a plus sign between the two terms; with
it q is not increasing and cannot give the published data. All is evaluated in the logit l = log p - log(1 - p),
because 1 - p rounds to zero from l = 37 on.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.scipy.linalg import cho_solve
from numpy.typing import ArrayLike

from auxmc.models.abc_kernels import log_gaussian_kernel
from auxmc.models.conditioned import ConditionedModel
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.jacobians import DiagonalJacobian, Jacobian, diagonal_jacobian
from auxmc.numerics.linalg import sum_log_diagonal
from experiments.generalised_lambda.settings import DATA_SEED, GENERATING

N_PARAMETERS = 4
GENERATING_PARAMETERS = tuple(GENERATING.values())
# A logistic input v of unit variance has the logit LOGISTIC_RATE * v.
LOGISTIC_RATE = math.pi / math.sqrt(3.0)
_N_DATA = 250
# Below this |x| Taylor series replace h(x) = expm1(x)/x and its derivative, where terms cancel.
_SERIES_BELOW = 0.02
_SERIES = tuple(1.0 / math.factorial(k + 1) for k in range(8))
_SLOPE_SERIES = tuple((k + 1.0) / math.factorial(k + 2) for k in range(8))


class LambdaPrior(NamedTuple):
    """Prior of the parameters: z1, z3, z4 ~ N(0, sd^2) and z2 ~ Exponential(rate), independent."""

    sd: Array | float  # in units of the data for z1 (z3 and z4 are pure numbers); may be traced
    rate: Array | float  # rate of the exponential distribution, in units of the data; may be traced


# That of the published runs, and the weaker one that it replaced.
PRIORS = {"strong": LambdaPrior(1.0, 1.0), "weak": LambdaPrior(10.0, 0.1)}


class GeneralisedLambdaModel(NamedTuple):
    """Observations and prior."""

    observations: Array  # data [data]
    prior: LambdaPrior  # of the parameters


def generalised_lambda_model(
    observations: ArrayLike, prior_sd: float = 1.0, prior_rate: float = 1.0
) -> GeneralisedLambdaModel:
    """Model of at least 2 finite observations [data], with the sd of z1, z3 and z4 and the rate of z2 a priori."""
    values = np.asarray(observations)
    if values.ndim != 1 or values.size < 2:
        raise ValueError(
            f"observations must be a vector [data] of at least 2 numbers, got shape {values.shape}"
        )
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"observations must be numbers, got {error}") from error
    bad = np.flatnonzero(~np.isfinite(numbers))
    if bad.size:
        raise ValueError(
            f"observations must be finite, got {numbers[bad[0]]} at entry {bad[0]} (counted from 0); "
            f"{bad.size} of {numbers.size} entries are not finite: correct or remove them"
        )
    for name, value in (("prior_sd", prior_sd), ("prior_rate", prior_rate)):
        if not (math.isfinite(value) and value > 0.0):
            raise ValueError(f"{name} must be a positive number, got {value}")
    return GeneralisedLambdaModel(jnp.asarray(numbers), LambdaPrior(prior_sd, prior_rate))


def quantile(logits: Array, z: Array) -> Array:
    """Quantile function q at logits l [...] for z [4], in units of the data; infinite beyond the range of float64."""
    log_p, log_rest = _log_probabilities(logits)
    return z[0] + (_power_integral(log_p, z[2]) - _power_integral(log_rest, z[3])) / z[1]


def quantile_at_probability(probabilities: Array, z: Array) -> Array:
    """Quantile function at probabilities p [...] between 0 and 1, for parameters z [4]."""
    return quantile(jnp.log(probabilities) - jnp.log1p(-probabilities), z)


def quantile_slope(logits: Array, z: Array) -> Array:
    """Derivative dq/dl = [p^z3 (1 - p) + (1 - p)^z4 p] / z2 at logits l [...], for parameters z [4]."""
    log_p, log_rest = _log_probabilities(logits)
    return (jnp.exp(z[2] * log_p + log_rest) + jnp.exp(z[3] * log_rest + log_p)) / z[1]


def support(z: Array) -> tuple[Array, Array]:
    """Ends of the support, in units of the data: z1 - 1/(z2 z3) if z3 > 0, z1 + 1/(z2 z4) if z4 > 0, else infinite."""
    return z[0] - _reach(z[1], z[2]), z[0] + _reach(z[1], z[3])


def published_observations() -> FloatArray:
    """The 250 published values, made again from their random numbers [data]."""
    return simulate_observations(DATA_SEED, _N_DATA)


def simulate_observations(seed: int, n_data: int) -> FloatArray:
    """Draws observations [data] with NumPy's legacy generator, which is the one that made the published data."""
    uniforms = np.random.RandomState(seed).uniform(size=n_data)
    return np.asarray(quantile_at_probability(jnp.asarray(uniforms), jnp.asarray(GENERATING_PARAMETERS)))


def input_dim(model: GeneralisedLambdaModel) -> int:
    """Number of random inputs: four for the parameters, then one for each observation."""
    return N_PARAMETERS + model.observations.shape[0]


def parameters(parameter_inputs: Array, prior: LambdaPrior) -> Array:
    """Parameters z [4] of the inputs (a, b, c, d) [4].

    They are z1 = sd a, z3 = sd b and z4 = sd c with normal inputs, and z2 = log(1 + exp(r d)) / rate with a
    logistic input of unit variance, r being LOGISTIC_RATE.
    """
    a, b, c, d = parameter_inputs
    scale = jax.nn.softplus(LOGISTIC_RATE * d) / prior.rate
    return jnp.stack([prior.sd * a, scale, prior.sd * b, prior.sd * c])


def generate(inputs: Array, prior: LambdaPrior) -> Array:
    """Generated observations x [data] as a function of all inputs [4 + data]."""
    z = parameters(inputs[:N_PARAMETERS], prior)
    return quantile(LOGISTIC_RATE * inputs[N_PARAMETERS:], z)


def log_prior(inputs: Array) -> Array:
    """Log density of the inputs [4 + data] up to a constant: three normal, the others logistic."""
    logits = LOGISTIC_RATE * inputs[N_PARAMETERS - 1 :]
    logistic = jax.nn.log_sigmoid(logits) + jax.nn.log_sigmoid(-logits)
    return -0.5 * jnp.sum(jnp.square(inputs[: N_PARAMETERS - 1])) + jnp.sum(logistic)


def log_prior_parameters(z: Array, prior: LambdaPrior) -> Array:
    """Log prior density of the parameters z [4], up to a constant; minus infinity unless z2 > 0."""
    normal = -0.5 * jnp.sum(jnp.square(z[jnp.array([0, 2, 3])] / prior.sd))
    return jnp.where(z[1] > 0.0, normal - prior.rate * z[1], -jnp.inf)


def sample_parameter_inputs(key: Array) -> Array:
    """Draws the four parameter inputs (a, b, c, d) from their prior [4]."""
    normal_key, logistic_key = jax.random.split(key)
    d = jax.random.logistic(logistic_key, dtype=jnp.float64) / LOGISTIC_RATE
    return jnp.append(jax.random.normal(normal_key, (N_PARAMETERS - 1,), dtype=jnp.float64), d)


def conditioned_model(model: GeneralisedLambdaModel) -> ConditionedModel:
    """The model conditioned on its observations, with Jacobian [block [data, 4] | diagonal [data]]."""
    prior = model.prior

    def constraint(inputs: Array) -> Array:
        return generate(inputs, prior) - model.observations

    def jacobian(inputs: Array) -> Jacobian:
        logits = LOGISTIC_RATE * inputs[N_PARAMETERS:]
        z = parameters(inputs[:N_PARAMETERS], prior)
        log_p, log_rest = _log_probabilities(logits)
        scale_slope = LOGISTIC_RATE * jax.nn.sigmoid(LOGISTIC_RATE * inputs[3]) / prior.rate
        columns = [
            jnp.full_like(logits, prior.sd),
            prior.sd * _power_integral_slope(log_p, z[2]) / z[1],
            -prior.sd * _power_integral_slope(log_rest, z[3]) / z[1],
            -(quantile(logits, z) - z[0]) / z[1] * scale_slope,
        ]
        return diagonal_jacobian(jnp.stack(columns, axis=1), LOGISTIC_RATE * quantile_slope(logits, z))

    return ConditionedModel(log_prior, constraint, jacobian)


def abc_log_density(model: GeneralisedLambdaModel, inputs: Array, tolerance: Array | float) -> Array:
    """Log density in nats of inputs [4 + data] under a Gaussian kernel, up to a constant; -infinity on overflow."""
    residual = generate(inputs, model.prior) - model.observations
    return log_prior(inputs) + log_gaussian_kernel(residual, tolerance)


class BlockMetric(NamedTuple):
    """Metric J^T J / eps^2 + I of J = [A | D], inputs of observations first.

    Its factor, in the same order, is a diagonal and K full rows.
    """

    jacobian: DiagonalJacobian  # J
    tolerance: Array  # eps, in units of the data
    root: Array  # of the diagonal D^2 / eps^2 + 1 [data]
    rows: Array  # of the factor, but for their last K columns [shared, data]
    corner: Array  # their last K columns, lower triangular [shared, shared]
    half_log_determinant: Array  # of the metric

    def times(self, vector: Array) -> Array:
        """G v [input]."""
        moved = self.jacobian.times(vector) / jnp.square(self.tolerance)
        return vector + self.jacobian.transposed_times(moved)

    def solve(self, vector: Array) -> Array:
        """G^-1 v [input], at a cost of N K."""
        own = vector[N_PARAMETERS:] / self.root
        shared = cho_solve((self.corner, True), vector[:N_PARAMETERS] - self.rows @ own)
        return jnp.concatenate([shared, (own - shared @ self.rows) / self.root])

    def momentum(self, normal: Array) -> Array:
        """A draw [input] from N(0, G) from standard normal numbers."""
        shared, own = normal[:N_PARAMETERS], normal[N_PARAMETERS:]
        return jnp.concatenate([self.corner @ shared + self.rows @ own, self.root * own])


def abc_metric(model: GeneralisedLambdaModel, tolerance: Array | float) -> Callable[[Array], BlockMetric]:
    """Metric of `abc_log_density` (PhD thesis, equation 4.52) at inputs [4 + data], at a cost of N K^2."""
    jacobian_at = conditioned_model(model).jacobian
    scale = jnp.asarray(tolerance)

    def metric(inputs: Array) -> BlockMetric:
        jacobian: Any = jacobian_at(inputs)
        block, diagonal = jacobian.block / scale, jacobian.diagonal / scale
        root = jnp.sqrt(1.0 + jnp.square(diagonal))
        # Schur complement of the diagonal, without a difference of large numbers.
        left = block / root[:, None]
        corner = jnp.linalg.cholesky(jnp.eye(N_PARAMETERS) + left.T @ left)
        half_log_determinant = jnp.sum(jnp.log(root)) + sum_log_diagonal(corner)
        return BlockMetric(jacobian, scale, root, left.T * diagonal[None, :], corner, half_log_determinant)

    return metric


def _log_probabilities(logits: Array) -> tuple[Array, Array]:
    """Logs of p and of 1 - p, neither of which need be representable."""
    common = jnp.log1p(jnp.exp(-jnp.abs(logits)))
    return jnp.minimum(logits, 0.0) - common, jnp.minimum(-logits, 0.0) - common


def _power_integral(log_p: Array, a: Array) -> Array:
    """(p^a - 1)/a as log p times h(a log p), which is log p at a = 0."""
    x = a * log_p
    small = jnp.abs(x) < _SERIES_BELOW
    # Both branches must be finite, or the gradient of `where` is not.
    near, far = jnp.where(small, x, 0.0), jnp.where(small, 1.0, x)
    return log_p * jnp.where(small, _polynomial(_SERIES, near), jnp.expm1(far) / far)


def _power_integral_slope(log_p: Array, a: Array) -> Array:
    """Derivative of `_power_integral` in a: (log p)^2 h'(a log p), with h'(x) = (e^x - h(x))/x."""
    x = a * log_p
    small = jnp.abs(x) < _SERIES_BELOW
    near, far = jnp.where(small, x, 0.0), jnp.where(small, 1.0, x)
    slope = (jnp.exp(far) - jnp.expm1(far) / far) / far
    return jnp.square(log_p) * jnp.where(small, _polynomial(_SLOPE_SERIES, near), slope)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    total = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        total = total * x + coefficient
    return total


def _reach(scale: Array, shape: Array) -> Array:
    bounded = shape > 0.0
    return jnp.where(bounded, 1.0 / (scale * jnp.where(bounded, shape, 1.0)), jnp.inf)
