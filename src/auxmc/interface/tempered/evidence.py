"""Evidence of a model, and draws of it across its modes, by annealed runs or tempered chains from a base."""

import hashlib
import json
import math
import pathlib
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from io import StringIO
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array

from auxmc.diagnostics.errors_of_means import few_replicates
from auxmc.diagnostics.tempered_evidence import Evidence, annealed_evidence, log_evidence, log_evidence_error
from auxmc.driver.files import checked_arrays, write_arrays
from auxmc.driver.progress import Progress
from auxmc.driver.seeds import generator_of, stream
from auxmc.errors import DamagedFile
from auxmc.interface.advice import Advice, issue
from auxmc.interface.arguments import check_integer, check_positive, checkpoint_folder
from auxmc.interface.checks.densities import NOT_FALLING
from auxmc.interface.checks.jumps import advise_jumps
from auxmc.interface.checks.normalisation import advise_constant
from auxmc.interface.densities import Density, density
from auxmc.interface.executors import on_workers
from auxmc.interface.methods import LogDensity, Method
from auxmc.interface.running import one_linear_algebra_thread, same_run
from auxmc.interface.sampling import RunOptions, run_method
from auxmc.interface.tempered import CHAINS, METHODS
from auxmc.interface.tempered.advice import advise_chains, advise_evidence, few_runs, not_reached
from auxmc.interface.tempered.annealing import N_RUNS, Annealed, Path, anneal, bridge_to, fraction_of_step
from auxmc.interface.tempered.bases import Base, Gaussian, find_base, starts_inside
from auxmc.interface.tempered.mixture import Mixture
from auxmc.interface.trees import dataset_of, library_attributes
from auxmc.kernels.base import Kernel, check_choice
from auxmc.kernels.tempering import continuous_tempering
from auxmc.kernels.tempering.simulated_tempering import simulated_tempering
from auxmc.kernels.tempering.tempered_move import check_settings
from auxmc.numerics.programs import at_points
from auxmc.numerics.values import by_value

# Of a chain's time, at the base and at the target each.
_FRACTION_AT_ENDS = 0.1
# At the target, after which copies of a state differ.
_UPDATES = 20


@by_value
class TemperedEvidence(NamedTuple):
    """An evidence, and the posterior that comes with it.

    Attributes:
        log_evidence: log of the integral of the unnormalised density, in nats.
        standard_error: in nats; NaN where too few runs or chains count to know it.
        posterior: ArviZ tree of draws across all modes, resampled by their weights and moved by updates that leave the
            target invariant, so that no two are equal. Proportions of modes are as uncertain as the evidence.
        chains: ArviZ tree of the annealed runs or the tempered chains, with their weights.
        base: the base, and what the exploring runs found.
        warnings: why the estimate must not be trusted as it is; empty where nothing is known against it.
    """

    log_evidence: float
    standard_error: float
    posterior: xr.DataTree
    chains: xr.DataTree
    base: Base
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """The estimate with its error, and the modes that it covers."""
        return f"log evidence {self.log_evidence:.3f} +- {self.standard_error:.3f} nats{self.base.modes()}"


