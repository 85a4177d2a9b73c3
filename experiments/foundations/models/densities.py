"""Densities of the documents with known moments, checked and printed as a page."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from auxmc.numerics.array_types import FloatArray


class Parameter(NamedTuple):
    """A parameter: what it means, what it may be, and the value that examples use."""

    meaning: str
    domain: str
    example: ArrayLike


class Density(NamedTuple):
    """A family of densities."""

    shorthand: str  # as the documents write it
    table: str  # where it stands in the PhD thesis
    formula: str  # the density, in plain text
    support: str  # where it is positive, in plain text
    parameters: Mapping[str, Parameter]  # by name, in the order of the shorthand
    freeze: Callable[..., Any]  # maps the parameters to a distribution with the methods of SciPy's
    to_real: str = "-"  # map of the support to the whole line, in plain text; "-" for integers
    from_input: str = "-"  # map of an input u of unit variance to a draw, in plain text; "-" for none

    def example(self) -> Any:
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


_FROZEN: Mapping[str, Callable[..., Any]] = {
    "Bernoulli": lambda pi: stats.bernoulli(pi),
    "categorical": lambda pi: stats.rv_discrete(values=(np.arange(1, len(pi) + 1), pi)),
    "normal": lambda mu, sigma: stats.norm(mu, sigma),
    "multivariate normal": lambda mu, Sigma: stats.multivariate_normal(mu, Sigma),
    "logistic": lambda mu, sigma: stats.logistic(mu, sigma),
    # The scale of the document is the standard deviation; SciPy's density is 1 / (pi cosh x).
    "inverse cosh": lambda mu, sigma: stats.hypsecant(mu, 2.0 * sigma / np.pi),
    "log-normal": lambda mu, sigma: stats.lognorm(s=sigma, scale=np.exp(mu)),
    "multivariate log-normal": lambda mu, Sigma: _MultivariateLogNormal(mu, Sigma),
    "exponential": lambda rate: stats.expon(scale=1.0 / rate),
    "uniform": lambda a, b: stats.uniform(a, b - a),
    "half-Cauchy": lambda gamma: stats.halfcauchy(scale=gamma),
}


def _read(name: str, entry: dict[str, Any]) -> Density:
    parameters = {symbol: Parameter(*about) for symbol, about in entry.pop("parameters").items()}
    return Density(**entry, parameters=parameters, freeze=_FROZEN[name])


_TABLE = tomllib.loads(Path(__file__).with_name("densities.toml").read_text(encoding="utf-8"))
DENSITIES: Mapping[str, Density] = {name: _read(name, entry) for name, entry in _TABLE.items()}
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
        rows.append([name, d.table, d.shorthand, parameters, d.formula, d.support, d.to_real, d.from_input])
    lines = ["| " + " | ".join(entry.replace("|", "\\|") for entry in row) + " |\n" for row in rows]
    return _PAGE + "".join(lines)
