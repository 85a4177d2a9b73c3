"""Simulated tempering on a ladder of temperatures: estimators of the normaliser, crossing times, index draws."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from numpy.typing import NDArray
from scipy import stats
from scipy.special import logsumexp

from auxmc.diagnostics import tempered_evidence as evidence
from auxmc.driver.blocks import Sampler
from auxmc.driver.seeds import stream
from auxmc.kernels.base import Kernel
from auxmc.kernels.tempering.simulated_tempering import (
    INDEX_UPDATES,
    TemperingState,
    draw_categorical_index,
    draw_geometric_index,
    simulated_tempering,
)
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.numerics.array_types import FloatArray, NamedArrays
from auxmc.numerics.random import standard_normal
from auxmc.numerics.schedules import linear_schedule, sigmoidal_schedule
from auxmc_pipeline.chains import Chains, RunContext, run_chains
from experiments.tempering_illustration.model import TWO_MODES, base, joined
from experiments.tempering_illustration.settings import INDEX_SLOPE, LEAST_EXPECTED, Settings

# So few updates of a chain that many have not been at the target's end of the ladder yet.
_SHORT = 5
# Pilot chains are run without weights where log Z is one of these.
_PILOT_LOG_Z = (-5.0, 5.0)
_DELTAS = (-40.0, -3.0, 0.0, 3.0, 40.0)
# Intervals of ladders on which operations of index draws are counted: so many that what does not grow is small.
_COUNTED = (1000, 100_000)


def run_ladder(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs the chains and measures them; returns groups `statistics` and `curves`."""
    chains = _chains(settings, context, "simulated_tempering", settings.n_draws)
    # As many updates as intervals.
    pilots = _chains(settings, context, "pilot", settings.n_ladder, [-log_z for log_z in _PILOT_LOG_Z])
    pilot_errors = _unvisited_errors(pilots.draws, settings.n_ladder)
    passages = {update: _passages(settings, context, update) for update in INDEX_UPDATES}
    p_values = _index_draws(settings, context)
    true_sum, printed, corrected = geometric_sums(0.5, 2)
    variables = {
        "geometric_sum": true_sum,
        "geometric_sum_printed": printed,
        "geometric_sum_corrected": corrected,
        "index_p_value": (("delta", "index_draw"), p_values),
        "index_operations": (("index_draw", "n_counted"), index_operations()),
        "pilot_error": (("log_z", "chain"), pilot_errors, {"units": "nats"}),
    }
    coords = {"delta": list(_DELTAS), "index_draw": ["closed form", "list"], "n_counted": list(_COUNTED)}
    coords |= {"log_z": list(_PILOT_LOG_Z), "chain": np.arange(settings.n_chains)}
    checks = xr.Dataset(variables, coords=coords)
    return {"statistics": xr.merge([_estimators(settings, chains), _crossings(settings, passages), checks])}


