"""The standard densities of the documents: log density, draws, distribution function, support, map to the whole line.

The numbers are SciPy's. `density_table` lists all; `python -m experiments.foundations.models.density_registry` prints
the page `docs/densities.md`. Source: PhD thesis, Tables A.1 to A.3 and D.1.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from scipy import special, stats

from auxmc.models.input_maps import INPUT_MAPS, INPUTS
from auxmc.numerics.array_types import FloatArray
from experiments.foundations.models.density import Density, Parameter, RealMap

__all__ = ["DENSITIES", "DensityRow", "density_page", "density_table"]


class DensityRow(NamedTuple):
    """A line of the table of densities; every entry is plain text."""

    name: str
    table: str
    shorthand: str
    parameters: str
    density: str
    support: str
    to_real: str
    unit_variance_input: str


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
        return np.asarray(self._logs.cdf(logs), float)

    def rvs(self, size: int, random_state: np.random.Generator) -> FloatArray:
        return np.asarray(np.exp(self._logs.rvs(size=size, random_state=random_state)), float)


def _is_covariance(value: FloatArray) -> bool:
    square = value.ndim == 2 and value.shape[0] == value.shape[1]
    return square and bool(np.allclose(value, value.T) and np.linalg.eigvalsh(value).min() > 0.0)


def _scalar(test: Callable[[FloatArray], object]) -> Callable[[FloatArray], bool]:
    return lambda value: value.ndim == 0 and bool(test(value))


_ANY, _POSITIVE = _scalar(lambda v: np.isfinite(v)), _scalar(lambda v: v > 0.0)
_MEAN = Parameter("mean", "a real number", _ANY, 0.7)
_LOCATION = _MEAN._replace(meaning="location")
_SD = Parameter("standard deviation", "positive", _POSITIVE, 1.3)
_SCALE = _SD._replace(meaning="scale")
_VECTOR = Parameter("mean", "a vector", lambda v: v.ndim == 1, (0.5, -1.0))
_COVARIANCE = Parameter(
    "covariance", "a symmetric positive definite matrix", _is_covariance, ((1.0, 0.6), (0.6, 2.0))
)

_IDENTITY = RealMap("x", lambda x: x, lambda t: t, lambda t: np.zeros_like(t))
_LOG = RealMap("log x", lambda x: np.log(x), lambda t: np.exp(t), lambda t: t)
_LOGIT = RealMap(
    "log((x - a) / (b - x))",
    lambda x, a, b: np.log(x - a) - np.log(b - x),
    lambda t, a, b: a + (b - a) * special.expit(t),
    lambda t, a, b: np.log(b - a) + special.log_expit(t) + special.log_expit(-t),
)

DENSITIES: Mapping[str, Density] = {
    "Bernoulli": Density(
        "Ber(x | pi)",
        "A.1",
        "pi^x (1 - pi)^(1 - x)",
        "x in {0, 1}",
        {"pi": Parameter("probability", "in [0, 1]", _scalar(lambda v: (v >= 0.0) & (v <= 1.0)), 0.3)},
        lambda pi: stats.bernoulli(pi),
    ),
    "categorical": Density(
        "Cat(x | pi)",
        "A.1",
        "pi_x",
        "x in {1, ..., K}",
        {
            "pi": Parameter(
                "probabilities",
                "probabilities with sum 1",
                lambda v: v.ndim == 1 and bool(np.all(v >= 0.0) and abs(v.sum() - 1.0) < 1e-12),
                (0.2, 0.5, 0.3),
            )
        },
        lambda pi: stats.rv_discrete(values=(np.arange(1, len(pi) + 1), pi)),
    ),
    "normal": Density(
        "N(x | mu, sigma^2)",
        "A.2",
        "exp(-(x - mu)^2 / (2 sigma^2)) / (sqrt(2 pi) sigma)",
        "x real",
        {"mu": _MEAN, "sigma": _SD},
        lambda mu, sigma: stats.norm(mu, sigma),
        _IDENTITY,
    ),
    "multivariate normal": Density(
        "N(x | mu, Sigma)",
        "A.2",
        "exp(-(x - mu)^T Sigma^-1 (x - mu) / 2) / sqrt((2 pi)^D |Sigma|)",
        "x in R^D",
        {"mu": _VECTOR, "Sigma": _COVARIANCE},
        lambda mu, Sigma: stats.multivariate_normal(mu, Sigma),
        _IDENTITY,
    ),
    "logistic": Density(
        "Logistic(x | mu, sigma)",
        "A.2",
        "cosh((x - mu) / (2 sigma))^-2 / (4 sigma)",
        "x real",
        {"mu": _LOCATION, "sigma": _SCALE},
        lambda mu, sigma: stats.logistic(mu, sigma),
        _IDENTITY,
    ),
    "inverse cosh": Density(
        "InvCosh(x | mu, sigma)",
        "A.2",
        "cosh(pi (x - mu) / (2 sigma))^-1 / (2 sigma)",
        "x real",
        {"mu": _LOCATION, "sigma": _SCALE},
        # The scale of the document is the standard deviation; SciPy's density is 1 / (pi cosh x).
        lambda mu, sigma: stats.hypsecant(mu, 2.0 * sigma / np.pi),
        _IDENTITY,
    ),
    "log-normal": Density(
        "LogNorm(x | mu, sigma^2)",
        "A.3",
        "exp(-(log x - mu)^2 / (2 sigma^2)) / (x sqrt(2 pi) sigma)",
        "x > 0",
        {"mu": _MEAN._replace(meaning="mean of log x"), "sigma": _SD._replace(meaning="sd of log x")},
        lambda mu, sigma: stats.lognorm(s=sigma, scale=np.exp(mu)),
        _LOG,
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
        _LOG,
    ),
    "exponential": Density(
        "Exp(x | rate)",
        "A.3",
        "rate exp(-rate x)",
        "x >= 0",
        {"rate": Parameter("rate", "positive", _POSITIVE, 2.5)},
        lambda rate: stats.expon(scale=1.0 / rate),
        _LOG,
    ),
    "uniform": Density(
        "U(x | a, b)",
        "A.3",
        "1 / (b - a)",
        "a <= x <= b",
        {
            "a": Parameter("least value", "a real number", _ANY, -1.0),
            "b": Parameter("largest value", "a real number", _ANY, 2.0),
        },
        lambda a, b: stats.uniform(a, b - a),
        _LOGIT,
        lambda a, b: (a, b),
    ),
    "half-Cauchy": Density(
        "C>=0(x | gamma)",
        "A.3",
        "2 / (pi gamma (1 + x^2 / gamma^2))",
        "x >= 0",
        {"gamma": Parameter("scale", "positive", _POSITIVE, 0.8)},
        lambda gamma: stats.halfcauchy(scale=gamma),
        _LOG,
    ),
}
"""All families by name.

