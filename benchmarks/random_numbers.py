"""CPU time of normal and chi-squared numbers, drawn for many keys side by side as the driver draws them."""

from collections.abc import Callable, Sequence
from functools import partial

import jax
import numpy as np
from jax import Array

from auxmc.numerics.random import chi_square, standard_normal
from benchmarks.contract import Benchmark, Program, Run, compiled, timed

__all__ = ["BENCHMARK"]

COST = "CPU time a number"
Draw = Callable[[Array], Array]


def _program(name: str, draw: Draw, n_numbers: int) -> Program:
    def prepare() -> Run:
        n_keys = max(256, 40_000 // n_numbers)
        program = compiled(jax.vmap(draw), jax.random.split(jax.random.key(0), n_keys))

        def run(i: int) -> dict[str, float]:
            cost = timed(program, jax.random.split(jax.random.key(i), n_keys), calls=5)
            return {COST: 1e9 * cost.cpu_s / (n_keys * n_numbers)}

        return run

    return Program(name, prepare)


def _normal(shape: tuple[int, ...], quick: bool) -> Sequence[Program]:
    draws: dict[str, Draw] = {
        "auxmc": partial(standard_normal, shape=shape),
        "jax.random.normal": partial(jax.random.normal, shape=shape),
    }
    return [_program(name, draw, int(np.prod(shape))) for name, draw in draws.items()]


def _chi_squared(n: int, quick: bool) -> Sequence[Program]:
    draws: dict[str, Draw] = {
        "auxmc": partial(chi_square, degrees=89, shape=(n,)),
        "jax.random.gamma": lambda key: 2.0 * jax.random.gamma(key, 44.5, (n,)),
    }
    return [_program(name, draw, n) for name, draw in draws.items()]


BENCHMARK = Benchmark(
    problems={f"normal, {np.prod(s)} a key": partial(_normal, s) for s in ((10,), (10, 10), (32, 10, 10))}
    | {f"chi-squared, 89 degrees, {n} a key": partial(_chi_squared, n) for n in (1, 8, 32)},
    units={COST: "ns"},
    page_problems=["normal, 100 a key", "chi-squared, 89 degrees, 8 a key"],
    quick=["normal, 100 a key", "chi-squared, 89 degrees, 8 a key"],
    repeats=5,
)
