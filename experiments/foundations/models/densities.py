"""Densities of the documents with known moments, checked and printed as a page."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from auxmc.models.input_maps import INPUT_MAPS, INPUTS
from auxmc.numerics.array_types import FloatArray


class Distribution(Protocol):
    """What is used of a distribution of SciPy, besides its `logpdf` or `logpmf`."""

    def cdf(self, x: FloatArray) -> FloatArray:
        """Distribution function."""

    def rvs(self, size: int, random_state: np.random.Generator) -> FloatArray:
        """Draws."""


class RealMap(NamedTuple):
    """Map between a support and the whole line, elementwise.

    Attributes:
        formula: of the map to the line, in plain text.
        to_real: maps values and the ends of the support to the line.
        from_real: maps points of the line and the ends of the support back.
        log_slope: log of the derivative of `from_real`, in nats.
    """

    formula: str
    to_real: Callable[..., FloatArray]
    from_real: Callable[..., FloatArray]
    log_slope: Callable[..., FloatArray]


class Parameter(NamedTuple):
    """A parameter: what it means, what it may be, in words and as a test, and the value that examples use."""

    meaning: str
    domain: str
    allowed: Callable[[FloatArray], bool]
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
        real_map: map to the whole line; none for integers.
        ends: maps the parameters to the ends of the support, which the map to the line takes.
    """

    shorthand: str
    table: str
    formula: str
    support: str
    parameters: Mapping[str, Parameter]
    freeze: Callable[..., Distribution]
    real_map: RealMap | None = None
    ends: Callable[..., tuple[FloatArray, ...]] = lambda **_: ()

    def at(self, **values: ArrayLike) -> "Fixed":
        """The density with these parameters.

        Raises:
            ValueError: a parameter is missing, unknown, or outside its domain.
        """
        if set(values) != set(self.parameters):
            raise ValueError(
                f"{self.shorthand} has the parameters {', '.join(self.parameters)}, got {', '.join(values) or 'none'}"
            )
        given = {name: np.asarray(value, float) for name, value in values.items()}
        for name, value in given.items():
            if not (np.all(np.isfinite(value)) and self.parameters[name].allowed(value)):
                raise ValueError(
                    f"{name} of {self.shorthand} must be {self.parameters[name].domain}, got {value.tolist()}"
                )
        ends = self.ends(**given)
        if len(ends) == 2 and not ends[0] < ends[1]:
            raise ValueError(f"the support of {self.shorthand} must not be empty, got {given}")
        return Fixed(self, self.freeze(**given), ends)

    def example(self) -> "Fixed":
        """The density with the parameters of the examples."""
        return self.at(**{name: parameter.example for name, parameter in self.parameters.items()})


class Fixed(NamedTuple):
    """A density with its parameters.

    Attributes:
        family: where it comes from.
        distribution: SciPy's.
        ends: of the support, as the map to the line takes them.
    """

    family: Density
    distribution: Distribution
    ends: tuple[FloatArray, ...]

    def log_density(self, x: ArrayLike) -> FloatArray:
        """Log density, or log probability of integers, at x [...] or [..., dim], in nats; -inf off the support."""
        method = next(name for name in ("logpdf", "logpmf") if hasattr(self.distribution, name))
        return np.asarray(getattr(self.distribution, method)(np.asarray(x, float)), float)

    def cdf(self, x: ArrayLike) -> FloatArray:
        """Probability that no component exceeds that of x [...] or [..., dim]."""
        return np.asarray(self.distribution.cdf(np.asarray(x, float)), float)

    def draw(self, rng: np.random.Generator, n_draws: int) -> FloatArray:
        """Independent draws [draw] or [draw, dim]."""
        return np.asarray(self.distribution.rvs(size=n_draws, random_state=rng), float)

    def to_real(self, x: ArrayLike) -> FloatArray:
        """Values mapped to the whole line, elementwise."""
        return self._real_map().to_real(np.asarray(x, float), *self.ends)

    def from_real(self, t: ArrayLike) -> FloatArray:
        """Points of the whole line mapped to values, elementwise."""
        return self._real_map().from_real(np.asarray(t, float), *self.ends)

    def log_density_real(self, t: ArrayLike) -> FloatArray:
        """Log density of the mapped variable at t [...] or [..., dim]: with the log slope of the map back, in nats."""
        point = np.asarray(t, float)
        slopes = self._real_map().log_slope(point, *self.ends)
        log_density = self.log_density(self.from_real(point))
        return log_density + (slopes.sum(axis=-1) if slopes.ndim > log_density.ndim else slopes)

    def _real_map(self) -> RealMap:
        if self.family.real_map is None:
            raise ValueError(
                f"{self.family.shorthand} is a distribution of integers: none maps to the whole line"
            )
        return self.family.real_map


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
    for name, d in DENSITIES.items():
        parameters = "; ".join(f"{p}: {about.meaning}, {about.domain}" for p, about in d.parameters.items())
        mapped = INPUT_MAPS.get(name)
        source = f"{mapped.formula}, u ~ {INPUTS[mapped.source].shorthand}" if mapped else "-"
        to_real = d.real_map.formula if d.real_map else "-"
        rows.append(DensityRow(name, d.table, d.shorthand, parameters, d.formula, d.support, to_real, source))
    return rows


_PAGE = """# Standard densities

Densities of Tables A.1 to A.3 of the PhD thesis, with the maps of its Table D.1: the entries of
`experiments.foundations.models.densities.DENSITIES`, printed by that module. Logs are natural.
The last column maps an input u of unit variance to a draw.

"""


def density_page() -> str:
    """The page `docs/densities.md`."""
    header = ["density", "table", "written", "parameters", "formula", "support", "to the whole line"]
    header.append("from an input")
    rows = [header, ["---"] * len(header), *density_table()]
    lines = ["| " + " | ".join(entry.replace("|", "\\|") for entry in row) + " |\n" for row in rows]
    return _PAGE + "".join(lines)


if __name__ == "__main__":
    print(density_page(), end="")
