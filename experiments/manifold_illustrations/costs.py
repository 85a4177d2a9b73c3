"""What constrained HMC costs: the reversibility check, structured algebra, and inner steps."""

import time
import timeit
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.diagnostics.convergence import bulk_ess
from auxmc.driver.blocks import Sampler
from auxmc.driver.seeds import stream
from auxmc.kernels.base import Kernel
from auxmc.kernels.manifold.constrained_hmc import ConstrainedInfo, ConstrainedState, constrained_hmc
from auxmc.models.conditioned import ConditionedModel, noisy_input
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.jacobians import Jacobian, dense_jacobian, diagonal_jacobian, markovian_jacobian
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from experiments.generalised_lambda.model import generator as generalised_lambda
from experiments.generalised_lambda.model.fibre import initial_inputs
from experiments.human_pose.model import generator as human_pose
from experiments.human_pose.model.pose_priors import read_pose_prior
from experiments.lotka_volterra.model.conditioning import conditioned_model
from experiments.lotka_volterra.model.generator import initial_inputs as initial_rates
from experiments.lotka_volterra.model.generator import published_model
from experiments.manifold_illustrations.operations import count_cholesky, count_operations, count_updates
from experiments.manifold_illustrations.settings import Settings

CHECKS = ("position", "none")  # with the check of Algorithm 11, and without

N_CHAINS = 4  # chains whose efficiency is compared

_LAMBDA_SEED, _N_OBSERVATIONS = 20170628, 250
_POSE_NOISE = 0.01
# Chains for each check, and iterations of other chains for one of theirs, whose sub-steps cost more.
_N_CHECKED, _THINNING = 8, 10


class _Case(NamedTuple):
    """A conditioned model with the published numbers of its study: integrator step, steps, geodesic sub-steps."""

    model: ConditionedModel
    start: Callable[[Array], Array]
    n_inputs: int
    step_size: Array | float
    n_steps: tuple[int, int]
    n_inner_steps: Array | int


