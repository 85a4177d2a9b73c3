"""Densities of the documents with known moments, checked and printed as a page."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from auxmc.models.input_maps import INPUT_MAPS, INPUTS
from auxmc.numerics.array_types import FloatArray


class Distribution(Protocol):
    """What is used of a distribution of SciPy, besides its `logpdf` or `logpmf`."""

    def cdf(self, x: FloatArray) -> FloatArray:
        """Distribution function."""

    def rvs(self, size: int, random_state: np.random.Generator) -> FloatArray:
        """Draws."""


class Parameter(NamedTuple):
    """A parameter: what it means, what it may be, and the value that examples use."""

    meaning: str
    domain: str
    example: ArrayLike


class Density(NamedTuple):
    """A family of densities.

    Attributes:
        shorthand: as the documents write it.
        table: where it stands in the PhD thesis.
        formula: the density, in plain text.
        support: where it is positive, in plain text.
        parameters: by name, in the order of the shorthand.
        freeze: maps the parameters to a distribution of SciPy, or to one with the same methods.
        to_real: map of the support to the whole line, in plain text; "-" for integers.
    """

    shorthand: str
    table: str
    formula: str
    support: str
    parameters: Mapping[str, Parameter]
    freeze: Callable[..., Distribution]
    to_real: str = "-"

    def example(self) -> Distribution:
        """The distribution with the parameters of the examples."""
        return self.freeze(**{name: np.asarray(p.example, float) for name, p in self.parameters.items()})


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

    def cdf(self, x: FloatArray) -> FloatArray:
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.log(np.maximum(x, 0.0))
        # SciPy 1.14 gives NaN at minus infinity.
        return np.where(np.all(x > 0.0, axis=-1), self._logs.cdf(logs), 0.0)

    def rvs(self, size: int, random_state: np.random.Generator) -> FloatArray:
        return np.asarray(np.exp(self._logs.rvs(size=size, random_state=random_state)), float)


_MEAN = Parameter("mean", "a real number", 0.7)
_LOCATION = _MEAN._replace(meaning="location")
_SD = Parameter("standard deviation", "positive", 1.3)
_SCALE = _SD._replace(meaning="scale")
_VECTOR = Parameter("mean", "a vector", (0.5, -1.0))
_COVARIANCE = Parameter("covariance", "a symmetric positive definite matrix", ((1.0, 0.6), (0.6, 2.0)))

DENSITIES: Mapping[str, Density] = {
    "Bernoulli": Density(
        "Ber(x | pi)",
        "A.1",
        "pi^x (1 - pi)^(1 - x)",
        "x in {0, 1}",
        {"pi": Parameter("probability", "in [0, 1]", 0.3)},
        lambda pi: stats.bernoulli(pi),
    ),
    "categorical": Density(
        "Cat(x | pi)",
        "A.1",
        "pi_x",
        "x in {1, ..., K}",
        {"pi": Parameter("probabilities", "probabilities with sum 1", (0.2, 0.5, 0.3))},
        lambda pi: stats.rv_discrete(values=(np.arange(1, len(pi) + 1), pi)),
    ),
    "normal": Density(
        "N(x | mu, sigma^2)",
        "A.2",
        "exp(-(x - mu)^2 / (2 sigma^2)) / (sqrt(2 pi) sigma)",
        "x real",
        {"mu": _MEAN, "sigma": _SD},
        lambda mu, sigma: stats.norm(mu, sigma),
        "x",
    ),
    "multivariate normal": Density(
        "N(x | mu, Sigma)",
        "A.2",
        "exp(-(x - mu)^T Sigma^-1 (x - mu) / 2) / sqrt((2 pi)^D |Sigma|)",
        "x in R^D",
        {"mu": _VECTOR, "Sigma": _COVARIANCE},
        lambda mu, Sigma: stats.multivariate_normal(mu, Sigma),
        "x",
    ),
    "logistic": Density(
        "Logistic(x | mu, sigma)",
        "A.2",
        "cosh((x - mu) / (2 sigma))^-2 / (4 sigma)",
        "x real",
        {"mu": _LOCATION, "sigma": _SCALE},
        lambda mu, sigma: stats.logistic(mu, sigma),
        "x",
    ),
    "inverse cosh": Density(
        "InvCosh(x | mu, sigma)",
        "A.2",
        "cosh(pi (x - mu) / (2 sigma))^-1 / (2 sigma)",
        "x real",
        {"mu": _LOCATION, "sigma": _SCALE},
        # The scale of the document is the standard deviation; SciPy's density is 1 / (pi cosh x).
        lambda mu, sigma: stats.hypsecant(mu, 2.0 * sigma / np.pi),
        "x",
    ),
    "log-normal": Density(
        "LogNorm(x | mu, sigma^2)",
        "A.3",
        "exp(-(log x - mu)^2 / (2 sigma^2)) / (x sqrt(2 pi) sigma)",
        "x > 0",
        {"mu": _MEAN._replace(meaning="mean of log x"), "sigma": _SD._replace(meaning="sd of log x")},
        lambda mu, sigma: stats.lognorm(s=sigma, scale=np.exp(mu)),
        "log x",
    ),
    "multivariate log-normal": Density(
        "LogNorm(x | mu, Sigma)",
        "A.3",
        "exp(-(log x - mu)^T Sigma^-1 (log x - mu) / 2) / (prod_d x_d sqrt((2 pi)^D |Sigma|))",
        "x in (0, inf)^D",
        {
            "mu": _VECTOR._replace(meaning="mean of log x"),
            "Sigma": _COVARIANCE._replace(meaning="covariance of log x"),
        },
        lambda mu, Sigma: _MultivariateLogNormal(mu, Sigma),
        "log x",
    ),
    "exponential": Density(
        "Exp(x | rate)",
        "A.3",
        "rate exp(-rate x)",
        "x >= 0",
        {"rate": Parameter("rate", "positive", 2.5)},
        lambda rate: stats.expon(scale=1.0 / rate),
        "log x",
    ),
    "uniform": Density(
        "U(x | a, b)",
        "A.3",
        "1 / (b - a)",
        "a <= x <= b",
        {
            "a": Parameter("least value", "a real number", -1.0),
            "b": Parameter("largest value", "a real number", 2.0),
        },
        lambda a, b: stats.uniform(a, b - a),
        "log((x - a) / (b - x))",
    ),
    "half-Cauchy": Density(
        "C>=0(x | gamma)",
        "A.3",
        "2 / (pi gamma (1 + x^2 / gamma^2))",
        "x >= 0",
        {"gamma": Parameter("scale", "positive", 0.8)},
        lambda gamma: stats.halfcauchy(scale=gamma),
        "log x",
    ),
}
"""All families by name."""


_PAGE = """# Standard densities

Densities of Tables A.1 to A.3 of the PhD thesis, with the maps of its Table D.1: the entries of
`experiments.foundations.models.densities.DENSITIES`. Logs are natural.
The last column maps an input u of unit variance to a draw.

"""


def density_page() -> str:
    """Markdown table of all densities, a page of the documentation."""
    header = ["density", "table", "written", "parameters", "formula", "support", "to the whole line"]
    rows = [[*header, "from an input"], ["---"] * (len(header) + 1)]
    for name, d in DENSITIES.items():
        parameters = "; ".join(f"{p}: {about.meaning}, {about.domain}" for p, about in d.parameters.items())
        mapped = INPUT_MAPS.get(name)
        source = f"{mapped.formula}, u ~ {INPUTS[mapped.source].shorthand}" if mapped else "-"
        rows.append([name, d.table, d.shorthand, parameters, d.formula, d.support, d.to_real, source])
    lines = ["| " + " | ".join(entry.replace("|", "\\|") for entry in row) + " |\n" for row in rows]
    return _PAGE + "".join(lines)