def evidence(
    log_density: Callable[[Any], Array] | Density,
    start: Any = None,
    *,
    base: str | Gaussian = "automatic",
    method: str = "annealed_importance",
    draws: int = 2000,
    warm_up: int = 500,
    chains: int = 16,
    n_steps: int = 10,
    seed: int = 0,
    cores: int | None = None,
    executor: Executor | str | None = None,
    checkpoint: str | pathlib.Path | None = None,
    progress: bool = True,
    checks: str = "basic",
    tolerance: float | None = None,
    max_draws: int = 65536,
) -> TemperedEvidence:
    """Log evidence of a density with its standard error, and draws from all modes found.

    Exploring runs start from draws of the prior, or from Gaussians of several widths around the start where the model
    has no prior. A mixture of Student-t components is fitted to the regions of high density that they reach, and
    further annealed runs improve it. The estimate is the mean weight of independent annealed runs from this base, or
    comes from tempered chains. Modes that no exploring run reaches are missing. A model is compiled once, with the data
    that it holds: make another where they change.

    Args:
        log_density: maps the variables, a pytree like `start`, to the log of the unnormalised density, in nats: log
            likelihood plus normalised log prior. Written with `jax.numpy`, differentiable where it is finite. Or a
            model made by `auxmc.density`, which takes a prior, bounds and periodic variables, `auxmc.from_numpyro` or
            `auxmc.from_pymc`.
        start: variables where the density is positive; a model has its own, and another may be given.
        base: "automatic", "advi", "laplace", or `auxmc.gaussian(mean, scale)`.
        method: one of METHODS. "annealed_importance" (default) has independent runs and a mixture as base; the others
            are the chains of the thesis, whose base has one component.
        draws: annealed runs, rounded up to a multiple of 128, or iterations of each chain; also draws of the posterior.
        warm_up: iterations of each chain before these, which adapt the step size; annealed runs need none.
        chains: independent chains, whose spread gives the error; annealed runs are independent themselves.
        n_steps: leapfrog steps of an update.
        seed: of all random numbers.
        cores: runs or chains computed at the same time; all cores by default.
        executor: as for `auxmc.sample`.
        checkpoint: as for `auxmc.sample`.
        progress: as for `auxmc.sample`.
        checks: "basic" examines the density and the result; "full" also looks for jumps between draws; "off" does
            neither, and states an error where too few runs count to know it.
        tolerance: standard error, in nats, at which annealed runs end; `draws` then counts draws of the posterior
            alone. The error is looked at after 1024 runs and whenever their number has doubled, and is wide enough for
            two of it to hold at all of these looks together (Bonferroni).
        max_draws: annealed runs at most with a tolerance; a warning says where it is not reached.

    Raises:
        TypeError: If the log density cannot be traced, or `checkpoint` or `executor` has a wrong type.
        ValueError: If it is not finite at the start, there is no start, no base is found, the density does not fall in
            some direction, a number is out of range, or the checkpoint holds another run.

    Warns:
        SamplingWarning: If the estimate must not be trusted as it is; says why and what to do.

    Source: PhD thesis, Algorithms 7, 14 and 15, Eqs. 5.33 to 5.36; Neal 2001, "Annealed importance sampling".
    """
    check_choice("method", method, METHODS)
    check_integer("chains", chains, 2, "their spread is the error")
    folder = checkpoint_folder(checkpoint)
    options = RunOptions(draws, warm_up, chains, seed, cores, executor, folder, progress, checks)
    check_settings(n_steps, 1.0, "drift_kick_drift")
    if tolerance is not None:
        check_positive("tolerance", tolerance)
        if method in CHAINS:
            raise ValueError('tolerance: expected method="annealed_importance", whose runs are independent')
    check_integer("max_draws", max_draws, 1)
    model = density(log_density, start, checks=checks)
    improper = [text for text in model.warnings if NOT_FALLING in text]
    if improper and model.draw_prior is None:
        raise ValueError(improper[0])
    with one_linear_algebra_thread():
        return _estimated(model, base, method, n_steps, options, tolerance, max_draws)


