"""How often estimates of evidence are within one and two of their standard errors of the truth.

Problems with exact evidences: a correlated normal law in ten dimensions whose widths differ a hundredfold, two Gaussian
shells in two dimensions, a linear regression with unknown noise, a mixture of Student-t laws in four dimensions, a
banana. Usage: `python benchmarks/evidence_coverage.py [--repeats 100] [--method simulated_tempering ...]
[--problem normal ...]`. Repeats go to evidence_coverage.csv as they are measured, in turn over problems and methods;
what is there already is not run again. At the end the table goes into docs/library/evidence.md. One standard error
should hold 68 % of the repeats, two 95 %.
"""

import argparse
import csv
import itertools
import math
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import quad
from scipy.special import gammaln

import auxmc
from auxmc.interface.tempered.evidence import METHODS

RESULTS = Path(__file__).with_suffix(".csv")
PAGE = Path(__file__).parents[1] / "docs" / "library" / "evidence.md"
BEGIN, END = "<!-- coverage: begin -->", "<!-- coverage: end -->"


class Problem(NamedTuple):
    """A density with a start and the log of its integral, in nats."""

    log_density: Callable[[Any], jax.Array]
    start: Any
    exact: float


def normal() -> Problem:
    """Ten dimensions, neighbours correlated by 0.8, standard deviations from 0.1 to 10."""
    scales = np.geomspace(0.1, 10.0, 10)
    covariance = scales[:, None] * scales * 0.8 ** np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    precision = jnp.asarray(np.linalg.inv(covariance))
    exact = 5.0 * math.log(2.0 * math.pi) + 0.5 * float(np.linalg.slogdet(covariance)[1])
    return Problem(lambda p: -0.5 * p["x"] @ precision @ p["x"], {"x": np.ones(10)}, exact)


def shells() -> Problem:
    """Two circles of radius 2 and width 0.1, 7 apart."""
    centres = jnp.array([[3.5, 0.0], [-3.5, 0.0]])

    def log_density(p: Any) -> jax.Array:
        radii = jnp.linalg.norm(p["x"] - centres, axis=1)
        return jax.nn.logsumexp(-0.5 * ((radii - 2.0) / 0.1) ** 2)

    mass = quad(lambda r: r * math.exp(-0.5 * ((r - 2.0) / 0.1) ** 2), 1.0, 3.0)[0]
    return Problem(log_density, {"x": [5.5, 0.0]}, math.log(2.0 * 2.0 * math.pi * mass))


def regression() -> Problem:
    """Thirty rows, three coefficients and the log of the noise's variance; prior conjugate, hence the exact value."""
    random = np.random.default_rng(7)
    x = np.column_stack([np.ones(30), random.normal(size=(30, 2))])
    y = x @ [0.5, 1.0, -1.0] + 0.7 * random.normal(size=30)
    shape, rate, precision = 3.0, 2.0, 0.25

    def log_density(p: Any) -> jax.Array:
        log_variance, coefficients = p["log_variance"], p["coefficients"]
        variance = jnp.exp(log_variance)
        likelihood = jax.scipy.stats.norm.logpdf(y, x @ coefficients, jnp.sqrt(variance))
        prior = jax.scipy.stats.norm.logpdf(coefficients, 0.0, jnp.sqrt(variance / precision))
        # The inverse gamma density of the variance, times the derivative of the variance by its log.
        of_variance = shape * math.log(rate) - gammaln(shape) - shape * log_variance - rate / variance
        return jnp.sum(likelihood) + jnp.sum(prior) + of_variance

    after = precision * np.eye(3) + x.T @ x
    mean = np.linalg.solve(after, x.T @ y)
    shape_after, rate_after = shape + 15.0, rate + 0.5 * (y @ y - mean @ after @ mean)
    exact = (
        -15.0 * math.log(2.0 * math.pi)
        + 1.5 * math.log(precision)
        - 0.5 * float(np.linalg.slogdet(after)[1])
        + shape * math.log(rate)
        - shape_after * math.log(rate_after)
        + float(gammaln(shape_after) - gammaln(shape))
    )
    return Problem(log_density, {"coefficients": np.zeros(3), "log_variance": 0.0}, exact)


