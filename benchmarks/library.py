"""What the comfort of `auxmc.sample` costs, what a second core brings, random numbers, examples of the library pages.

Overhead: the bare loop is `lax.scan` over `kernel.step`, keeping positions and whether they were accepted;
`auxmc.sample` keeps named variables and what each step did, and looks at the draws. Both begin at the same point with
the same step size. Random numbers are drawn for many keys side by side, as the driver draws them. Each example is a
process of its own, imports and compilation included, and so are the programs of `library_comparison.py`.
"""

import multiprocessing
import re
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import auxmc
from auxmc.driver.runtime import configure
from auxmc.interface.advice import advise
from auxmc.interface.methods import Method
from auxmc.interface.running import ChainJob, Reporter, on_threads
from auxmc.interface.trees import tree_of
from auxmc.numerics.random import chi_square, standard_normal
from benchmarks import gp_probit
from benchmarks.harness import ROOT, Benchmark, Program, Run, compiled, own_process, reported, timed
from benchmarks.library_comparison import PROGRAMS
from experiments.gp_probit.model import gp_probit_model, load_biopsy, standardise

_STEPS = (5, 15)
ITERATION, NUMBER, CPU = "CPU time of an iteration", "CPU time a number", "CPU time"
RATE, WALL = "estimates per second", "wall time"


def normal(step: float) -> Method:
    """HMC of ten independent normal variables."""
    model = auxmc.density(lambda v: -0.5 * jnp.sum(v["x"] ** 2), {"x": np.zeros(10)})
    return auxmc.hmc(model, n_steps=_STEPS, mass="unit", step_size=step)


def simulator(step: float) -> Method:
    """Constrained HMC of a noisy recursion of 40 steps, each seen with noise: 82 inputs, 40 data."""

    def generate(inputs: dict[str, Array]) -> Array:
        def advance(x: Array, noise: Array) -> tuple[Array, Array]:
            x = inputs["rate"] * x * jnp.exp(-x) + inputs["scale"] * noise
            return x, x

        return jax.lax.scan(advance, jnp.asarray(1.0), inputs["noise"])[1] + 0.1 * inputs["error"]

    priors = {
        "rate": auxmc.prior.log_normal(log_mean=1.0, log_sd=0.3),
        "scale": auxmc.prior.log_normal(log_mean=-2.0, log_sd=0.5),
        "noise": auxmc.prior.normal(40),
        "error": auxmc.prior.normal(40),
    }
    noise, error = jnp.asarray(np.random.default_rng(0).normal(size=(2, 40)))
    observed = generate({"rate": jnp.asarray(3.0), "scale": jnp.asarray(0.1), "noise": noise, "error": error})
    model = auxmc.simulator(generate, observed, priors)
    return auxmc.constrained_hmc(model, n_steps=_STEPS, step_size=step)


N_DRAWS: dict[Callable[[float], Method], int] = {normal: 40_000, simulator: 200}


@cache
def _ready(make: Callable[[float], Method]) -> tuple[Method, np.ndarray]:
    """The method with a step size found by a warm-up, and four starts [chain, dim]."""
    auxmc.enable_x64()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", auxmc.SamplingWarning)
        warm = auxmc.sample(make(0.1), draws=10, warm_up=500, chains=4, progress=False)
    method = make(float(warm["sample_stats"]["step_size"].mean()))
    assert method.draw_start is not None
    return method, np.stack([method.draw_start(jax.random.key(i)) for i in range(4)])


def _sample(make: Callable[[float], Method], n_chains: int, cores: int) -> Callable[[int], Any]:
    """What `auxmc.sample` does once its programs are compiled, as a function of a seed."""
    method, starts = _ready(make)
    job = ChainJob(method, N_DRAWS[make], 0)
    job.program(starts[0], jax.random.key(0))

    def sample(seed: int) -> None:
        keys = [jax.random.fold_in(jax.random.key(seed), i) for i in range(n_chains)]
        reporter = Reporter("", n_chains, shown=False)
        begins = [(start, key, None) for start, key in zip(starts, keys, strict=False)]
        samples = on_threads(job, begins, cores, reporter)
        advise(method, tree_of(samples, 0), cores)

    sample(0)
    return sample


def _bare(make: Callable[[float], Method]) -> Callable[[int], Any]:
    method, starts = _ready(make)

    def loop(key: Array, start: Array) -> Any:
        kernel = method.build(method.scale)

        def one(state: Any, key: Array) -> Any:
            state, info = kernel.step(key, state)
            return state, (state.position, info.is_accepted)

        return jax.lax.scan(one, kernel.init(start, key=key), jax.random.split(key, N_DRAWS[make]))[1]

    start = jnp.asarray(starts[0])
    program = compiled(loop, jax.random.key(0), start)
    return lambda seed: jax.tree.map(np.asarray, program(jax.random.key(seed), start))