def _estimated(
    model: Density,
    base: str | Gaussian,
    method: str,
    n_steps: int,
    options: RunOptions,
    tolerance: float | None,
    max_draws: int,
) -> TemperedEvidence:
    draws, seed = options.draws, options.seed
    reporter = Progress("evidence", file=None if options.progress else StringIO())
    one, key = method in CHAINS, stream(seed, "evidence", "base")
    found = find_base(model, base, key, n_steps, one_component=one, say=reporter.say)
    random = generator_of(stream(seed, "evidence", "runs"))
    looks = _looks(draws, tolerance, max_draws)
    advice: list[Advice] = []
    if one:
        _, *inside = starts_inside(model, found.mixture, random, looks[0] * N_RUNS)
        tree, _ = run_method(method_of(method, model, found, n_steps), None, options)
        stats = tree["sample_stats"]
        target, base_weight = (stats[name].to_numpy() for name in ("log_target_weight", "log_base_weight"))
        value = log_evidence(target, base_weight)
        error = log_evidence_error(target, base_weight) * few_replicates(options.chains)
        result, fraction = _with_support(Evidence(value, error), *inside)
        ends = stats["position"].to_numpy()
        tree["sample_stats"] = xr.DataTree(stats.to_dataset().drop_vars(["position"]))
    else:
        batches: list[Annealed] = []
        inside = [0, 0]
        for n in looks:
            new = range(len(batches), n)
            starts, *counts = starts_inside(model, found.mixture, random, len(new) * N_RUNS)
            inside = [a + b for a, b in zip(inside, counts, strict=True)]
            parts = zip(new, np.split(starts, len(new)), strict=True)
            batches += _run_batches(model, found, n_steps, [*parts], options, reporter)
            target = np.stack([batch.log_weights for batch in batches])
            with np.errstate(divide="ignore"):
                value, error = annealed_evidence(target)
            # One more, as the mean comes from all runs.
            error *= few_replicates(1.0 + _deciding_runs(target), len(looks))
            result, fraction = _with_support(Evidence(value, error), *inside)
            if tolerance is None or (result.standard_error <= tolerance and not [*few_runs(target)]):
                break
        else:
            advice = [not_reached(result, n * N_RUNS, tolerance or 0.0)]
        # A batch is called a chain.
        ends = np.stack([batch.ends for batch in batches])
        lp = np.stack([batch.log_densities for batch in batches])
        no_weight = np.zeros_like(target)
        tree = _tree(model, ends, {"log_target_weight": target, "log_base_weight": no_weight, "lp": lp})
        tree.attrs |= library_attributes() | {"method": method, "draws": draws, "seed": seed}
    ends, key = ends.reshape(target.size, -1), stream(seed, "evidence", "resampling")
    vectors = _target_draws(model, found, ends, target.ravel(), n_steps, key, draws)
    posterior = _posterior(model, vectors)
    value, error = result
    if options.checks != "off":
        advice += found.advice
        if model.log_prior is not None and model.draw_prior is not None:
            key = stream(seed, "evidence", "prior")
            advice += advise_constant(model.log_prior, model.draw_prior, model.layout.dim, key)
        advice += advise_chains(tree, found, result) if one else few_runs(target)
        advice += advise_evidence(model, vectors, found, result, fraction)
    if options.checks == "full":
        advice += advise_jumps(model.log_density, vectors, model.layout)
    if any(item.cause == "no error" for item in advice):
        error = math.nan
    texts = (*model.warnings, *issue(advice))
    tree.attrs["warnings"] = list(texts)
    posterior.attrs |= tree.attrs | {"log_evidence": value, "log_evidence_standard_error": error}
    return TemperedEvidence(value, error, posterior, tree, found, texts)


