"""Statements about constrained HMC and rejection that hold by algebra, checked with numbers."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from jax.scipy.special import ndtr

from auxmc.driver.seeds import stream
from auxmc.kernels.manifold.constrained_hmc import (
    Phase,
    constrained_step,
    evaluate_state,
    hamiltonian,
    no_errors,
    project_momentum,
)
from auxmc.kernels.manifold.projection import ProjectionSettings
from auxmc.models.abc_kernels import log_cube_kernel
from auxmc.models.conditioned import ConditionedModel, condition_noisy_generator, noisy_input
from auxmc_pipeline.chains import RunContext
from experiments.generalised_lambda.model import generator as generalised_lambda
from experiments.generalised_lambda.model.fibre import initial_inputs
from experiments.lotka_volterra.model import conditioning as lotka_volterra_conditioning
from experiments.lotka_volterra.model import generator as lotka_volterra
from experiments.manifold_illustrations.model import hyperbola, log_prior
from experiments.manifold_illustrations.settings import Settings

_N_POINTS = 50
_N_DATA = 30
_N_INPUTS, _N_OUTPUTS = 4, 6
_ENERGY_STEPS, _ENERGY_STEP_SIZE, _ENERGY_TRAJECTORIES = 2000, 0.1, 20
_TOLERANCES = (0.1, 0.2, 0.3, 0.4)
_DIMENSIONS = (1, 2, 3)


def identities(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs design identities; returns `statistics`: errors of formulas and energies, singular values, rejection."""

    def key(name: str) -> Array:
        return stream(context.seed, context.study, "identities", name)

    parts = [
        _noisy_rank(key("rank"), settings.noise_scales),
        _potential_errors(key("potential")),
        _metric_error(key("metric"), settings.tolerance),
        _energy_errors(key("energy")),
        _rejection(key("rejection"), settings.n_simulations),
    ]
    return {"statistics": xr.merge(parts)}


def _network(key: Array) -> Callable[[Array], Array]:
    """A smooth generator with more outputs than inputs, so that its Jacobian cannot have full row rank."""
    into, out = jax.random.split(key)
    first = jax.random.normal(into, (_N_INPUTS, _N_INPUTS), dtype=jnp.float64)
    last = jax.random.normal(out, (_N_OUTPUTS, _N_INPUTS), dtype=jnp.float64)
    return lambda inputs: last @ jnp.tanh(first @ inputs)


def _noisy_rank(key: Array, noise_scales: list[float]) -> xr.Dataset:
    generate = _network(jax.random.fold_in(key, 0))
    points = jax.random.normal(jax.random.fold_in(key, 1), (_N_POINTS, _N_INPUTS), dtype=jnp.float64)
    matrices = np.asarray(jax.jit(jax.vmap(jax.jacfwd(generate)))(points))
    noise_free = np.linalg.svd(matrices @ matrices.swapaxes(1, 2), compute_uv=False)[:, -1]
    smallest = []
    for scale in noise_scales:
        noisy = np.concatenate([matrices, np.tile(scale * np.eye(_N_OUTPUTS), (_N_POINTS, 1, 1))], axis=2)
        smallest.append(np.linalg.svd(noisy, compute_uv=False)[:, -1].min() / scale)
    return xr.Dataset(
        {
            "noise_free_singular_value": ((), float(np.sqrt(noise_free.max()))),
            "noisy_singular_value_over_scale": ("noise", smallest),
        },
        coords={"noise": noise_scales},
    )


def _potential_errors(key: Array) -> xr.Dataset:
    """Potentials of structured Jacobians against dense algebra, and three forms of the gradient against each other."""
    observations = generalised_lambda.simulate_observations(20170628, _N_DATA)
    lambda_model = generalised_lambda.generalised_lambda_model(observations, 1.0, 1.0)
    lambda_point = jax.jit(lambda k: initial_inputs(k, lambda_model).inputs)(jax.random.fold_in(key, 0))
    populations = lotka_volterra.published_model()
    rates_point = lotka_volterra.initial_inputs(populations, jax.random.fold_in(key, 1))
    cases = {
        "diagonal": (generalised_lambda.conditioned_model(lambda_model), lambda_point),
        "markovian": (lotka_volterra_conditioning.conditioned_model(populations, "generator"), rates_point),
    }
    errors = np.array([_formula_errors(model, point) for model, point in cases.values()])
    names = [
        "potential_error",
        "gradient_error",
        "trace_formula_error",
        "printed_trace_ratio",
        "printed_vec_error",
    ]
    found = {name: ("structure", errors[:, i]) for i, name in enumerate(names)}
    return xr.Dataset(found, coords={"structure": list(cases)})


