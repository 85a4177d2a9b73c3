"""What the comfort of `auxmc.sample` costs next to the bare kernel in a loop.

Two problems of different cost: Hamiltonian Monte Carlo on a normal distribution, and constrained HMC of a simulator
whose Jacobian is found by derivatives. The bare loop is `lax.scan` over `kernel.step`, keeping positions and whether
they were accepted; `auxmc.sample` keeps named variables and what each step did, and looks at the draws. Both begin at
the same point with the same step size.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import auxmc
from auxmc.interface.advice import advise
from auxmc.interface.methods import Method
from auxmc.interface.running import ChainJob, Reporter, on_threads
from auxmc.interface.trees import tree_of
from auxmc.kernels.base import Kernel
from auxmc.kernels.hamiltonian.hmc import hmc
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from benchmarks.harness import Benchmark, Program, Run, compiled, timed

_STEPS = (5, 15)
COST = "CPU time of an iteration"


class Problem(NamedTuple):
    """A method as users make it, the same kernel alone, and iterations of a run."""

    method: Callable[[float], Method]
    kernel: Callable[[float], Kernel]
    n_draws: int


def normal() -> Problem:
    """Ten independent normal variables."""
    model = auxmc.density(lambda v: -0.5 * jnp.sum(v["x"] ** 2), {"x": np.zeros(10)})
    return Problem(
        lambda step: auxmc.hmc(model, n_steps=_STEPS, mass="unit", step_size=step),
        lambda step: hmc(model.log_density, step, _STEPS, 10),
        40_000,
    )


def simulator() -> Problem:
    """A noisy recursion of 40 steps, each seen with noise: 82 inputs, 40 data."""

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
    random = np.random.default_rng(0)
    noise, error = jnp.asarray(random.normal(size=(2, 40)))
    observed = generate({"rate": jnp.asarray(3.0), "scale": jnp.asarray(0.1), "noise": noise, "error": error})
    model = auxmc.simulator(generate, observed, priors)
    return Problem(
        lambda step: auxmc.constrained_hmc(model, n_steps=_STEPS, step_size=step),
        lambda step: constrained_hmc(model.model, step, _STEPS, model.layout.dim),
        200,
    )


PROBLEMS = {"normal distribution": normal, "simulator": simulator}


@cache
def _ready(name: str) -> tuple[Problem, float, np.ndarray]:
    """The problem, a step size found by a warm-up, and four starts [chain, dim]."""
    auxmc.use_float64()
    problem = PROBLEMS[name]()
    warm = auxmc.sample(problem.method(0.1), draws=10, warm_up=500, chains=4, progress=False)
    step = float(warm["sample_stats"]["step_size"].mean())
    draw_start = problem.method(step).draw_start
    assert draw_start is not None
    return problem, step, np.stack([draw_start(jax.random.key(i)) for i in range(4)])


def sample_chains(name: str, n_chains: int, cores: int) -> Callable[[int], Any]:
    """What `auxmc.sample` does once its programs are compiled, as a function of a seed."""
    problem, step, starts = _ready(name)
    method = problem.method(step)
    job = ChainJob(method, problem.n_draws, 0)
    job.program(starts[0], jax.random.key(0))

    def sample(seed: int) -> Any:
        keys = [jax.random.fold_in(jax.random.key(seed), i) for i in range(n_chains)]
        reporter = Reporter("", n_chains, shown=False)
        samples = on_threads(job, starts[:n_chains], keys, cores, None, reporter)
        return advise(method, tree_of(samples, 0), cores)

    sample(0)
    return sample


def _bare(name: str) -> Callable[[int], Any]:
    problem, step, starts = _ready(name)

    def loop(key: Array, start: Array) -> Any:
        kernel = problem.kernel(step)

        def one(state: Any, key: Array) -> Any:
            state, info = kernel.step(key, state)
            return state, (state.position, info.is_accepted)

        return jax.lax.scan(one, kernel.init(start, key=key), jax.random.split(key, problem.n_draws))[1]

    start = jnp.asarray(starts[0])
    program = compiled(loop, jax.random.key(0), start)
    return lambda seed: jax.tree.map(np.asarray, program(jax.random.key(seed), start))


def _programs(name: str, quick: bool) -> Sequence[Program]:
    def measured(prepare: Callable[[], Callable[[int], Any]]) -> Run:
        call = prepare()
        return lambda i: {COST: 1e6 * timed(lambda: call(i) and None).cpu_s / _ready(name)[0].n_draws}

    return [
        Program("auxmc.sample", partial(measured, partial(sample_chains, name, 1, 1))),
        Program("bare kernel", partial(measured, partial(_bare, name))),
    ]


BENCHMARK = Benchmark(
    problems={name: partial(_programs, name) for name in PROBLEMS},
    units={COST: "microseconds"},
    quick=["normal distribution"],
    repeats=3,
)