Must hold: every density integrates to 1, also mapped to the whole line; draws have the distribution function.
"""


def density_table() -> list[DensityRow]:
    """A row for each density, in the order of the tables of the PhD thesis."""
    rows = []
    for name, density in DENSITIES.items():
        parameters = "; ".join(
            f"{p}: {about.meaning}, {about.domain}" for p, about in density.parameters.items()
        )
        mapped = INPUT_MAPS.get(name)
        source = f"{mapped.formula}, u ~ {INPUTS[mapped.source].shorthand}" if mapped else "-"
        to_real = density.real_map.formula if density.real_map else "-"
        rows.append(
            DensityRow(
                name,
                density.table,
                density.shorthand,
                parameters,
                density.formula,
                density.support,
                to_real,
                source,
            )
        )
    return rows


def density_page() -> str:
    """The page `docs/densities.md`."""
    header = (
        "density",
        "table",
        "written",
        "parameters",
        "formula",
        "support",
        "to the whole line",
        "from an input",
    )
    rows = [header, ("---",) * len(header), *density_table()]
    lines = ["| " + " | ".join(entry.replace("|", "\\|") for entry in row) + " |" for row in rows]
    return "\n".join(
        [
            "# Standard densities",
            "",
            "Densities of Tables A.1 to A.3 of the PhD thesis, with the maps of its Table D.1: the entries of",
            "`experiments.foundations.models.density_registry.DENSITIES`, printed by that module. Logs are natural.",
            "The last column maps an input u of unit variance to a draw.",
            "",
            *lines,
            "",
        ]
    )


if __name__ == "__main__":
    print(density_page(), end="")