def _formula_errors(model: ConditionedModel, point: Array) -> list[float]:
    """Errors of potential, gradient and trace formula; equation 4.60 as printed, right over left, and error of 4.62."""
    jacobian = jax.jacfwd(model.constraint)

    def half_log_determinant(matrix: Array) -> Array:
        return 0.5 * jnp.linalg.slogdet(matrix @ matrix.T)[1]

    def compare(inputs: Array) -> tuple[Array, ...]:
        state = evaluate_state(model, inputs)
        log_density, by_prior = jax.value_and_grad(model.log_prior)(inputs)
        matrix, pull_back = jax.vjp(jacobian, inputs)
        value, cotangent = jax.value_and_grad(half_log_determinant)(matrix)
        gram = matrix @ matrix.T
        # Derivatives of the half log-determinant, by autodiff, by the trace formula and by equation 4.62 as printed,
        # whose two vec stack elements in different orders; in one pass back.
        by_gram = jnp.linalg.solve(gram, matrix)
        by_vec = by_gram.reshape(matrix.T.shape).T
        left, by_trace, printed_vec = jax.vmap(pull_back)(jnp.stack([cotangent, by_gram, by_vec]))[0]
        # A structured Jacobian may use that the constraint holds: only the part along the manifold counts.
        tangents = [project_momentum(state.jacobian, g) for g in (state.gradient, left - by_prior)]
        slope = jax.jvp(jacobian, (inputs,), (left,))[1] @ matrix.T  # Equation 4.60 as printed
        printed = jnp.trace(jnp.linalg.solve(gram, slope + slope.T))
        return (
            jnp.abs(state.potential / (value - log_density) - 1.0),
            _relative(tangents[0], tangents[1]),
            _relative(by_trace - by_prior, left - by_prior),
            printed / jnp.sum(jnp.square(left)),
            _relative(printed_vec, left),
        )

    return [float(error) for error in jax.jit(compare)(point)]


def _metric_error(key: Array, tolerance: float) -> xr.Dataset:
    """Metric J^T J / eps^2 + I against the Hessian of the potential at points that generate their data."""
    generate = _network(jax.random.fold_in(key, 0))
    points = jax.random.normal(jax.random.fold_in(key, 1), (_N_POINTS, _N_INPUTS), dtype=jnp.float64)

    def error(point: Array) -> Array:
        observed = generate(point)

        def potential(inputs: Array) -> Array:
            misfit = (generate(inputs) - observed) / tolerance
            return 0.5 * jnp.sum(jnp.square(misfit)) - log_prior(inputs)

        matrix = jax.jacfwd(generate)(point)
        metric = matrix.T @ matrix / tolerance**2 + jnp.eye(_N_INPUTS)
        return _relative(metric, jax.hessian(potential)(point))

    return xr.Dataset({"metric_error": ((), float(jax.jit(jax.vmap(error))(points).max()))})


def _energy_errors(key: Array) -> xr.Dataset:
    """Largest energy error in the second half of long trajectories over that in the first half."""
    observed, scale = jnp.ones(1), 0.5
    model = condition_noisy_generator(hyperbola, log_prior, observed, scale)
    start = noisy_input(hyperbola, jnp.array([1.0, 0.0]), observed, scale)

    def trajectory(normal: Array) -> tuple[Array, Array]:
        state = evaluate_state(model, start)
        begin = Phase(state, project_momentum(state.jacobian, normal), jnp.ones((), bool), no_errors())

        def step(phase: Phase, _: None) -> tuple[Phase, Array]:
            projection, check = ProjectionSettings(), "position_and_constraint"
            new = constrained_step(model, phase, _ENERGY_STEP_SIZE, 1, projection, check)
            return new, jnp.abs(hamiltonian(new) - hamiltonian(begin))

        end, errors = jax.lax.scan(step, begin, None, length=_ENERGY_STEPS)
        return errors, end.ok

    normals = jax.random.normal(key, (_ENERGY_TRAJECTORIES, 3), dtype=jnp.float64)
    errors, ok = (np.asarray(a) for a in jax.jit(lambda n: jax.lax.map(trajectory, n))(normals))
    halves = np.split(errors[ok], 2, axis=1)
    return xr.Dataset(
        {
            "energy_error_growth": ("trajectory", halves[1].max(axis=1) / halves[0].max(axis=1)),
            "largest_energy_error": ("trajectory", errors[ok].max(axis=1), {"units": "nats"}),
            "n_failures": ((), float((~ok).sum())),
        }
    )


def _rejection(key: Array, n_simulations: int) -> xr.Dataset:
    """Acceptance rates of rejection with a cube kernel, for standard normal simulators and data at the origin."""

    def counts(key: Array, dim: int) -> Array:
        simulated = jax.random.normal(key, (n_simulations, dim), dtype=jnp.float64)

        def accepted(tolerance: Array) -> Array:
            logs = jax.vmap(lambda x: log_cube_kernel(x, tolerance))(simulated)
            return jnp.sum(logs > -jnp.inf)

        return jax.lax.map(accepted, jnp.asarray(_TOLERANCES))

    run: Any = jax.jit(counts, static_argnums=1)
    found = np.array([run(jax.random.fold_in(key, n), n) for n in _DIMENSIONS], dtype=float)
    inside = 2.0 * ndtr(np.asarray(_TOLERANCES)) - 1.0
    exact = np.asarray(inside)[None, :] ** np.asarray(_DIMENSIONS)[:, None]
    dims = ("dimension", "rejection_tolerance")
    return xr.Dataset(
        {"rejection_accept_rate": (dims, found / n_simulations), "rejection_exact_rate": (dims, exact)},
        coords={"dimension": list(_DIMENSIONS), "rejection_tolerance": list(_TOLERANCES)},
    )


def _relative(value: Array, reference: Array) -> Array:
    return jnp.max(jnp.abs(value - reference)) / jnp.max(jnp.abs(reference))
