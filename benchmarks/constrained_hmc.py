"""Constrained HMC next to Mici, and next to NumPyro's NUTS on the posterior of the parameters alone.

Lotka-Volterra and generalised lambda, published data, chains from a point in the bulk of the posterior: the smallest
bulk effective sample size over the four parameters, summed over chains, for each second of sampling; compilation and
warm-up are not counted. "Published" is with constraint, step size, steps and inner steps of the thesis;
"teacher-forced" is another constraint of the same Lotka-Volterra manifold. Mici runs with its JAX backend and a dense
Jacobian, which is what it has for such constraints. NUTS runs where the inputs of the data have been integrated out by
hand, which few simulators allow. Then the time of one integrator step with growing data.
"""

from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.models.conditioned import ConditionedModel
from benchmarks.harness import Benchmark, Program, Run, compiled, smallest_ess, timed
from experiments.generalised_lambda.model import fibre as generalised_lambda_fibre
from experiments.generalised_lambda.model import generator as generalised_lambda
from experiments.generalised_lambda.model.exact import log_posterior as collapsed_generalised_lambda
from experiments.lotka_volterra.model import generator as lotka_volterra
from experiments.lotka_volterra.model.conditioning import conditioned_model as condition_lotka_volterra

N_PARAMETERS = 4
SIZES = (1_000, 100_000)
RATE, SUB_STEP = "ESS per CPU second", "CPU time of a geodesic sub-step"


class Settings(NamedTuple):
    """Step size, smallest and largest number of steps, inner steps, projection solver, chains in one program."""

    step_size: float
    n_steps: tuple[int, int]
    n_inner_steps: int
    solver: str = "quasi_newton"
    n_chains: int = 1

    def text(self) -> str:
        """The settings for a table."""
        low, high = self.n_steps
        steps = f"{low}" if low == high else f"{low} to {high}"
        side_by_side = f", {self.n_chains} chains side by side" if self.n_chains > 1 else ""
        return f"step {self.step_size:g}, {steps} of them, {self.n_inner_steps} inner, {self.solver}{side_by_side}"


class Target(NamedTuple):
    """A conditioned model, a start in the bulk of its posterior, and its four parameters alone.

    Attributes:
        model: of all inputs.
        start: returns inputs.
        coordinates: maps inputs to the parameters of `collapsed` [4].
        collapsed: their log posterior density, in nats.
    """

    model: ConditionedModel
    start: Callable[[], Array]
    coordinates: Callable[[Array], Array]
    collapsed: Callable[[Array], Array]


LOTKA_VOLTERRA, GENERALISED_LAMBDA = Settings(0.25, (4, 8), 3), Settings(0.6, (5, 10), 4)


def _lotka_volterra(constraint: Any) -> Target:
    model = lotka_volterra.published_model()

    def collapsed(u: Array) -> Array:
        return -0.5 * jnp.sum(u**2) - 0.5 * jnp.sum(lotka_volterra.noise_inputs(model, u) ** 2)

    @cache
    def start() -> Array:
        forced = condition_lotka_volterra(model, "teacher_forced")
        return _warmed(forced, lotka_volterra.initial_inputs(model, jax.random.key(0)), LOTKA_VOLTERRA, 100)

    conditioned = condition_lotka_volterra(model, constraint)
    return Target(conditioned, start, lambda inputs: inputs[:N_PARAMETERS], collapsed)


def _generalised_lambda() -> Target:
    model = generalised_lambda.generalised_lambda_model(generalised_lambda.published_observations())
    conditioned = generalised_lambda.conditioned_model(model)

    @cache
    def start() -> Array:
        first = generalised_lambda_fibre.initial_inputs(jax.random.key(3), model).inputs
        return _warmed(conditioned, first, Settings(0.05, (2, 2), 4), 300)

    def coordinates(inputs: Array) -> Array:
        z = generalised_lambda.parameters(inputs[:N_PARAMETERS], model.prior)
        return z.at[1].set(jnp.log(z[1]))

    return Target(conditioned, start, coordinates, collapsed_generalised_lambda(model, "exact"))


def _lotka_volterra_programs(quick: bool) -> Sequence[Program]:
    published, best = LOTKA_VOLTERRA, Settings(1.05, (2, 2), 1, "newton")
    generator, forced = _lotka_volterra("generator"), _lotka_volterra("teacher_forced")
    return [
        _ours("auxmc, best found, teacher-forced", forced, best._replace(n_chains=4), 1000),
        _ours("auxmc, the same, one chain", forced, best, 1000),
        _ours("auxmc, published, teacher-forced", forced, published, 1000),
        _ours("auxmc, published", generator, published, 200 if quick else 1000),
        _mici("Mici, best found, teacher-forced", forced, best, 100 if quick else 400),
        _mici("Mici, published", generator, published, 40 if quick else 200),
        _mici("Mici, dynamic trajectories", generator, published, 40 if quick else 200, dynamic=True),
        _nuts(generator, 1000),
    ]


def _generalised_lambda_programs(quick: bool) -> Sequence[Program]:
    published, best, target = GENERALISED_LAMBDA, Settings(0.6, (3, 5), 1, "newton"), _generalised_lambda()
    return [
        _ours("auxmc, best found", target, best, 1000),
        _ours("auxmc, published", target, published, 1000),
        _mici("Mici, best found", target, best, 200),
        _mici("Mici, published", target, published, 200),
        _mici("Mici, dynamic trajectories", target, published, 200, dynamic=True),
        _nuts(target, 1000),
    ]


def _kernel(model: ConditionedModel, settings: Settings, dim: int) -> Any:
    steps, solver = settings.n_steps, ProjectionSettings(settings.solver)
    inner = settings.n_inner_steps
    return constrained_hmc(model, settings.step_size, steps, dim, n_inner_steps=inner, projection=solver)


