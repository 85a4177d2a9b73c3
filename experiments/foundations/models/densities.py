"""Densities of Tables A.1 to A.3 of the PhD thesis, as distributions of SciPy with parameters of examples."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from auxmc.numerics.array_types import FloatArray


class Density(NamedTuple):
    """A family of densities.

    Attributes:
        freeze: maps the parameters to a distribution of SciPy, or to one with the same methods.
        parameters: values of an example, by name, in the order of the thesis.
    """

    freeze: Callable[..., Any]
    parameters: Mapping[str, Any]

    def example(self) -> Any:
        """The distribution with the parameters of the example."""
        return self.freeze(*(np.asarray(value, float) for value in self.parameters.values()))


class _MultivariateLogNormal:
    """exp of a multivariate normal vector, with the methods of SciPy's distributions."""

    def __init__(self, mean: FloatArray, covariance: FloatArray) -> None:
        self._logs = stats.multivariate_normal(mean, covariance)

    def logpdf(self, x: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(x)
            inside = np.all(x > 0.0, axis=-1)
            values = self._logs.logpdf(np.where(inside[..., None], logs, 0.0)) - logs.sum(axis=-1)
        return np.asarray(np.where(inside, values, -np.inf), float)


_LINE = {"mu": 0.7, "sigma": 1.3}
_PLANE = {"mu": [0.5, -1.0], "Sigma": [[1.0, 0.6], [0.6, 2.0]]}

DENSITIES: Mapping[str, Density] = {
    "Bernoulli": Density(stats.bernoulli, {"pi": 0.3}),
    "categorical": Density(
        lambda pi: stats.rv_discrete(values=(np.arange(1, len(pi) + 1), pi)), {"pi": [0.2, 0.5, 0.3]}
    ),
    "normal": Density(stats.norm, _LINE),
    "multivariate normal": Density(stats.multivariate_normal, _PLANE),
    "logistic": Density(stats.logistic, _LINE),
    # The scale of the document is the standard deviation; SciPy's density is 1 / (pi cosh x).
    "inverse cosh": Density(lambda mu, sigma: stats.hypsecant(mu, 2.0 * sigma / np.pi), _LINE),
    "log-normal": Density(lambda mu, sigma: stats.lognorm(s=sigma, scale=np.exp(mu)), _LINE),
    "multivariate log-normal": Density(_MultivariateLogNormal, _PLANE),
    "exponential": Density(lambda rate: stats.expon(scale=1.0 / rate), {"rate": 2.5}),
    "uniform": Density(lambda a, b: stats.uniform(a, b - a), {"a": -1.0, "b": 2.0}),
    "half-Cauchy": Density(lambda gamma: stats.halfcauchy(scale=gamma), {"gamma": 0.8}),
}
"""All families by name."""