def check_costs(settings: Settings, context: RunContext) -> xr.Dataset:
    """Seconds and constraint evaluations of chains with and without the check, by model."""
    cases = {"Lotka-Volterra": _rates(max(settings.inner_steps))}
    if settings.larger_models:
        cases |= {"generalised lambda": _lambda(), "human pose": _pose()}
    n_draws = max(settings.n_cost_draws // _THINNING, 2)
    keys = (stream(context.seed, context.study, "check", name) for name in cases)
    costs = [_costs_in_turns(key, case, n_draws) for key, case in zip(keys, cases.values(), strict=True)]
    seconds, work = (np.array(found) for found in zip(*costs, strict=True))
    dims = ("checked_model", "check", "repeat")
    return xr.Dataset(
        {"check_seconds": (dims, seconds, {"units": "s"}), "check_work": (dims, work)},
        coords={"checked_model": list(cases), "check": list(CHECKS), "repeat": range(_N_CHECKED)},
    )


def _costs_in_turns(key: Array, case: _Case, n_draws: int) -> tuple[FloatArray, FloatArray]:
    """Seconds, and evaluations an iteration [check, chain], of chains that differ by the check alone, in turns."""

    def with_check(check: str) -> Callable[[Array, Array], Array]:
        kernel = _kernel(case, check)

        def chain(start: Array, keys: Array) -> Array:
            def one(state: ConstrainedState, key: Array) -> tuple[ConstrainedState, Array]:
                state, info = kernel.step(key, state)
                return state, info.errors.n_projection_iterations

            return jnp.mean(jax.lax.scan(one, kernel.init(start), keys)[1])

        return jax.jit(chain)

    chains = [with_check(check) for check in CHECKS]
    seconds, work = (np.empty((len(CHECKS), _N_CHECKED)) for _ in range(2))
    start = jax.jit(case.start)
    for i in range(_N_CHECKED):
        first, later = jax.random.split(jax.random.fold_in(key, i))
        arguments = start(first), jax.random.split(later, n_draws)
        for j, chain in enumerate(chains):
            if i == 0:
                chain(*arguments).block_until_ready()  # compiles
            began = time.perf_counter()
            work[j, i] = chain(*arguments).block_until_ready()
            seconds[j, i] = time.perf_counter() - began
    return seconds, work


def _lambda() -> _Case:
    observations = generalised_lambda.simulate_observations(_LAMBDA_SEED, _N_OBSERVATIONS)
    model = generalised_lambda.generalised_lambda_model(observations, 1.0, 1.0)
    return _Case(
        generalised_lambda.conditioned_model(model),
        lambda key: initial_inputs(key, model).inputs,
        generalised_lambda.input_dim(model),
        0.6,
        (5, 10),
        4,
    )


def _pose() -> _Case:
    model = human_pose.PoseModel(read_pose_prior("own"), "binocular")
    scene = human_pose.simulated_scenes(model, _POSE_NOISE)[0]
    observed = jnp.asarray(scene.observed)
    # From the pose that made the images on, so that no warm-up is needed.
    generate = partial(human_pose.generate, model)
    start = noisy_input(generate, jnp.asarray(scene.inputs), observed, _POSE_NOISE)
    conditioned = human_pose.conditioned_model(model, observed, _POSE_NOISE)
    return _Case(conditioned, lambda key: start, start.shape[0], 0.05, (10, 20), 8)


def _kernel(case: _Case, check: str = "position_and_constraint") -> Kernel:
    return constrained_hmc(
        case.model,
        case.step_size,
        case.n_steps,
        case.n_inputs,
        n_inner_steps=case.n_inner_steps,
        reversibility_check=check,
    )


_N_DISCARDED = 10
_SUB_STEP_SIZE, _N_SUB_STEPS = 0.25 / 3.0, 18  # Published: three sub-steps a step
_N_SHARED = 4
_UPDATE_SIZES, _UPDATE_RANKS = (200, 400, 800), (2, 4, 8)
_REPEATS = 5


def costs(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs design costs; returns group `statistics`.

    It has time and work with and without the reversibility check, effective draws per gradient by number of
    inner steps, and times and operations of Gram solves by size.
    """
    parts = [
        _inner_steps({n: _rates_chains(settings, context, n) for n in settings.inner_steps}),
        check_costs(settings, context),
        _gram_costs(stream(context.seed, context.study, "gram"), settings),
    ]
    return {"statistics": xr.merge(parts)}


def undivided(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs design undivided: the longest steps of design costs, with sub-steps and, at as many gradients, without.

    Group `statistics` has what `costs` has of them.
    """
    n = max(settings.inner_steps)
    parts = [
        _inner_steps({n: _rates_chains(settings, context, n, is_divided=divided)})
        for divided in (True, False)
    ]
    return {"statistics": xr.concat(parts, xr.DataArray(["divided", "undivided"], dims="division")).squeeze()}


def _rates(n_inner_steps: int, *, is_divided: bool = True) -> _Case:
    """The rates of the published Lotka-Volterra data, with the published constraint."""
    populations = published_model()
    n_steps = _N_SUB_STEPS // n_inner_steps
    return _Case(
        conditioned_model(populations, "generator"),
        lambda key: initial_rates(populations, key),
        populations.n_inputs,
        _SUB_STEP_SIZE * n_inner_steps,
        (n_steps, n_steps),
        n_inner_steps if is_divided else 1,
    )


def _rates_chains(
    settings: Settings, context: RunContext, n_inner_steps: int, *, is_divided: bool = True
) -> Chains:
    """Chains on the rates that record their first four inputs, and what their iterations did."""
    case = _rates(n_inner_steps, is_divided=is_divided)
    # Arguments rather than constants: the program of one number of sub-steps serves the others from the cache.
    numbers = np.array([case.step_size, case.n_steps[0], case.n_inner_steps])

    def build(parameters: dict[str, Array]) -> Kernel:
        step_size, n_steps, n_inner = parameters["start"]
        own = case._replace(step_size=step_size, n_steps=(1, 1), n_inner_steps=n_inner.astype(jnp.int32))
        kernel = _kernel(own)
        n_made = n_steps.astype(jnp.int32)
        return kernel._replace(apply=lambda noise, state: kernel.apply(noise._replace(n_steps=n_made), state))

    def initial(key: Array, parameters: dict[str, Array]) -> Any:
        return build(parameters).init(case.start(key), key=key)

    def record(state: ConstrainedState, info: ConstrainedInfo) -> dict[str, Array]:
        failed = jnp.isinf(info.energy_change)
        return {"inputs": state.position[:4], "accepted": info.is_accepted, "failed": failed}

    return run_chains(
        context,
        ("rates" if is_divided else "undivided rates", n_inner_steps, "position_and_constraint"),
        Sampler(build, initial, record),
        settings,
        n_draws=_N_DISCARDED + settings.n_cost_draws,
        n_chains=N_CHAINS,
        sweep={"unused": [0.0]},
        starts=np.tile(numbers, (N_CHAINS, 1)),
        vectorise=False,  # Side by side, lanes would wait for the slowest projection
    )


def _inner_steps(chains: dict[int, Chains]) -> xr.Dataset:
    """Effective draws per gradient of the slowest rate, fractions of failed and of accepted proposals, by chain."""
    rows: dict[str, list[FloatArray]] = {"ess_per_gradient": [], "failed_share": [], "inner_acceptance": []}
    for n_inner_steps, part in chains.items():
        kept = {name: values[0, :, _N_DISCARDED:] for name, values in part.draws.items()}
        n_gradients = kept["accepted"].shape[1] * (_N_SUB_STEPS // n_inner_steps)
        rows["ess_per_gradient"].append(smallest_sizes(kept["inputs"]) / n_gradients)
        rows["failed_share"].append(kept["failed"].mean(axis=1))
        rows["inner_acceptance"].append(kept["accepted"].mean(axis=1))
    return xr.Dataset(
        {name: (("inner_steps", "chain"), np.array(values)) for name, values in rows.items()},
        coords={"inner_steps": list(chains), "chain": range(N_CHAINS)},
    )


def smallest_sizes(draws: FloatArray) -> FloatArray:
    """Effective draws of the slowest coordinate of each chain [chain, draw, coordinate] to [chain]."""
    return np.array([min(float(bulk_ess(one[None, :, i])) for i in range(one.shape[1])) for one in draws])


def _gram_costs(key: Array, settings: Settings) -> xr.Dataset:
    """Seconds and operations of a Jacobian's factor and a solve, by algebra and N; of low-rank updates, by N and L."""
    dense, structured = settings.dense_sizes, settings.structured_sizes

    def operations(build: Callable[[Array, Array], Jacobian]) -> list[float]:
        return [count_operations(partial(_solve, build), (n, _N_SHARED), (n,)) for n in structured]

    times = [_solve_time(key, n, diagonal_jacobian) for n in structured]
    by_size = [count_updates(n, _N_SHARED) for n in _UPDATE_SIZES]
    by_rank = [count_updates(_UPDATE_SIZES[0], rank) for rank in _UPDATE_RANKS]
    return xr.Dataset(
        {
            "gram_dense_seconds": ("dense_size", [_solve_time(key, n, _dense) for n in dense]),
            "gram_dense_operations": ("dense_size", [count_cholesky(n) for n in dense]),
            "gram_structured_seconds": ("structured_size", times),
            "gram_structured_operations": ("structured_size", operations(diagonal_jacobian)),
            "gram_markovian_operations": ("structured_size", operations(_markovian)),
            "update_operations_by_size": ("update_size", by_size),
            "update_operations_by_rank": ("update_rank", by_rank),
        },
        coords={
            "dense_size": dense,
            "structured_size": structured,
            "update_size": list(_UPDATE_SIZES),
            "update_rank": list(_UPDATE_RANKS),
        },
    )


def _dense(block: Array, diagonal: Array) -> Jacobian:
    return dense_jacobian(jnp.concatenate([block, jnp.diag(diagonal)], axis=1))


def _markovian(block: Array, diagonal: Array) -> Jacobian:
    """Steps of two observations, each of which depends on the one before."""
    blocks = jax.vmap(jnp.diag)(diagonal.reshape(-1, 2))
    return markovian_jacobian(block, blocks, 0.5 * blocks[1:])


def _solve(build: Callable[[Array, Array], Jacobian], block: Array, diagonal: Array) -> Array:
    jacobian = build(block, diagonal)
    return jacobian.solve_gram(diagonal) + jacobian.half_log_determinant


def _solve_time(key: Array, size: int, build: Callable[[Array, Array], Jacobian]) -> float:
    block = jax.random.normal(key, (size, _N_SHARED), dtype=jnp.float64)
    diagonal = 1.0 + jax.random.uniform(jax.random.fold_in(key, 1), (size,), dtype=jnp.float64)
    solve = jax.jit(partial(_solve, build))
    solve(block, diagonal).block_until_ready()
    return min(timeit.repeat(lambda: solve(block, diagonal).block_until_ready(), number=1, repeat=_REPEATS))
