"""CPU time of normal and chi-squared numbers, drawn for many keys side by side as the driver draws them."""

from collections.abc import Callable, Sequence
from functools import partial

import jax
from jax import Array

from auxmc.numerics.random import chi_square, standard_normal
from benchmarks.harness import Benchmark, Program, Run, compiled, timed

__all__ = ["BENCHMARK"]

COST = "CPU time a number"


def _prepare(draw: Callable[[Array], Array], n_numbers: int) -> Run:
    n_keys = max(256, 40_000 // n_numbers)
    program = compiled(jax.vmap(draw), jax.random.split(jax.random.key(0), n_keys))

    def run(i: int) -> dict[str, float]:
        cost = timed(program, jax.random.split(jax.random.key(i), n_keys), calls=5)
        return {COST: 1e9 * cost.cpu_s / (n_keys * n_numbers)}

    return run


def _normal(quick: bool) -> Sequence[Program]:
    draws = {"auxmc": standard_normal, "jax.random.normal": jax.random.normal}
    return [
        Program(name, partial(_prepare, partial(draw, shape=(10, 10)), 100)) for name, draw in draws.items()
    ]


def _chi_squared(quick: bool) -> Sequence[Program]:
    ours = partial(chi_square, degrees=89, shape=(8,))
    return [
        Program("auxmc", partial(_prepare, ours, 8)),
        Program(
            "jax.random.gamma", partial(_prepare, lambda key: 2.0 * jax.random.gamma(key, 44.5, (8,)), 8)
        ),
    ]


PROBLEMS = {"normal, 100 a key": _normal, "chi-squared, 89 degrees, 8 a key": _chi_squared}
BENCHMARK = Benchmark(PROBLEMS, units={COST: "ns"}, quick=list(PROBLEMS), repeats=5)
