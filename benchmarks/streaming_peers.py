"""dynesty, UltraNest and BlackJAX, as programs of the comparison in streaming_evidence.py."""

import logging
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.numerics.array_types import FloatArray
from benchmarks.contract import compiled, timed
from benchmarks.streaming_problems import Problem, log_likelihood_of

__all__ = ["nested_by_dynesty", "nested_by_ultranest", "tempered_by_blackjax"]

MOVES = 5


def nested_by_dynesty(problem: Problem, size: int) -> Any:
    """Static nested sampling by dynesty, one point at a time, which is all that it takes."""
    import dynesty

    data, log_likelihood = jnp.asarray(problem.rows), log_likelihood_of(problem)
    point = np.full(problem.model.dim, 0.5)
    from_cube = compiled(problem.from_cube, point)
    value_of = compiled(lambda p, d: _finite(log_likelihood(p, d)), point, data)

    def run(seed: int) -> tuple[float, float]:
        def sample() -> Any:
            sampler = dynesty.NestedSampler(
                lambda p: float(value_of(p, data)),
                lambda u: np.array(from_cube(_inside(u))),
                problem.model.dim,
                nlive=size,
                sample="rslice",
                rstate=np.random.default_rng(seed),
            )
            sampler.run_nested(print_progress=False)
            return float(sampler.results.logz[-1])

        return timed(sample)[:2]

    return run


def nested_by_ultranest(problem: Problem, size: int) -> Any:
    """Nested sampling by UltraNest with a population of slice samplers, vectorised over points."""
    import ultranest
    import ultranest.popstepsampler

    logging.getLogger("ultranest").setLevel(logging.WARNING)
    data, log_likelihood = jnp.asarray(problem.rows), log_likelihood_of(problem)
    dim = problem.model.dim
    many = jax.jit(jax.vmap(lambda p, d: _finite(log_likelihood(p, d)), (0, None)))
    from_cube = jax.jit(jax.vmap(problem.from_cube))

    def in_powers_of_two(function: Callable[[Array], Array], points: FloatArray) -> FloatArray:
        # Every number of points would be compiled again.
        n = len(points)
        filled = np.concatenate([points, np.repeat(points[:1], 2 ** math.ceil(math.log2(n)) - n, axis=0)])
        return np.array(function(jnp.asarray(filled)))[:n]

    def transform(points: FloatArray) -> FloatArray:
        return in_powers_of_two(from_cube, _inside(points))

    def value_of(points: FloatArray) -> FloatArray:
        return in_powers_of_two(lambda p: many(p, data), points)

    for power in range(math.ceil(math.log2(size)) + 1):
        value_of(transform(np.full((2**power, dim), 0.5)))  # compiles

    def run(seed: int) -> tuple[float, float]:
        np.random.seed(seed)  # noqa: NPY002 UltraNest has no other

        def sample() -> float:
            names = [f"p{i}" for i in range(dim)]
            sampler = ultranest.ReactiveNestedSampler(names, value_of, transform, vectorized=True)
            sampler.stepsampler = ultranest.popstepsampler.PopulationSimpleSliceSampler(
                popsize=max(2, size // 2),
                nsteps=5 * dim,
                generate_direction=ultranest.popstepsampler.generate_mixture_random_direction,
            )
            found = sampler.run(
                min_num_live_points=size,
                cluster_num_live_points=min(40, size),
                min_ess=0,
                dlogz=math.inf,
                dKL=math.inf,
                max_num_improvement_loops=0,
                show_status=False,
                viz_callback=False,
            )
            return float(found["logz"])

        return timed(sample)[:2]

    return run


def tempered_by_blackjax(problem: Problem, size: int) -> Any:
    """Adaptive tempered sequential Monte Carlo by BlackJAX."""
    import blackjax
    from blackjax.smc import extend_params, inner_kernel_tuning

    model, log_likelihood = problem.model, log_likelihood_of(problem)
    n_particles, dim = size, model.dim
    step_size = dim**-0.25
    n_leapfrog = max(1, round(0.5 * math.pi / step_size))
    kernel = blackjax.hmc.build_kernel()

    def move(key: Array, state: Any, log_density: Callable[[Array], Array], **parameters: Any) -> Any:
        return kernel(key, state, log_density, num_integration_steps=n_leapfrog, **parameters)

    def parameters_of(particles: Array) -> dict[str, Array]:
        covariance = jnp.cov(particles, rowvar=False)
        diagonal = jnp.diag(jnp.diagonal(covariance))
        fraction = dim / (dim + n_particles)
        metric = (1.0 - fraction) * covariance + fraction * diagonal
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

    data, key = jnp.asarray(problem.rows), jax.random.key(0)
    start = compiled(init, key, data)
    step = compiled(lambda key, state, data: algorithm(data).step(key, state), key, start(key, data), data)

    def run(seed: int) -> tuple[float, float]:
        def sample() -> float:
            key = jax.random.key(seed)
            state, log_evidence, n_steps = start(jax.random.fold_in(key, 0), data), 0.0, 0
            while float(state.sampler_state.tempering_param) < 1.0:
                n_steps += 1
                state, info = step(jax.random.fold_in(key, n_steps), state, data)
                log_evidence += float(info.log_likelihood_increment)
            return log_evidence

        return timed(sample)[:2]

    return run


def _finite(value: Array) -> Array:
    # Peers reject minus infinity or take it for an error.
    return jnp.where(jnp.isfinite(value), value, -1e300)


def _inside(point: FloatArray) -> FloatArray:
    """Points of the unit cube at which the inverse of a distribution function is finite."""
    return np.clip(point, 1e-300, 1.0 - 1e-16)