def student_mixture() -> Problem:
    """Three Student-t laws with five degrees of freedom, the start in the first."""
    centres = jnp.array([[0.0, 0, 0, 0], [8.0, 8, 0, 0], [-6.0, 4, 3, 0]])
    scales, shares, freedom, dim = jnp.array([1.0, 0.5, 0.7]), jnp.array([0.5, 0.3, 0.2]), 5.0, 4

    def log_density(p: Any) -> jax.Array:
        distances = jnp.sum((p["x"] - centres) ** 2, axis=1) / scales**2
        terms = math.lgamma((freedom + dim) / 2) - math.lgamma(freedom / 2)
        constant = terms - dim / 2 * math.log(freedom * math.pi) - dim * jnp.log(scales)
        return jax.nn.logsumexp(
            jnp.log(shares) + constant - (freedom + dim) / 2 * jnp.log1p(distances / freedom)
        )

    return Problem(log_density, {"x": np.zeros(4)}, 0.0)


def banana() -> Problem:
    """A normal law of standard deviation 2, and one of 0.3 around its square."""
    return Problem(
        lambda p: -0.5 * (p["a"] / 2.0) ** 2 - 0.5 * ((p["b"] - p["a"] ** 2) / 0.3) ** 2,
        {"a": 1.0, "b": 1.0},
        math.log(2.0 * math.pi * 2.0 * 0.3),
    )


PROBLEMS = {
    "normal": normal,
    "shells": shells,
    "regression": regression,
    "student_mixture": student_mixture,
    "banana": banana,
}


def measure(name: str, method: str, seed: int, draws: int) -> dict[str, Any]:
    """One repeat: how far the estimate is from the exact value, its standard error, and what was warned of."""
    problem, clock = PROBLEMS[name](), time.process_time()
    found = auxmc.evidence(
        problem.log_density, problem.start, method=method, draws=draws, seed=seed, progress=False
    )
    return {
        "problem": name,
        "method": method,
        "draws": draws,
        "seed": seed,
        "off": found.log_evidence - problem.exact,
        "standard_error": found.standard_error,
        "cpu_s": round(time.process_time() - clock, 2),
        "warnings": " ".join(found.warnings),
    }


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown: a line for each problem and method; answers that were warned of are counted, not left out."""
    text = [
        "| problem | method | repeats | within one error (68 %) | within two (95 %) | mean of the score | "
        "median error, nats | root mean square off, nats | warned of | CPU s |",
        "|---" * 10 + "|",
    ]
    for name, method in itertools.product(PROBLEMS, METHODS):
        own = [row for row in rows if (row["problem"], row["method"]) == (name, method)]
        if not own:
            continue
        off, errors, cost = (
            np.array([float(row[key]) for row in own]) for key in ("off", "standard_error", "cpu_s")
        )
        # A base that is the target itself gives the value without an error, up to rounding.
        scores = off / np.maximum(errors, 1e-9)
        n_warned = sum(bool(row["warnings"]) for row in own)
        text.append(
            f"| {name.replace('_', ' ')} | `{method}` | {len(own)} | {100 * np.mean(np.abs(scores) < 1):.0f} % | "
            f"{100 * np.mean(np.abs(scores) < 2):.0f} % | {np.mean(scores):+.2f} | {np.median(errors):.3f} | "
            f"{np.sqrt(np.mean(off**2)):.3f} | {n_warned} | {np.median(cost):.1f} |"
        )
    return "\n".join(text) + "\n"


def read(path: Path) -> list[dict[str, Any]]:
    """Rows of earlier repeats."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def main() -> None:
    """Makes the repeats that are missing, and the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--method", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument(
        "--problem", nargs="+", choices=list(PROBLEMS), default=["normal", "shells", "regression"]
    )
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of what was measured")
    options = parser.parse_args()
    warnings.simplefilter("ignore", auxmc.SamplingWarning)
    rows = read(options.results)
    done = {(row["problem"], row["method"], int(row["draws"]), int(row["seed"])) for row in rows}
    for seed in range(options.repeats):
        for method, name in itertools.product(options.method, options.problem):
            if (name, method, options.draws, seed) in done:
                continue
            rows.append(measure(name, method, seed, options.draws))
            with options.results.open("a", newline="", encoding="utf-8") as stream:
                writer = csv.DictWriter(stream, list(rows[-1]), lineterminator="\n")
                if stream.tell() == 0:
                    writer.writeheader()
                writer.writerow(rows[-1])
            print(rows[-1], flush=True)
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{table(rows)}{END}{rest.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