def _looks(draws: int, tolerance: float | None, max_draws: int) -> list[int]:
    """Batches of annealed runs at each look at their error [look]: first 8, then twice as many each time."""
    most = -(-(draws if tolerance is None else max_draws) // N_RUNS)
    before = [] if tolerance is None else [8 << k for k in range(most.bit_length())]
    return [*(n for n in before if n < most), most]


def _with_support(inside: Evidence, n_inside: int, n_tried: int) -> tuple[Evidence, float]:
    """The evidence, from that given the base's draws inside the support, and the fraction of these."""
    fraction = n_inside / n_tried
    fraction_error = math.sqrt(fraction * (1.0 - fraction) / n_tried)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = inside.value + float(np.log(fraction))
    error = math.hypot(inside.standard_error, fraction_error / fraction if fraction else math.inf)
    return Evidence(value, error), fraction


def _deciding_runs(log_weights: np.ndarray) -> float:
    """Runs, in effect, from which the variance of the weights is known; a few of the largest decide heavy tails."""
    with np.errstate(invalid="ignore"):
        weights = np.exp(log_weights - np.max(log_weights))
    squares = (weights - weights.mean()) ** 2
    total = float(np.sum(squares))
    return total**2 / float(np.sum(squares**2)) if total > 0.0 else float(weights.size)


def _run_batches(
    model: Density,
    base: Base,
    n_steps: int,
    starts: Sequence[tuple[int, np.ndarray]],
    options: RunOptions,
    reporter: Progress,
) -> list[Annealed]:
    """Batches of independent runs from a base along its path, from their numbers and starts; kept ones are read."""
    calls, done = [], list[int]()
    for i, start in starts:
        key = np.asarray(jax.random.key_data(stream(options.seed, "evidence", "run", str(i))))
        file = options.folder / f"runs{i:04d}.npz" if options.folder else None
        functions = model.log_density, model.log_prior
        calls.append((_run_batch, *functions, base.mixture, base.runs.path, n_steps, start, key, file))
    reporter.start(len(starts) * N_RUNS, 0, 0.0, "annealed runs")

    def told(number: int, result: Annealed) -> None:
        done.append(number)
        reporter.advance(len(done) * N_RUNS, 0.0)

    return on_workers(options.executor, calls, options.cores, told)


def _run_batch(
    target: LogDensity,
    prior: LogDensity | None,
    mixture: Mixture,
    path: Path,
    n_steps: int,
    start: Any,
    key: Any,
    file: pathlib.Path | None,
) -> Annealed:
    # Base and path follow from all that the model computes: they identify the run.
    parts = [*mixture, *path, start, key, np.asarray(n_steps)]
    identity = hashlib.sha256(b"".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()
    names = ("ends", "log_weights", "log_densities")
    if file is not None:
        same_run(file.parent, file, identity)
        with suppress(DamagedFile), checked_arrays(file) as saved:
            return Annealed(mixture, path, **{name: saved[name] for name in names})
    own = jax.random.wrap_key_data(jnp.asarray(key))
    found = anneal(target, mixture, start, own, n_steps, prior=prior, path=path)
    if file is not None:
        about = np.asarray(json.dumps({"identity": identity}))
        write_arrays(file, {name: getattr(found, name) for name in names} | {"about": about})
    return found


def method_of(name: str, model: Density, base: Base, n_steps: int) -> Method:
    """Chains that temper between a target and a base, by one of CHAINS."""
    path, log_zeta = _thinned(base.runs.path), base.runs.value
    log_weights = path.inverse_temperatures * log_zeta - path.log_normalisers
    # Modes are exchanged at the base alone where they are zeros of the density apart, and draws come from the target.
    n_inner = len(log_weights) - 2
    log_weights[[0, -1]] += math.log(max(1.0, _FRACTION_AT_ENDS * n_inner / (1.0 - 2.0 * _FRACTION_AT_ENDS)))
    ladder = np.stack([path.inverse_temperatures, path.step_sizes, log_weights])
    if name == "continuously_tempered_hmc":
        # It has no ladder: one number of the path is used, and one program serves paths of all lengths.
        ladder = np.max(ladder, axis=1, keepdims=True)
    return _chains(name, model, n_steps, base.mixture, (base.mixture, ladder, np.asarray(log_zeta)))


def _chains(name: str, model: Density, n_steps: int, mixture: Mixture, found: Any) -> Method:
    """The chains, which start from a mixture, given what exploring runs found, arguments of the compiled program."""
    base, (temperatures, sizes, log_weights), log_zeta = jax.tree.map(jnp.asarray, found)
    joined = bridge_to(model.log_density, base, None, log_zeta)

    def of_step(step: Array) -> Kernel:
        if name == "continuously_tempered_hmc":
            return continuous_tempering.continuously_tempered_hmc(joined, step, n_steps)
        if name == "simulated_tempering":
            return simulated_tempering(joined, temperatures, step, n_steps, log_weights=log_weights)
        return continuous_tempering.gibbs_continuous_tempering(joined, step, n_steps)

    def size_at(state: Any, fraction: Array) -> Array:
        """Step of an update: where the temperature stays as it is meanwhile, the one that the runs found for it."""
        if name == "continuously_tempered_hmc":
            # The temperature moves with the position: a step that depends on either would not be reversible. Each of
            # these is taken as often.
            fractions = jnp.asarray((1.0, 0.3, 0.1))
            chosen = jnp.minimum((fraction * fractions.size).astype(int), fractions.size - 1)
            return jnp.max(sizes) * fractions[chosen]
        if name == "simulated_tempering":
            return sizes[state.index]
        return jnp.exp(jnp.interp(state.inverse_temperature, temperatures, jnp.log(sizes)))

    def build(scale: Array) -> Kernel:
        kernel = of_step(scale)

        def draw(key: Array) -> tuple[Any, Array, Array]:
            own = jax.random.fold_in(key, 99)
            first, second = (jax.random.uniform(each) for each in (own, jax.random.fold_in(own, 1)))
            return kernel.draw(key), fraction_of_step(first), second

        def apply(noise: tuple[Any, Array, Array], state: Any) -> tuple[Any, Any]:
            return of_step(scale * noise[1] * size_at(state, noise[2])).apply(noise[0], state)

        return Kernel(kernel.init, draw, apply)

    def of_state(state: Any) -> dict[str, Array]:
        own = temperatures[state.index] if name == "simulated_tempering" else state.inverse_temperature
        return {
            "log_target_weight": state.log_target_weight,
            "log_base_weight": state.log_base_weight,
            "inverse_temperature": own,
            "position": base.position(state.position),
        }

    def draw_start(key: Array) -> np.ndarray:
        starts, _, _ = starts_inside(model, mixture, generator_of(key), 1)
        if not np.isfinite(joined.log_densities(jnp.asarray(starts[0]))[0]):
            advice = "give bounds to auxmc.density, or base=auxmc.gaussian"
            raise ValueError(f"no draw of the base has a finite log density: {advice}")
        return np.asarray(starts[0])

    return Method(
        name=name,
        build=build,
        layout=model.layout,
        values=lambda vector: model.values(base.position(vector)),
        scale=1.0,
        check=lambda point: None,
        adaptation="dual averaging",
        target=0.8,
        draw_start=draw_start,
        of_state=of_state,
        given=found,
        with_given=partial(_chains, name, model, n_steps, mixture),
    )


def _thinned(path: Path) -> Path:
    """The path from the base on, with one of a few numbers of temperatures: each needs a program of its own."""
    first = (0.0, 0.0, path.step_sizes[0])
    whole = Path(*(np.concatenate([[one], array]) for one, array in zip(first, path, strict=True)))
    n = len(whole.inverse_temperatures)
    n_kept = max((size for size in (2, 4, 8, 12, 16, 24, 32, 48, 64, 100) if size <= n), default=n)
    kept = np.linspace(0, n - 1, n_kept).round().astype(int)
    return Path(*(array[kept] for array in whole))


def _tree(model: Density, vectors: np.ndarray, stats: dict[str, np.ndarray]) -> xr.DataTree:
    """ArviZ tree of vectors [chain, draw, dim], with the variables that the model keeps."""
    n_chains, n_draws, dim = vectors.shape
    values = at_points(model.values, vectors.reshape(-1, dim))
    arrays = {name: np.asarray(a).reshape(n_chains, n_draws, *a.shape[1:]) for name, a in values.items()}
    groups = {"posterior": dataset_of(arrays)} | ({"sample_stats": dataset_of(stats)} if stats else {})
    return xr.DataTree.from_dict(groups)


def _target_draws(
    model: Density, base: Base, ends: np.ndarray, log_weights: np.ndarray, n_steps: int, key: Array, n: int
) -> np.ndarray:
    """Draws of the target [n, dim]: ends chosen by their weights, of which further copies move at the target.

    Source: Gilks and Berzuini 2001, "Following a moving target - Monte Carlo inference for dynamic Bayesian models".
    """
    usable = np.where(np.isfinite(log_weights), log_weights, -np.inf)
    if not np.isfinite(usable).any():
        usable = np.zeros_like(usable)
    random = generator_of(key)
    # Systematic resampling.
    cumulative = np.cumsum(np.exp(usable - usable.max()))
    places = (np.arange(n) + random.random()) / n * cumulative[-1]
    chosen = random.permutation(np.minimum(np.searchsorted(cumulative, places, "right"), usable.size - 1))
    drawn = ends[chosen]
    copies = np.setdiff1d(np.arange(n), np.unique(chosen, return_index=True)[1])
    # A path that begins at the target: nothing is left of it but the updates there.
    at_target = Path(np.ones(1), np.zeros(1), base.runs.path.step_sizes[-1:])
    rest: dict[str, Any] = {"prior": model.log_prior, "path": at_target, "n_updates": _UPDATES}
    for i in range(0, len(copies), N_RUNS):
        some = copies[i : i + N_RUNS]
        starts = base.mixture.standard(drawn[np.resize(some, N_RUNS)])
        own = jax.random.fold_in(key, i)
        moved = anneal(model.log_density, base.mixture, starts, own, n_steps, **rest)
        drawn[some] = moved.ends[: len(some)]
    return drawn


def _posterior(model: Density, vectors: np.ndarray) -> xr.DataTree:
    """Draws in four chains of equal length, where there are enough; the rest of a division is left out."""
    n_chains = 4 if len(vectors) >= 8 else 1
    n_draws = len(vectors) // n_chains
    return _tree(model, vectors[: n_chains * n_draws].reshape(n_chains, n_draws, -1), {})