def _chain(model: ConditionedModel, settings: Settings, n: int) -> Callable[[Array, Array], Any]:
    def run(key: Array, start: Array) -> Any:
        kernel = _kernel(model, settings, start.shape[0])

        def one(state: Any, key: Array) -> Any:
            state, _ = kernel.step(key, state)
            return state, state.position[:N_PARAMETERS]

        end, kept = jax.lax.scan(one, kernel.init(start), jax.random.split(key, n))
        return end.position, kept

    return run


def _warmed(model: ConditionedModel, start: Array, settings: Settings, n: int) -> Array:
    return jax.jit(_chain(model, settings, n))(jax.random.key(7), start)[0]


def _rate(chains: Any, cpu_s: float) -> dict[str, float]:
    """Of chains [chain, draw, dim], each of which is worth what it is worth alone."""
    return {RATE: sum(smallest_ess(draws) for draws in chains) / cpu_s}


def _ours(name: str, target: Target, settings: Settings, n: int) -> Program:
    def prepare() -> Run:
        def keys(i: int) -> Array:
            return jax.random.split(jax.random.key(i), settings.n_chains)

        starts, chain = jnp.tile(target.start(), (settings.n_chains, 1)), _chain(target.model, settings, n)
        # A single chain is not batched, which would turn each branch into both.
        batch = settings.n_chains if settings.n_chains > 1 else None
        program = compiled(
            lambda *stacks: jax.lax.map(lambda one: chain(*one), stacks, batch_size=batch), keys(0), starts
        )

        def run(i: int) -> dict[str, float]:
            (_, draws), cpu_s, _ = timed(program, keys(i), starts)
            return _rate(draws, cpu_s)

        return run

    return Program(name, prepare, settings.text())


def _mici(name: str, target: Target, settings: Settings, n: int, dynamic: bool = False) -> Program:
    """The same model in Mici; dynamic trajectories have a step size adapted in as many iterations as follow."""

    def prepare() -> Run:
        import mici

        system = mici.systems.DenseConstrainedEuclideanMetricSystem(
            lambda q: -target.model.log_prior(q),
            target.model.constraint,
            dens_wrt_hausdorff=False,
            backend="jax",
        )
        newton = settings.solver == "newton" and not dynamic
        solver = f"solve_projection_onto_manifold_{'newton' if newton else 'quasi_newton'}"
        integrator = mici.integrators.ConstrainedLeapfrogIntegrator(
            system,
            step_size=settings.step_size,
            n_inner_step=settings.n_inner_steps,
            projection_solver=getattr(mici.solvers, solver),
        )
        options: dict[str, Any] = {"display_progress": False, "n_worker": 1}
        starts = [np.array(target.start())]

        def sampler(seed: int) -> Any:
            random = np.random.default_rng(seed)
            if dynamic:
                return mici.samplers.DynamicMultinomialHMC(system, integrator, random)
            low, high = settings.n_steps
            # Mici draws below the upper bound, whatever its documentation says.
            return mici.samplers.RandomMetropolisHMC(system, integrator, random, n_step_range=(low, high + 1))

        # Compiles, and finds the step size of dynamic trajectories, which the integrator keeps.
        adapters = [mici.adapters.DualAveragingStepSizeAdapter(0.8)] if dynamic else []
        sampler(0).sample_chains(n if dynamic else 5, 1, starts, adapters=adapters, **options)

        def run(i: int) -> dict[str, float]:
            cost = timed(partial(sampler(i).sample_chains, 0, n, starts, trace_funcs=[_trace], **options))
            return _rate(cost.value.traces["parameters"], cost.cpu_s)

        return run

    text = f"step adapted, {settings.n_inner_steps} inner" if dynamic else settings.text()
    return Program(name, prepare, text, "mici")


def _trace(state: Any) -> dict[str, Any]:
    return {"parameters": state.pos[:N_PARAMETERS]}


def _nuts(target: Target, n: int) -> Program:
    def prepare() -> Run:
        from numpyro.infer import MCMC, NUTS

        nuts = NUTS(potential_fn=lambda u: -target.collapsed(u))
        warm_up = MCMC(nuts, num_warmup=500, num_samples=1, progress_bar=False)
        warm_up.warmup(jax.random.key(0), init_params=target.coordinates(target.start()))

        def chain(key: Array, state: Any) -> Any:
            def one(state: Any, _: None) -> Any:
                state = nuts.sample(state, (), {})
                return state, state.z

            return jax.lax.scan(one, state._replace(rng_key=key), None, length=n)[1]

        # In a loop of its own: `MCMC.run` would be traced again at every call.
        program = compiled(chain, jax.random.key(0), warm_up.last_state)

        def run(i: int) -> dict[str, float]:
            draws, cpu_s, _ = timed(program, jax.random.key(i), warm_up.last_state)
            return _rate([draws], cpu_s)

        return run

    return Program("NumPyro, NUTS, inputs integrated out by hand", prepare, "adapted", "numpyro")


def _sub_steps(size: int, quick: bool) -> Sequence[Program]:
    def prepare() -> Run:
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

    return [Program("auxmc", prepare, "5 steps, 1 inner, newton; reversibility checked")]


BENCHMARK = Benchmark(
    problems={
        "Lotka-Volterra": _lotka_volterra_programs,
        "generalised lambda": _generalised_lambda_programs,
    }
    | {f"generalised lambda, {size:,} observations": partial(_sub_steps, size) for size in SIZES},
    units={RATE: "1/s", SUB_STEP: "microseconds"},
    quick=["Lotka-Volterra"],
)