def run_weights(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Squared errors [estimator, function, chain] by simulated tempering with three kinds of weights.

    The "integrated" estimator is equation 5.57, with the probability of the target's end given the position;
    "naive" is 5.56; "optimal" combines estimates at each temperature by their effective sizes, 5.54 and 5.55.
    Functions are the position, and whether it is negative.
    """
    ladder = sigmoidal_schedule(settings.n_ladder)
    chains = _chains(settings, context, "weights", settings.n_draws)
    draws = {name: array[0] for name, array in chains.draws.items()}
    exact = np.array([TWO_MODES.mean, TWO_MODES.mass_below(0.0)])
    error = np.empty((3, 2, len(draws["index"])))
    for chain, index in enumerate(draws["index"]):
        position = draws["position"][chain]
        functions = np.stack([position, position < 0.0], axis=1)
        naive = -(1.0 - ladder[index]) * draws["delta"][chain]
        estimates = [
            evidence.weighted_moments(draws["log_target_weight"][chain], functions).mean,
            evidence.weighted_moments(naive, functions).mean,
            evidence.importance_tempering(naive, index, functions),
        ]
        error[:, :, chain] = (np.stack(estimates) - exact) ** 2
    coords = {
        "estimator": ["integrated", "naive", "optimal"],
        "function": ["position", "negative position"],
        "chain": np.arange(error.shape[-1]),
    }
    return {"statistics": xr.Dataset({"squared_error": (tuple(coords), error)}, coords=coords)}


def geometric_sums(ratio: float, n_intervals: int) -> tuple[float, float, float]:
    """Sum of ratio^k over k = 0 to K, what the printed closed form of equation 2.68 gives for it, and the right one.

    >>> geometric_sums(0.5, 2)
    (1.75, 1.5, 1.75)
    """
    true_sum = sum(ratio**k for k in range(n_intervals + 1))
    printed = 1.0 + ratio**n_intervals / (1.0 - ratio)
    return true_sum, printed, (1.0 - ratio ** (n_intervals + 1)) / (1.0 - ratio)


def index_operations() -> list[list[int]]:
    """Numbers that the operations of one draw of an index make, by the closed form and from the list [way, K]."""
    one = jnp.ones(())
    counts = []
    for n_intervals in _COUNTED:
        ladder = jnp.asarray(linear_schedule(n_intervals))
        ways = (
            lambda uniform, delta, n=n_intervals: draw_geometric_index(uniform, delta, n, INDEX_SLOPE),
            lambda uniform, delta, b=ladder: draw_categorical_index(uniform, -b * (delta - INDEX_SLOPE)),
        )
        counts.append([_numbers_made(jax.make_jaxpr(way)(one, one).jaxpr) for way in ways])
    return np.transpose(counts).tolist()


def _numbers_made(program: Any) -> int:
    total = 0
    for operation in program.eqns:
        inner = [part.jaxpr for part in operation.params.values() if hasattr(part, "jaxpr")]
        total += sum(map(_numbers_made, inner)) if inner else sum(out.aval.size for out in operation.outvars)
    return total


def crossing_times(indices: NDArray[np.integer[Any]], last: int) -> tuple[int, int]:
    """Updates until the last crossing between both ends of a ladder, and crossings, from index 0 on [draw].

    >>> crossing_times(np.array([1, 2, 1, 0, 0, 1]), 2)
    (4, 2)
    """
    aim, n_crossings, n_updates = last, 0, 0
    at_ends = np.flatnonzero((indices == 0) | (indices == last))
    for place in at_ends:
        if indices[place] == aim:
            n_crossings, n_updates = n_crossings + 1, int(place) + 1
            aim = last - aim
    return n_updates, n_crossings


def _chains(
    settings: Settings, context: RunContext, name: str, n_draws: int, log_zetas: Sequence[float] = (0.0,)
) -> Chains:
    """Chains with w_k = 0 for each log zeta; the log normaliser of the target over zeta is minus log zeta."""

    def build(parameters: Any) -> Kernel:
        ladder = sigmoidal_schedule(settings.n_ladder)
        # The name of the swept number keeps the published random numbers.
        return simulated_tempering(joined(parameters["target"]), ladder, settings.step_size, settings.n_steps)

    def initial(key: Array, parameters: Any) -> TemperingState:
        start = base().draw(standard_normal(jax.random.fold_in(key, 0), (1,)))
        return build(parameters).init(start, key=jax.random.fold_in(key, 1))

    def record(state: TemperingState, info: Any) -> dict[str, Array]:
        return {
            "index": state.index,
            "position": state.position[0],
            "delta": state.delta,
            "log_target_weight": state.log_target_weight,
            "log_base_weight": state.log_base_weight,
            "n_not_finite": info.n_not_finite,
        }

    sampler = Sampler(build, initial, record)
    return run_chains(context, (name,), sampler, settings, n_draws=n_draws, sweep={"target": log_zetas})


def _passages(settings: Settings, context: RunContext, update: str) -> Chains:
    """Chains on flat ladders of several lengths in one program.

    All have the length of the longest; weights of indices past a ladder's own end are zero, so that a
    proposal to go there is rejected. This has the same distribution as the only proposal being the way back.
    """
    longest = max(settings.passage_intervals)
    standard = gaussian_base(jnp.zeros(1), jnp.ones(1))
    flat = bridge(lambda x: -0.5 * jnp.sum(x**2) - 0.5 * jnp.log(2.0 * jnp.pi), standard)

    def build(parameters: Any) -> Any:
        inside = jnp.arange(longest + 1, dtype=float) <= parameters["n_intervals"]
        log_weights = jnp.where(inside, 0.0, -jnp.inf)
        return simulated_tempering(
            flat, linear_schedule(longest), 1.0, 1, index_update=update, log_weights=log_weights
        )

    def initial(key: Array, parameters: Any) -> TemperingState:
        return build(parameters).init(jnp.zeros(1), key=key)

    return run_chains(
        context,
        ("passage", update),
        Sampler(build, initial, lambda state, info: {"index": state.index.astype(jnp.int16)}),
        settings,
        n_draws=settings.n_passage_draws,
        n_chains=settings.n_passage_chains or max(2, settings.n_chains // 2),
        sweep={"n_intervals": settings.passage_intervals},
    )


def _estimators(settings: Settings, chains: Chains) -> xr.Dataset:
    """Estimates of log Z = 0 of each chain, from counts of visits and from conditional probabilities."""
    draws = {name: array[0] for name, array in chains.draws.items()}
    index, target, reference = draws["index"], draws["log_target_weight"], draws["log_base_weight"]
    visits = np.stack([(index == end).sum(axis=1) for end in (settings.n_ladder, 0)]).astype(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        counts = np.where(visits.min(axis=0) > 0.0, np.log(visits[0] / visits[1]), np.nan)
    conditional = logsumexp(target, axis=1) - logsumexp(reference, axis=1)
    early = _unvisited_errors({name: array[:, :_SHORT] for name, array in draws.items()}, settings.n_ladder)
    variables: dict[str, Any] = {
        "log_normaliser_counts": ("chain", counts, {"units": "nats"}),
        "log_normaliser_conditional": ("chain", conditional, {"units": "nats"}),
        "log_normaliser": ((), evidence.log_evidence(target, reference), {"units": "nats"}),
        "log_normaliser_error": ((), evidence.log_evidence_error(target, reference), {"units": "nats"}),
        "n_unvisited": ((), np.isfinite(early).sum(), {"units": "chains"}),
        "log_normaliser_unvisited": ("chain", early, {"units": "nats"}),
        "n_not_finite": ("chain", draws["n_not_finite"].sum(axis=1, dtype=int), {"units": "trajectories"}),
    }
    return xr.Dataset(variables, coords={"chain": np.arange(len(index))})


def _unvisited_errors(draws: NamedArrays, last: int) -> FloatArray:
    """Errors of log Z by chains that have not been at both ends [..., chain], whose draws these are; NaN for others."""
    index = draws["index"]
    ends = [logsumexp(draws[f"log_{name}_weight"], axis=-1) for name in ("target", "base")]
    both = (index == last).any(axis=-1) & (index == 0).any(axis=-1)
    # Weights have zeta back, so that all are of the target itself, with log Z = 0.
    return np.where(both, np.nan, ends[0] - ends[1])


def _crossings(settings: Settings, passages: dict[str, Chains]) -> xr.Dataset:
    """Mean updates of a crossing, its error over chains, and the exponent of its growth with the ladder's length."""
    lengths = np.array(settings.passage_intervals)
    shape = (len(passages), lengths.size)
    mean, error = np.full(shape, np.nan), np.full(shape, np.nan)
    for row, chains in enumerate(passages.values()):
        for column, last in enumerate(lengths):
            found = np.array([crossing_times(c, int(last)) for c in chains.draws["index"][column]], float)
            updates, crossings = found.T
            if crossings.sum() > 0.0:
                mean[row, column] = updates.sum() / crossings.sum()
                residual = updates - mean[row, column] * crossings
                error[row, column] = residual.std(ddof=1) * np.sqrt(len(found)) / crossings.sum()
    centred = np.log(lengths) - np.log(lengths).mean()
    slopes = np.log(mean) @ centred / np.sum(centred**2)
    slope_errors = np.sqrt((error / mean) ** 2 @ (centred / np.sum(centred**2)) ** 2)
    variables: dict[str, Any] = {
        "crossing_updates": (("index_update", "n_intervals"), mean, {"units": "updates"}),
        "crossing_updates_error": (("index_update", "n_intervals"), error, {"units": "updates"}),
        "crossing_exponent": ("index_update", slopes),
        "crossing_exponent_error": ("index_update", slope_errors),
    }
    return xr.Dataset(variables, coords={"index_update": list(passages), "n_intervals": lengths})


def _index_draws(settings: Settings, context: RunContext) -> FloatArray:
    """P-values of chi-squared tests [energy difference, way to draw an index]."""
    ladder = linear_schedule(settings.n_ladder)
    key = stream(context.seed, context.study, "index draws")

    def draws(key: Array, delta: Array) -> tuple[Array, Array]:
        uniforms = jax.random.uniform(key, (2, settings.n_index_draws))
        logits = -jnp.asarray(ladder) * (delta - INDEX_SLOPE)
        closed = jax.vmap(lambda u: draw_geometric_index(u, delta, settings.n_ladder, INDEX_SLOPE))
        listed = jax.vmap(lambda u: draw_categorical_index(u, logits))
        return closed(uniforms[0]), listed(uniforms[1])

    program = jax.jit(draws)
    p_values = []
    for i, delta in enumerate(_DELTAS):
        logits = -ladder * (delta - INDEX_SLOPE)
        expected = settings.n_index_draws * np.exp(logits - logsumexp(logits))
        drawn = program(jax.random.fold_in(key, i), jnp.asarray(delta))
        counts = [np.bincount(np.asarray(indices), minlength=expected.size) for indices in drawn]
        p_values.append([_chi_squared(of_one_way, expected) for of_one_way in counts])
    return np.array(p_values)


def _chi_squared(counts: NDArray[np.integer[Any]], expected: FloatArray) -> float:
    """P-value; categories with few expected draws are put together."""
    rare = expected < LEAST_EXPECTED
    observed, wanted = counts[~rare].astype(float), expected[~rare]
    if rare.any():
        observed, wanted = (np.append(observed, counts[rare].sum()), np.append(wanted, expected[rare].sum()))
    return float(stats.chisquare(observed, wanted).pvalue)
