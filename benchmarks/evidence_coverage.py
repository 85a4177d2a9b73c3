"""How often `auxmc.evidence`, with its default settings, is within one and two of its standard errors of the truth.

Three cheap problems with exact evidences: two Gaussian shells in two dimensions, a mixture of Student-t laws in four, a
banana. Usage: `python benchmarks/evidence_coverage.py [repeats] [problem ...]`; prints a line for every repeat and a
table. Two standard errors should hold 95 % of the repeats.
"""

import math
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import quad

import auxmc


def shells() -> tuple[Callable[[Any], jax.Array], Any, float]:
    """Two circles of radius 2 and width 0.1, 7 apart."""
    centres = jnp.array([[3.5, 0.0], [-3.5, 0.0]])

    def log_density(p: Any) -> jax.Array:
        radii = jnp.linalg.norm(p["x"] - centres, axis=1)
        return jax.nn.logsumexp(-0.5 * ((radii - 2.0) / 0.1) ** 2)

    mass = quad(lambda r: r * math.exp(-0.5 * ((r - 2.0) / 0.1) ** 2), 1.0, 3.0)[0]
    return log_density, {"x": [5.5, 0.0]}, math.log(2.0 * 2.0 * math.pi * mass)


def student_mixture() -> tuple[Callable[[Any], jax.Array], Any, float]:
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

    return log_density, {"x": np.zeros(4)}, 0.0


def banana() -> tuple[Callable[[Any], jax.Array], Any, float]:
    """A normal law of standard deviation 2, and one of 0.3 around its square."""
    return (
        lambda p: -0.5 * (p["a"] / 2.0) ** 2 - 0.5 * ((p["b"] - p["a"] ** 2) / 0.3) ** 2,
        {"a": 1.0, "b": 1.0},
        math.log(2.0 * math.pi * 2.0 * 0.3),
    )


PROBLEMS = {"shells": shells, "student_mixture": student_mixture, "banana": banana}


def main(n_repeats: int, names: list[str]) -> None:
    """Repeats every problem with other seeds."""
    warnings.simplefilter("ignore", auxmc.SamplingWarning)
    for name in names:
        log_density, start, exact = PROBLEMS[name]()
        scores, errors, n_warned, clock = [], [], 0, time.perf_counter()
        for seed in range(n_repeats):
            found = auxmc.evidence(log_density, start, seed=seed, progress=False)
            scores.append((found.log_evidence - exact) / found.standard_error)
            errors.append(found.standard_error)
            n_warned += bool(found.warnings)
            print(f"{name} {seed}: {found}, exact {exact:.3f}", *found.warnings, sep="; ", flush=True)
        sizes = np.abs(scores)
        print(
            f"{name}: within one error {np.mean(sizes < 1):.2f}, two {np.mean(sizes < 2):.2f}, largest "
            f"{sizes.max():.1f}; mean score {np.mean(scores):.2f}, median error {np.median(errors):.3f} nats; "
            f"{n_warned} of {n_repeats} warned; {(time.perf_counter() - clock) / n_repeats:.1f} s each",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 40, sys.argv[2:] or list(PROBLEMS))
