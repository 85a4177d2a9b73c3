"""Constrained HMC next to Mici, and next to NumPyro's NUTS on the posterior of the parameters alone.

Lotka-Volterra and generalised lambda, published data, chains from a point in the bulk of the posterior: the smallest
bulk effective sample size over the four parameters, summed over chains, for each second of sampling without compilation
and warm-up. "Published" has constraint and settings of the thesis, "teacher-forced" another constraint of the same
Lotka-Volterra manifold. Mici has its JAX backend and a dense Jacobian. NUTS runs where the inputs of the data have been
integrated out by hand, which few simulators allow. Then HMC and Riemannian HMC at the smallest tolerance of a Gaussian
kernel in the studies, at their best steps there, and the time of one integrator step with growing data.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.diagnostics.convergence import bulk_ess
from auxmc.kernels.hamiltonian.hmc import hmc
from auxmc.kernels.hamiltonian.riemannian_hmc import riemannian_hmc
from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.models.abc_kernels import log_gaussian_kernel
from auxmc.models.conditioned import ConditionedModel
from benchmarks.harness import Benchmark, Program, Run, compiled, timed
from experiments.generalised_lambda.model import fibre as generalised_lambda_fibre
from experiments.generalised_lambda.model import generator as generalised_lambda
from experiments.generalised_lambda.model.exact import log_posterior as collapsed_generalised_lambda
from experiments.lotka_volterra.model import generator as lotka_volterra
from experiments.lotka_volterra.model.conditioning import conditioned_model as condition_lotka_volterra
from experiments.lotka_volterra.model.data import published_data

N_PARAMETERS = 4
RATE, SUB_STEP = "ESS per CPU second", "CPU time of a geodesic sub-step"


class Settings(NamedTuple):
    """Step size, smallest and largest number of steps, inner steps, projection solver, chains, draws of each."""

    step_size: float
    n_steps: tuple[int, int]
    n_inner_steps: int
    solver: str = "quasi_newton"
    n_chains: int = 1
    n_draws: int = 1000
    dynamic: bool = False
    tolerance: float = 0.0  # of the Gaussian kernel of HMC; 0 for constrained HMC
    is_riemannian: bool = False


class Target(NamedTuple):
    """A conditioned model, a start in the bulk of its posterior, and its four parameters alone."""

    model: ConditionedModel  # of all inputs
    start: Array  # inputs
    coordinates: Callable[[Array], Array]  # maps inputs to the parameters of `collapsed` [4]
    collapsed: Callable[[Array], Array]  # their log posterior density, in nats
    metric: Callable[[float], Callable[[Array], Any]]  # equation 4.52 of the PhD thesis at a tolerance


LOTKA_VOLTERRA, GENERALISED_LAMBDA = Settings(0.25, (4, 8), 3), Settings(0.6, (5, 10), 4)


@cache
def _lotka_volterra(constraint: Any, n_rows: int = 50) -> Target:
    model = lotka_volterra.lotka_volterra_model(published_data()[:n_rows])

    def collapsed(u: Array) -> Array:
        return -0.5 * jnp.sum(u**2) - 0.5 * jnp.sum(lotka_volterra.noise_inputs(model, u) ** 2)

    forced = condition_lotka_volterra(model, "teacher_forced")
    first = lotka_volterra.initial_inputs(model, jax.random.key(0))
    start = _warmed(forced, first, LOTKA_VOLTERRA._replace(n_draws=100))
    conditioned = condition_lotka_volterra(model, constraint)

    def metric(tolerance: float, inputs: Array) -> Array:
        jacobian = jax.jacfwd(lambda u: conditioned.constraint(u) / tolerance)(inputs)
        return jacobian.T @ jacobian + jnp.eye(inputs.size)

    return Target(conditioned, start, lambda u: u[:N_PARAMETERS], collapsed, lambda eps: partial(metric, eps))


@cache
def _generalised_lambda() -> Target:
    model = generalised_lambda.generalised_lambda_model(generalised_lambda.published_observations())
    conditioned = generalised_lambda.conditioned_model(model)

    def coordinates(inputs: Array) -> Array:
        z = generalised_lambda.parameters(inputs[:N_PARAMETERS], model.prior)
        return z.at[1].set(jnp.log(z[1]))

    first = generalised_lambda_fibre.initial_inputs(jax.random.key(3), model).inputs
    start = _warmed(conditioned, first, Settings(0.05, (2, 2), 4, n_draws=300))
    metric = partial(generalised_lambda.abc_metric, model)
    return Target(conditioned, start, coordinates, collapsed_generalised_lambda(model, "exact"), metric)


def _hmc(target: Target, settings: Settings, dim: int) -> Any:
    def log_density(inputs: Array) -> Array:
        residual = target.model.constraint(inputs)
        return target.model.log_prior(inputs) + log_gaussian_kernel(residual, settings.tolerance)

    if settings.is_riemannian:
        metric = target.metric(settings.tolerance)
        return riemannian_hmc(log_density, metric, settings.step_size, settings.n_steps, dim)
    return hmc(log_density, settings.step_size, settings.n_steps, dim)


def _kernel(model: ConditionedModel, settings: Settings, dim: int) -> Any:
    steps, solver = settings.n_steps, ProjectionSettings(settings.solver)
    inner = settings.n_inner_steps
    return constrained_hmc(model, settings.step_size, steps, dim, n_inner_steps=inner, projection=solver)


def _chain(kernel_of: Callable[[int], Any], n_draws: int) -> Callable[[Array, Array], Any]:
    def run(key: Array, start: Array) -> Any:
        kernel = kernel_of(start.shape[0])

        def one(state: Any, key: Array) -> Any:
            state, _ = kernel.step(key, state)
            return state, state.position[:N_PARAMETERS]

        end, kept = jax.lax.scan(one, kernel.init(start), jax.random.split(key, n_draws))
        return end.position, kept

    return run


def _warmed(model: ConditionedModel, start: Array, settings: Settings) -> Array:
    chain = _chain(partial(_kernel, model, settings), settings.n_draws)
    return jax.jit(chain)(jax.random.key(7), start)[0]


def smallest_ess(draws: Any) -> float:
    """Smallest bulk effective sample size over the variables of one chain [draw, dim]."""
    return float(np.min(bulk_ess(np.asarray(draws).T[:, None, :])))


Sample = Callable[[int], Any]
"""Maps a seed to draws [chain, draw, dim] of chains, each of which is worth what it is worth alone."""


def _ours(target: Target, settings: Settings) -> Sample:
    def keys(i: int) -> Array:
        return jax.random.split(jax.random.key(i), settings.n_chains)

    make = partial(_hmc, target, settings) if settings.tolerance else partial(_kernel, target.model, settings)
    starts, chain = jnp.tile(target.start, (settings.n_chains, 1)), _chain(make, settings.n_draws)
    # A single chain is not batched, which would turn each branch into both.
    batch = settings.n_chains if settings.n_chains > 1 else None

    def chains(*stacks: Array) -> Any:
        return jax.lax.map(lambda one: chain(*one), stacks, batch_size=batch)

    program = compiled(chains, keys(0), starts)
    return lambda i: program(keys(i), starts)[1]


def _mici(target: Target, settings: Settings) -> Sample:
    """The same model in Mici; dynamic trajectories have a step size adapted in as many iterations as follow."""
    import mici

    system = mici.systems.DenseConstrainedEuclideanMetricSystem(
        lambda q: -target.model.log_prior(q), target.model.constraint, dens_wrt_hausdorff=False, backend="jax"
    )
    integrator = mici.integrators.ConstrainedLeapfrogIntegrator(
        system,
        step_size=settings.step_size,
        n_inner_step=settings.n_inner_steps,
        projection_solver=getattr(mici.solvers, f"solve_projection_onto_manifold_{settings.solver}"),
    )
    options: dict[str, Any] = {"display_progress": False, "n_worker": 1}
    starts = [np.array(target.start)]

    def sampler(seed: int) -> Any:
        random = np.random.default_rng(seed)
        if settings.dynamic:
            return mici.samplers.DynamicMultinomialHMC(system, integrator, random)
        low, high = settings.n_steps
        # Mici draws below the upper bound, whatever its documentation says.
        return mici.samplers.RandomMetropolisHMC(system, integrator, random, n_step_range=(low, high + 1))

    # Compiles, and finds the step size of dynamic trajectories, which the integrator keeps.
    adapters = [mici.adapters.DualAveragingStepSizeAdapter(0.8)] if settings.dynamic else []
    n_first = settings.n_draws if settings.dynamic else 5
    sampler(0).sample_chains(n_first, 1, starts, adapters=adapters, **options)
    options["trace_funcs"] = [lambda state: {"parameters": state.pos[:N_PARAMETERS]}]
    return lambda i: sampler(i).sample_chains(0, settings.n_draws, starts, **options).traces["parameters"]


def _nuts(target: Target, settings: Settings) -> Sample:
    """NumPyro's NUTS on the parameters alone, in a loop of its own: `MCMC.run` would be traced again at every call."""
    from numpyro.infer import MCMC, NUTS

    nuts = NUTS(potential_fn=lambda u: -target.collapsed(u))
    warm_up = MCMC(nuts, num_warmup=500, num_samples=1, progress_bar=False)
    warm_up.warmup(jax.random.key(0), init_params=target.coordinates(target.start))

    def chain(key: Array, state: Any) -> Any:
        def one(state: Any, _: None) -> Any:
            state = nuts.sample(state, (), {})
            return state, state.z

        return jax.lax.scan(one, state._replace(rng_key=key), None, length=settings.n_draws)[1]

    program = compiled(chain, jax.random.key(0), warm_up.last_state)
    return lambda i: program(jax.random.key(i), warm_up.last_state)[None]


