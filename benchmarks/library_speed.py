"""What the comfort of `auxmc.sample` costs beside the bare kernel in a loop, and what a second core brings.

    python benchmarks/library_speed.py [--repeats 7]

Two problems of different cost: Hamiltonian Monte Carlo on a normal law, and constrained HMC of a simulator whose
Jacobian is found by derivatives. The bare loop is `lax.scan` over `kernel.step`, keeping positions and whether they
were accepted; `auxmc.sample` keeps named variables and what each step did, and looks at the draws. Both begin at the
same point with the same step size; compilation is left out on both sides. CPU times are of one chain, measured in
turns in one process, medians over the pairs; then wall and CPU time of four chains on two cores, beside one.
"""

import argparse
import os
import time
from collections.abc import Callable
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
from auxmc.kernels.hamiltonian.hmc import hamiltonian_monte_carlo
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.base import Kernel

_STEPS = (5, 15)


class Problem(NamedTuple):
    """A method as users make it, the same kernel alone, and iterations of a run."""

    method: Callable[[float], Method]
    kernel: Callable[[float], Kernel]
    n_draws: int


def normal() -> Problem:
    """Ten independent normal variables."""
    model = auxmc.density(lambda v: -0.5 * jnp.sum(v["x"] ** 2), {"x": np.zeros(10)})
    return Problem(
        lambda step: auxmc.hmc(model, n_steps=_STEPS, step_size=step),
        lambda step: hamiltonian_monte_carlo(model.log_density, step, _STEPS, 10),
        40_000,
    )


def simulator() -> Problem:
    """A noisy recursion of 40 steps, each seen with noise: 83 inputs, 40 data."""

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
    truth = {"rate": np.float64(3.0), "scale": np.float64(0.1)}
    observed = generate(truth | {"noise": random.normal(size=40), "error": random.normal(size=40)})
    model = auxmc.simulator(generate, observed, priors)
    return Problem(
        lambda step: auxmc.constrained_hmc(model, n_steps=_STEPS, step_size=step),
        lambda step: constrained_hmc(model.model, step, _STEPS, model.layout.dim),
        200,
    )


PROBLEMS = {"normal law": normal, "simulator": simulator}


def measure(name: str, repeats: int) -> str:
    """Rows of the table for one problem."""
    problem = PROBLEMS[name]()
    warm = auxmc.sample(problem.method(0.1), draws=10, warm_up=500, chains=4, progress=False)
    step = float(warm["sample_stats"]["step_size"].mean())
    method, n = problem.method(step), problem.n_draws
    assert method.draw_start is not None
    starts = np.stack([method.draw_start(jax.random.key(i)) for i in range(4)])
    keys = [jax.random.key(i) for i in range(4)]
    job = ChainJob(method, n, 0)
    job.program(starts[0], keys[0])

    def loop(key: Array, start: Array) -> Any:
        kernel = problem.kernel(step)

        def one(state: Any, key: Array) -> Any:
            state, info = kernel.step(key, state)
            return state, (state.position, info.accepted)

        return jax.lax.scan(one, kernel.init(key, start), jax.random.split(key, n))[1]

    program = jax.jit(loop).lower(keys[0], jnp.asarray(starts[0])).compile()

    def bare() -> None:
        jax.tree.map(np.asarray, program(keys[0], jnp.asarray(starts[0])))

    def ours(n_chains: int = 1, cores: int = 1) -> None:
        reporter = Reporter("", n_chains, shown=False)
        samples = on_threads(job, starts[:n_chains], keys[:n_chains], cores, None, reporter)
        advise(method, tree_of(samples, 0))

    for function in (bare, ours):
        function()
    pairs = [(_cost(bare)[0], _cost(ours)[0]) for _ in range(repeats)]
    scaling = [(_cost(lambda: ours(4, 1)), _cost(lambda: ours(4, 2))) for _ in range(repeats)]
    alone, whole = np.median(np.array(pairs), axis=0) / n * 1e6
    ratio = np.median([own / kernel for kernel, own in pairs])
    faster = np.median([one[1] / two[1] for one, two in scaling])
    cpu = np.median([two[0] / one[0] for one, two in scaling])
    return f"| {name} | {alone:.1f} | {whole:.1f} | {ratio:.2f} | {faster:.2f} | {cpu:.2f} |"


def _cost(function: Callable[[], None]) -> tuple[float, float]:
    """CPU and wall seconds."""
    cpu, wall = time.process_time(), time.perf_counter()
    function()
    return time.process_time() - cpu, time.perf_counter() - wall


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    print("| problem | bare, us of CPU | auxmc.sample, us | ratio | two cores: faster | their CPU time |")
    print("|---|---|---|---|---|---|")
    for name in PROBLEMS:
        print(measure(name, options.repeats), flush=True)
    print(f"{os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f}, jax {jax.__version__}")
