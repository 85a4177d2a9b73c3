"""CPU time of normal and chi-squared numbers, drawn for many keys side by side as the driver draws them."""

from collections.abc import Callable
from functools import partial

import jax
from jax import Array

from auxmc.numerics.random import chi_square, standard_normal
from benchmarks.harness import Benchmark, Program, Run, compiled, timed

COST = "CPU time a number"


def _prepare(draw: Callable[[Array], Array], n_numbers: int) -> Run:
    n_keys = max(256, 40_000 // n_numbers)
    program = compiled(jax.vmap(draw), jax.random.split(jax.random.key(0), n_keys))

    def run(i: int) -> dict[str, float]:
        cost = timed(program, jax.random.split(jax.random.key(i), n_keys), calls=5)
        return {COST: 1e9 * cost.cpu_s / (n_keys * n_numbers)}

    return run


NORMAL = [
    Program("auxmc", partial(_prepare, partial(standard_normal, shape=(10, 10)), 100)),
    Program("jax.random.normal", partial(_prepare, partial(jax.random.normal, shape=(10, 10)), 100)),
]
CHI_SQUARED = [
    Program("auxmc", partial(_prepare, partial(chi_square, degrees=89, shape=(8,)), 8)),
    Program("jax.random.gamma", partial(_prepare, lambda key: 2.0 * jax.random.gamma(key, 44.5, (8,)), 8)),
]
PROBLEMS = {
    "normal, 100 a key": lambda quick: NORMAL,
    "chi-squared, 89 degrees, 8 a key": lambda quick: CHI_SQUARED,
}
BENCHMARK = Benchmark(PROBLEMS, units={COST: "ns"}, quick=list(PROBLEMS), repeats=5)
