"""dynesty, UltraNest and BlackJAX, as programs of the comparison in streaming_evidence.py."""

from auxmc.numerics.array_types import FloatArray
import math
import time
from collections.abc import Callable
from typing import Any

import blackjax
import dynesty
import jax
import jax.numpy as jnp
import numpy as np
import ultranest
import ultranest.popstepsampler
from blackjax.smc import extend_params, inner_kernel_tuning
from jax import Array
from streaming_problems import Outcome, Prepared, Problem, Sizes, log_likelihood_of

__all__ = ["PROGRAMS", "VERSIONS"]

MOVES = 5
VERSIONS = (
    f"blackjax {blackjax.__version__}, dynesty {dynesty.__version__}, UltraNest {ultranest.__version__}"
)


def run_dynesty(problem: Problem, sizes: Sizes) -> Prepared:
    """Static nested sampling by dynesty."""
    data, log_likelihood = jnp.asarray(problem.rows), log_likelihood_of(problem)
    begin = time.perf_counter()
    point = np.full(problem.model.dim, 0.5)
    from_cube = jax.jit(problem.from_cube).lower(point).compile()
    value_of = jax.jit(lambda p, d: _finite(log_likelihood(p, d))).lower(point, data).compile()
    compile_s = time.perf_counter() - begin

    def run(seed: int) -> Outcome:
        begin = time.perf_counter()
        sampler = dynesty.NestedSampler(
            lambda p: float(value_of(p, data)),
            lambda u: np.array(from_cube(_inside(u))),
            problem.model.dim,
            nlive=sizes.n_live,
            sample="rslice",
            rstate=np.random.default_rng(seed),
        )
        sampler.run_nested(print_progress=False)
        found = sampler.results
        return Outcome(
            float(found.logz[-1]), time.perf_counter() - begin, float(np.sum(found.ncall)) * len(problem.rows)
        )

    return Prepared(compile_s, run)


def run_ultranest(problem: Problem, sizes: Sizes) -> Prepared:
    """Nested sampling by UltraNest with a population of slice samplers."""
    data, log_likelihood = jnp.asarray(problem.rows), log_likelihood_of(problem)
    dim = problem.model.dim
    many = jax.jit(jax.vmap(lambda p, d: _finite(log_likelihood(p, d)), (0, None)))
    from_cube = jax.jit(jax.vmap(problem.from_cube))

    def in_powers_of_two(function: Callable[[Array], Array], points: FloatArray) -> FloatArray:
        # Every number of points would be compiled anew.
        n = len(points)
        filled = np.concatenate([points, np.repeat(points[:1], 2 ** math.ceil(math.log2(n)) - n, axis=0)])
        return np.array(function(jnp.asarray(filled)))[:n]

    def transform(points: FloatArray) -> FloatArray:
        return in_powers_of_two(from_cube, _inside(points))

    def value_of(points: FloatArray) -> FloatArray:
        return in_powers_of_two(lambda p: many(p, data), points)

    begin = time.perf_counter()
    for power in range(math.ceil(math.log2(sizes.n_live)) + 1):
        value_of(transform(np.full((2**power, dim), 0.5)))
    compile_s = time.perf_counter() - begin

    def run(seed: int) -> Outcome:
        np.random.seed(seed)  # noqa: NPY002 UltraNest has no other
        begin = time.perf_counter()
        names = [f"p{i}" for i in range(dim)]
        sampler = ultranest.ReactiveNestedSampler(names, value_of, transform, vectorized=True)
        sampler.stepsampler = ultranest.popstepsampler.PopulationSimpleSliceSampler(
            popsize=max(2, sizes.n_live // 2),
            nsteps=5 * dim,
            generate_direction=ultranest.popstepsampler.generate_mixture_random_direction,
        )
        found = sampler.run(
            min_num_live_points=sizes.n_live,
            cluster_num_live_points=min(40, sizes.n_live),
            min_ess=0,
            dlogz=math.inf,
            dKL=math.inf,
            max_num_improvement_loops=0,
            show_status=False,
            viz_callback=False,
        )
        return Outcome(
            float(found["logz"]), time.perf_counter() - begin, float(found["ncall"]) * len(problem.rows)
        )

    return Prepared(compile_s, run)


def run_blackjax(problem: Problem, sizes: Sizes) -> Prepared:
    """Adaptive tempered sequential Monte Carlo by BlackJAX."""
    model, log_likelihood = problem.model, log_likelihood_of(problem)
    n_particles, dim = sizes.n_particles, model.dim
    step_size = dim**-0.25
    n_leapfrog = max(1, round(0.5 * math.pi / step_size))
    kernel = blackjax.hmc.build_kernel()

    def move(key: Array, state: Any, log_density: Callable[[Array], Array], **parameters: Any) -> Any:
        return kernel(key, state, log_density, num_integration_steps=n_leapfrog, **parameters)

    def parameters_of(particles: Array) -> dict[str, Array]:
        covariance = jnp.cov(particles, rowvar=False)
        diagonal = jnp.diag(jnp.diagonal(covariance))
        share = dim / (dim + n_particles)
        metric = (1.0 - share) * covariance + share * diagonal
        return extend_params({"step_size": jnp.asarray(step_size), "inverse_mass_matrix": metric})

    def algorithm(data: Array) -> Any:
        return inner_kernel_tuning.as_top_level_api(
            blackjax.adaptive_tempered_smc,
            model.log_prior,
            lambda p: _finite(log_likelihood(p, data)),
            move,
            blackjax.hmc.init,
            blackjax.smc.resampling.systematic,
            mcmc_parameter_update_fn=lambda key, state, info: parameters_of(state.particles),
            initial_parameter_value=parameters_of(jnp.zeros((n_particles, dim))),
            num_mcmc_steps=MOVES,
            target_ess=0.5,
        )

    def init(key: Array, data: Array) -> Any:
        draws = jax.vmap(model.draw_prior)(jax.random.split(key, n_particles))
        state = algorithm(data).init(draws)
        return state._replace(parameter_override=parameters_of(draws))

    data = jnp.asarray(problem.rows)
    begin = time.perf_counter()
    start = jax.jit(init).lower(jax.random.key(0), data).compile()
    first = start(jax.random.key(0), data)
    step = jax.jit(lambda key, state, data: algorithm(data).step(key, state))
    step = step.lower(jax.random.key(0), first, data).compile()
    compile_s = time.perf_counter() - begin

    def run(seed: int) -> Outcome:
        key = jax.random.key(seed)
        begin = time.perf_counter()
        state, log_evidence, n_steps = start(jax.random.fold_in(key, 0), data), 0.0, 0
        while float(state.sampler_state.tempering_param) < 1.0:
            n_steps += 1
            state, info = step(jax.random.fold_in(key, n_steps), state, data)
            log_evidence += float(info.log_likelihood_increment)
        per_particle = n_steps * (MOVES * (n_leapfrog + 1) + 2)
        work = float(per_particle * n_particles * len(problem.rows))
        return Outcome(log_evidence, time.perf_counter() - begin, work)

    return Prepared(compile_s, run)


def _finite(value: Array) -> Array:
    # Peers refuse minus infinity or take it for an error.
    return jnp.where(jnp.isfinite(value), value, -1e300)


def _inside(point: FloatArray) -> FloatArray:
    """Points of the unit cube at which the inverse of a distribution function is finite."""
    return np.clip(point, 1e-300, 1.0 - 1e-16)


PROGRAMS: dict[str, Callable[[Problem, Sizes], Prepared]] = {
    "dynesty": run_dynesty,
    "UltraNest": run_ultranest,
    "blackjax, tempered SMC": run_blackjax,
}