def _iterations(make: Callable[[float], Method]) -> list[Program]:
    def measured(prepare: Callable[[Any], Callable[[int], Any]], quick: bool) -> Run:
        call = prepare(make)
        return lambda i: {ITERATION: 1e6 * timed(call, i).cpu_s / N_DRAWS[make]}

    sample = partial(_sample, n_chains=1, cores=1)
    return [
        Program("auxmc.sample", partial(measured, sample)),
        Program("bare kernel", partial(measured, _bare)),
    ]


def _chains(cores: int, quick: bool) -> Run:
    sample = _sample(simulator, 4, cores)
    return lambda i: {WALL: timed(sample, i).wall_s}


def _numbers(draw: Callable[[Array], Array], n_numbers: int, quick: bool) -> Run:
    n_keys = max(256, 40_000 // n_numbers)
    program = compiled(jax.vmap(draw), jax.random.split(jax.random.key(0), n_keys))

    def run(i: int) -> dict[str, float]:
        cost = timed(program, jax.random.split(jax.random.key(i), n_keys), calls=5)
        return {NUMBER: 1e9 * cost.cpu_s / (n_keys * n_numbers)}

    return run


def _example(code: str, quick: bool) -> Run:
    return lambda i: {CPU: own_process("-c", code)[1]}


# Of a process: when all have come, each goes through its positions.
_state: dict[str, Any] = {}


def _begin(barrier: Any) -> None:
    configure("cpu")
    data = load_biopsy()
    model = gp_probit_model(standardise(data.features), data.labels)
    _state.update(barrier=barrier, program=gp_probit.estimates(model))


def _work(seconds: float) -> float:
    """Estimates a second of this process."""
    _state["barrier"].wait()
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        float(_state["program"](gp_probit.position(count)))
        count += 1
    return count / (time.perf_counter() - begin)


def _estimates(n: int, quick: bool) -> Run:
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n, spawn, _begin, (spawn.Barrier(n),))
    list(pool.map(_work, [0.1] * n))
    return lambda i: {RATE: sum(pool.map(_work, [1.0 if quick else 5.0] * n))}


NUMBERS = {
    "normal, 100 a key": [
        Program("auxmc", partial(_numbers, partial(standard_normal, shape=(10, 10)), 100)),
        Program("jax.random.normal", partial(_numbers, partial(jax.random.normal, shape=(10, 10)), 100)),
    ],
    "chi-squared, 89 degrees, 8 a key": [
        Program("auxmc", partial(_numbers, partial(chi_square, degrees=89, shape=(8,)), 8)),
        Program("jax.random.gamma", partial(_numbers, lambda k: 2.0 * jax.random.gamma(k, 44.5, (8,)), 8)),
    ],
}
TWO_CORES = {
    "probit estimates": [
        Program("auxmc, two processes", partial(_estimates, 2)),
        Program("auxmc, one process", partial(_estimates, 1)),
    ],
    "four chains, simulator": [
        Program("auxmc.sample, two cores", partial(_chains, 2)),
        Program("auxmc.sample, one core", partial(_chains, 1)),
    ],
}
EXAMPLES = {
    path.stem: "\n".join(re.findall(r"^```python\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S))
    for path in sorted((ROOT / "docs/library").glob("*.md"))
}
PAGES = {page: [Program("auxmc", partial(_example, code))] for page, code in EXAMPLES.items() if code}
COMPARISON = {
    problem: [Program(name, partial(reported, "library_comparison", [problem, name])) for name in programs]
    for problem, programs in PROGRAMS.items()
}
SPEED = {"normal distribution": _iterations(normal), "simulator": _iterations(simulator)}
BENCHMARKS = {
    "random_numbers": Benchmark(NUMBERS, units={NUMBER: "ns"}, quick=list(NUMBERS), repeats=5),
    "library_speed": Benchmark(
        SPEED, units={ITERATION: "microseconds"}, quick=["normal distribution"], repeats=3
    ),
    "library_comparison": Benchmark(
        COMPARISON, {CPU: "s", "error of moments": "", "error of log evidence": "nats"}, ["two modes"]
    ),
    "library_pages": Benchmark(PAGES, units={CPU: "s"}, quick=["density"]),
    "two_cores": Benchmark(
        TWO_CORES, units={RATE: "1/s", WALL: "s"}, quick=["four chains, simulator"], repeats=3, cores=2
    ),
}