def _sub_step(size: int, quick: bool) -> Run:
    values = generalised_lambda.simulate_observations(0, size)
    model = generalised_lambda.generalised_lambda_model(values)
    truth = jnp.asarray(generalised_lambda.GENERATING_PARAMETERS)
    inputs = generalised_lambda_fibre.inputs_of_parameters(truth, model)
    start = generalised_lambda_fibre.fibre_point(inputs, model).inputs
    settings = Settings(0.6 / np.sqrt(size / 250), (5, 5), 1, "newton")
    kernel = _kernel(generalised_lambda.conditioned_model(model), settings, start.shape[0])
    state = kernel.init(start)
    step = compiled(kernel.step, jax.random.key(0), state)

    def run(i: int) -> dict[str, float]:
        (_, info), cpu_s, _ = timed(step, jax.random.key(i), state)
        return {SUB_STEP: 1e6 * cpu_s / max(1, int(info.errors.n_projections) // 2)}

    return run


def _program(name: str, target_of: Callable[[], Target], settings: Settings) -> Program:
    """A program of the package that the name begins with; a fifth of the draws in the quick form."""

    def prepare(quick: bool) -> Run:
        own = settings._replace(n_draws=settings.n_draws // 5) if quick else settings
        sample = {"auxmc": _ours, "Mici": _mici, "NumPyro": _nuts}[name.split(",")[0]](target_of(), own)

        def run(i: int) -> dict[str, float]:
            draws, cpu_s, _ = timed(sample, i)
            return {RATE: sum(map(smallest_ess, draws)) / cpu_s}

        return run

    return Program(name, prepare)


GENERATOR, FORCED = partial(_lotka_volterra, "generator"), partial(_lotka_volterra, "teacher_forced")
FEWER = partial(_lotka_volterra, "generator", 15)
BEST, BEST_LAMBDA = Settings(1.05, (2, 2), 1, "newton"), Settings(0.6, (3, 5), 1, "newton")
DYNAMIC_LAMBDA = GENERALISED_LAMBDA._replace(dynamic=True, n_draws=200)
RIEMANNIAN = Settings(0.08, (10, 20), 0, tolerance=0.4, is_riemannian=True)
RIEMANNIAN_LAMBDA = Settings(0.024, (20, 40), 0, n_draws=2000, tolerance=0.02, is_riemannian=True)
EUCLIDEAN = Settings(8e-4, (100, 200), 0, n_draws=10_000, tolerance=0.4)
EUCLIDEAN_LAMBDA = Settings(4e-4, (200, 400), 0, n_draws=5000, tolerance=0.02)
NUTS, ADAPTED = "NumPyro, NUTS, inputs integrated out by hand", Settings(0.0, (0, 0), 0, "", dynamic=True)
PROBLEMS = {
    "Lotka-Volterra": [
        _program("auxmc, best found, teacher-forced", FORCED, BEST._replace(n_chains=4)),
        _program("auxmc, the same, one chain", FORCED, BEST),
        _program("auxmc, published, teacher-forced", FORCED, LOTKA_VOLTERRA),
        _program("auxmc, published", GENERATOR, LOTKA_VOLTERRA),
        _program("Mici, best found, teacher-forced", FORCED, BEST._replace(n_draws=400)),
        _program("Mici, published", GENERATOR, LOTKA_VOLTERRA._replace(n_draws=200)),
        _program("Mici, dynamic trajectories", GENERATOR, LOTKA_VOLTERRA._replace(dynamic=True, n_draws=200)),
        _program(NUTS, GENERATOR, ADAPTED),
    ],
    "generalised lambda": [
        _program("auxmc, best found", _generalised_lambda, BEST_LAMBDA),
        _program("auxmc, published", _generalised_lambda, GENERALISED_LAMBDA),
        _program("Mici, best found", _generalised_lambda, BEST_LAMBDA._replace(n_draws=200)),
        _program("Mici, published", _generalised_lambda, GENERALISED_LAMBDA._replace(n_draws=200)),
        _program("Mici, dynamic trajectories", _generalised_lambda, DYNAMIC_LAMBDA),
        _program(NUTS, _generalised_lambda, ADAPTED),
    ],
    "Lotka-Volterra, 15 observations, tolerance 0.4": [
        _program("auxmc, constrained HMC", FEWER, LOTKA_VOLTERRA),
        _program("auxmc, Riemannian ABC HMC", FEWER, RIEMANNIAN),
        _program("auxmc, ABC HMC", FEWER, EUCLIDEAN),
    ],
    "generalised lambda, tolerance 0.02": [
        _program("auxmc, constrained HMC", _generalised_lambda, GENERALISED_LAMBDA),
        _program("auxmc, Riemannian ABC HMC", _generalised_lambda, RIEMANNIAN_LAMBDA),
        _program("auxmc, ABC HMC", _generalised_lambda, EUCLIDEAN_LAMBDA),
    ],
} | {
    f"generalised lambda, {size:,} observations": [Program("auxmc", partial(_sub_step, size))]
    for size in (1_000, 100_000)
}
UNITS = {RATE: "1/s", SUB_STEP: "microseconds"}
BENCHMARKS = {"constrained_hmc": Benchmark(PROBLEMS, UNITS, quick=["Lotka-Volterra"])}
