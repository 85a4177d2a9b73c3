"""Bases of an evidence: mixtures near the target, found by annealed runs, and the modes that the runs found."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from auxmc.approximations.advi import MeanField, decaying_adam, fit_mean_field
from auxmc.approximations.laplace_density import laplace_density
from auxmc.driver.seeds import generator_of
from auxmc.interface.advice import Advice
from auxmc.interface.arguments import float64_tree
from auxmc.interface.densities import Density
from auxmc.interface.methods import LogDensity
from auxmc.interface.tempered.annealing import EXPLORING_OVERLAP, N_RUNS, Annealed, anneal
from auxmc.interface.tempered.mixture import Mixture, fit_mixture, gaussian_mixture, log_densities, regions
from auxmc.interface.trajectory_guard import first_step_size
from auxmc.numerics.programs import has_open_cost, jit_short, many_draws
from auxmc.numerics.values import by_value

BASES = ("automatic", "advi", "laplace")
"""Bases that are found; `gaussian` makes one that is given."""

_STEPS_OF_FIT = 4000
_FACTORS = (1.0, 3.0, 9.0, 27.0)
# Effective runs of N_RUNS at which a base is good enough, and below which it is warned of.
_ENOUGH_RUNS = 64.0
_TRUSTED_RUNS = 12.0
_ROUNDS = 8
# Ends of the last runs in a region from which on earlier ones there are left out.
_FEW_NEW = 8
# At the target, after which the ends have lost what was left of the way: a base is fitted to them.
_UPDATES = 30
# Nats that the log density may fall along an axis of a Laplace approximation over one standard deviation, where half a
# nat is right: much more where the curvature is rounding.
_LARGEST_FALL = 50.0
# Degrees of freedom of a component up to which its tails are heavier than a Gaussian covers.
_HEAVY_TAILS = 10.0
# Draws of the base that measure how much of it lies in the target's support, where some do not.
_SUPPORT_DRAWS = 1 << 14
_MOST_TRIES = 1 << 17
_NOT_REACHED = (
    "no annealed run reached the target: its log density is not finite near the base. Give another start, a prior, "
    "bounds, or base=auxmc.gaussian(mean, scale)"
)


@by_value
class Gaussian(NamedTuple):
    """Gaussian base that a user gives; `gaussian` makes it."""

    mean: Any
    scale: Any


@by_value
class Base(NamedTuple):
    """Base that was found."""

    mixture: Mixture  # the base
    runs: Annealed  # annealed runs from it to the target; their path is used by the estimate
    # Annealed runs from it and from mixtures with further components, as an estimate of their own.
    pilots: tuple[Annealed, ...]
    explored: tuple[Annealed, ...]  # annealed runs from the prior, or from wide Gaussians around the start
    n_found: np.ndarray  # exploring runs that ended in each mode [mode]
    from_prior: bool  # whether the exploring runs began at draws of the prior
    advice: tuple[Advice, ...] = ()  # what is to be said about it

    def modes(self) -> str:
        """How many modes were found, and from where."""
        if not len(self.n_found):
            return ""
        where = "from the prior" if self.from_prior else "from the start"
        return f" ({len(self.n_found)} {'mode' if len(self.n_found) == 1 else 'modes'} reached {where})"

    @property
    def remedy(self) -> str:
        """What to do where modes may be missing."""
        if not len(self.n_found):
            return 'Give base="automatic"'
        return "Compare with other seeds" if self.from_prior else "Give prior= to auxmc.density"

    def estimates(self) -> list[tuple[float, float]]:
        """Log normalisers with their standard errors by annealed runs from mixtures, which may know more modes."""
        return [(run.value, run.error) for run in self.pilots if run.n_effective >= _TRUSTED_RUNS]


def gaussian(mean: Any, scale: Any) -> Gaussian:
    """A Gaussian base.

    Args:
        mean: variables, a pytree like the start.
        scale: standard deviations of the same structure, or the covariance matrix [dim, dim] of all variables in a row.
    """
    return Gaussian(float64_tree("mean", mean), float64_tree("scale", scale))


def find_base(
    model: Density,
    base: str | Gaussian,
    key: Array,
    n_steps: int,
    *,
    one_component: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> Base:
    """A base near the target, and what annealed runs to the target find; errors of `evidence`.

    "automatic" fits a Student-t component to each region that runs from the prior, or from Gaussians of several widths
    around the start, reach, and improves the mixture by further runs. With `one_component` the base has the moments of
    the mixture; `say` is told what is being done.
    """
    search, has_prior = _Search(model, key, n_steps), model.draw_prior is not None
    if isinstance(base, Gaussian):
        first = _given(model, base)
    elif base not in BASES:
        raise ValueError(f"base must be one of {', '.join(BASES)} or auxmc.gaussian(...), got {base!r}")
    elif base == "automatic" and has_prior:
        first = search.coordinates_of_prior()
    elif base == "automatic" and search.is_open:
        width = 10.0 * first_step_size(model.log_density, model.start, 0.1)
        first = gaussian_mixture(model.start, width * np.eye(model.layout.dim))
    else:
        say("fitting a base")
        first = _fitted(model, base, jax.random.fold_in(key, 0))
    say("exploring")
    explored = search.explore(first, from_prior=base == "automatic" and has_prior)
    found = [search.pair(first)] if base != "automatic" else []
    n_found = np.zeros(0, int)
    if base == "automatic":
        mixture, modes = _fitted_to(explored, (), model, first)
        n_found, least = np.bincount(modes), list[float]()
        for number in range(_ROUNDS):
            say(f"annealed runs from a base of {int(np.isfinite(mixture.log_weights).sum())} components")
            found.append(search.pair(mixture))
            least.append(min(run.n_effective for run in found[-1]))
            if least[-1] >= _ENOUGH_RUNS or max([_TRUSTED_RUNS, *least[:-1]]) >= least[-1] >= _TRUSTED_RUNS:
                break
            if number < _ROUNDS - 1:
                last = [run for pair in found[-2:] for run in pair]
                mixture, _ = _fitted_to(last, explored, model, mixture)
    best = _best(found)
    pilots = [_joined(best)]
    if one_component and base == "automatic":
        best = search.pair(_one_component(best[0].base))
        pilots.append(_joined(best))
    runs = pilots[-1]
    if not math.isfinite(runs.value):
        raise ValueError(_NOT_REACHED)
    everything = [*explored, *(run for pair in found for run in pair)]
    # A single run of large weight may be chance.
    without_largest = [run._replace(log_weights=np.sort(run.log_weights)[:-1]) for run in everything]
    most = max(run.value - 3.0 * max(run.error, 0.1) for run in without_largest)
    made = Base(runs.base, runs, tuple(pilots), tuple(explored), n_found, has_prior)
    return made._replace(advice=tuple(_advice(made, missed=most > runs.value + 3.0 * runs.error)))


def mixture_of_draws(model: Density, draws: np.ndarray) -> Mixture:
    """Mixture fitted to draws of the target [draw, dim]."""
    mean = draws.mean(axis=0)
    covariance = np.cov(draws.T, bias=True).reshape(len(mean), -1)
    try:
        like = gaussian_mixture(mean, np.linalg.cholesky(covariance))
    except np.linalg.LinAlgError:
        advice = "give variables that vary and do not follow from each other"
        raise ValueError(f"draws: the covariance is singular: {advice}") from None
    labels, _ = regions(draws, model.log_density, like)
    return fit_mixture(draws, np.zeros(len(draws)), labels, like)


def search_around(model: Density, base: Mixture, key: Array, n_steps: int) -> tuple[list[Annealed], Annealed]:
    """Annealed runs from the prior or from wide Gaussians around a base, and runs from the base itself."""
    search, from_prior = _Search(model, key, n_steps), model.draw_prior is not None
    first = search.coordinates_of_prior() if from_prior else _moments(base)
    return search.explore(first, from_prior=from_prior), _joined(search.pair(base))


class _Search:
    """Annealed runs to one target, each with random numbers of its own."""

    def __init__(self, model: Density, key: Array, n_steps: int) -> None:
        self.model, self.n_steps, self._key, self._n = model, n_steps, jax.random.fold_in(key, 1), 0
        self.random, self.is_open = generator_of(key), has_open_cost(model.log_density, model.start)

    def run(self, base: Mixture, starts: np.ndarray, **rest: Any) -> Annealed:
        self._n += 1
        own = jax.random.fold_in(self._key, self._n)
        rest = {"prior": self.model.log_prior, "n_updates": _UPDATES} | rest
        return anneal(self.model.log_density, base, starts, own, self.n_steps, **rest)

    def pair(self, base: Mixture) -> list[Annealed]:
        """Runs that find their path, and runs along the same path, all from inside of the support."""
        starts, n_inside, n_tried = starts_inside(self.model, base, self.random, 2 * N_RUNS)
        first = self.run(base, starts[:N_RUNS])
        second = self.run(base, starts[N_RUNS:], path=first.path)
        with np.errstate(divide="ignore"):
            log_fraction = np.log(n_inside / n_tried)
        return [run._replace(log_weights=run.log_weights + log_fraction) for run in (first, second)]

    def explore(self, first: Mixture, *, from_prior: bool) -> list[Annealed]:
        if not from_prior:
            # Near the start where the cost of the function is open.
            factors = [1.0] * len(_FACTORS) if self.is_open else _FACTORS
            wide = [first._replace(root=first.root * factor) for factor in factors]
            return [
                self.run(base, base.draws(self.random, N_RUNS), overlap=EXPLORING_OVERLAP) for base in wide
            ]
        points, log_fraction = self._prior_draws()
        parts = np.split(first.standard(points), len(_FACTORS))
        runs = [self.run(first, part, from_prior=True, overlap=EXPLORING_OVERLAP) for part in parts]
        return [run._replace(log_weights=run.log_weights + log_fraction) for run in runs]

    def coordinates_of_prior(self) -> Mixture:
        """Coordinates in which the prior has unit variance; quantiles, as a prior may have no moments."""
        low, middle, high = np.quantile(self._prior_draws()[0], [0.16, 0.5, 0.84], axis=0)
        return gaussian_mixture(middle, np.diag(np.maximum(0.5 * (high - low), 1e-300)))

    def _prior_draws(self) -> tuple[np.ndarray, float]:
        """As many draws inside of the bounds [draw, dim] as there are exploring runs, and the log of their fraction."""
        self._n += 1
        key = jax.random.fold_in(self._key, self._n)
        draws = many_draws(self.model.draw_prior, key, len(_FACTORS) * N_RUNS)
        inside = np.all(np.isfinite(draws), axis=1)
        if not inside.any():
            raise ValueError(f"prior: none of {len(draws)} draws lies inside of the bounds: give others")
        return np.resize(draws[inside], draws.shape), math.log(inside.mean())


def _fitted_to(
    runs: Sequence[Annealed], earlier: Sequence[Annealed], model: Density, like: Mixture
) -> tuple[Mixture, np.ndarray]:
    """Mixture fitted to the ends of runs, and the modes of runs that did not get stuck [run].

    Ends of earlier runs count in regions that the runs did not reach: no mode that was found is lost.
    """
    ends, logs, weights = (
        np.concatenate([getattr(run, name) for run in (*runs, *earlier)])
        for name in ("ends", "log_densities", "log_weights")
    )
    is_new = np.arange(len(ends)) < len(runs) * N_RUNS
    weights = np.where(is_new, weights, -np.inf)
    usable = np.isfinite(logs) & np.all(np.isfinite(ends), axis=1)
    if not np.isfinite(weights[usable]).any():
        raise ValueError(_NOT_REACHED)
    # The log density of a Gaussian has the standard deviation sqrt(dim / 2); runs far below got stuck.
    least = logs[usable].max() - 10.0 - 8.0 * math.sqrt(ends.shape[1] / 2)
    usable &= logs >= min(least, float(np.median(logs[usable])))
    ends, weights, is_new, reached = ends[usable], weights[usable], is_new[usable], logs[usable] >= least
    labels, modes = regions(ends, model.log_density, like)
    kept = is_new | (np.bincount(labels, is_new) < _FEW_NEW)[labels]
    labels = np.unique(labels[kept], return_inverse=True)[1]
    reached_modes = np.unique(modes[reached], return_inverse=True)[1]
    return fit_mixture(ends[kept], weights[kept], labels, like), reached_modes


def _best(found: Sequence[list[Annealed]]) -> list[Annealed]:
    """Of the pairs of runs that find no less than others, the one of which most runs count."""
    whole = [_joined(pair) for pair in found]
    most = max(run.value - 2.0 * max(run.error, 0.1) for run in whole)
    enough = [i for i, run in enumerate(whole) if run.value + 3.0 * max(run.error, 0.1) >= most]
    return found[max(enough, key=lambda i: min(run.n_effective for run in found[i]))] if enough else found[-1]


def _joined(pair: Sequence[Annealed]) -> Annealed:
    names = ("ends", "log_weights", "log_densities")
    joined: Any = {name: np.concatenate([getattr(run, name) for run in pair]) for name in names}
    return pair[0]._replace(**joined)


def _moments(mixture: Mixture) -> Mixture:
    """One Gaussian with the moments of a mixture, a little wider."""
    weights = np.exp(mixture.log_weights)
    spread = np.asarray(mixture.degrees / np.maximum(mixture.degrees - 2.0, 0.5))
    covariances = spread[:, None, None] * np.einsum("kij,klj->kil", mixture.roots, mixture.roots)
    mean = weights @ mixture.means
    centred = mixture.means - mean
    covariance = np.einsum("k,kij->ij", weights, covariances) + (centred * weights[:, None]).T @ centred
    inflation = 1.0 + 0.25 / math.sqrt(len(mean))
    root = np.asarray(mixture.root) @ np.linalg.cholesky(covariance) * inflation
    return gaussian_mixture(np.asarray(mixture.position(mean)), root)


def _one_component(mixture: Mixture) -> Mixture:
    """One component with the moments of a mixture: Student-t where one of its components has heavy tails.

    Chains from a Gaussian visit heavier tails too rarely for their spread to tell the error.
    """
    one, degrees = _moments(mixture), float(np.min(mixture.degrees))
    if degrees > _HEAVY_TAILS:
        return one
    root = one.root * math.sqrt(max(degrees - 2.0, 0.5) / degrees)
    return one._replace(root=root, degrees=np.full_like(one.degrees, degrees))


def starts_inside(
    model: Density, mixture: Mixture, random: np.random.Generator, n: int
) -> tuple[np.ndarray, int, int]:
    """Draws of a base [n, dim] inside the target's support; how many independent ones lay there, and of how many.

    Where too few draws are inside, others fill the array: their weight is zero.
    """
    parts, n_inside, n_tried, last = [], 0, 0, np.zeros((0, 0))
    while n_inside < n and n_tried < _MOST_TRIES:
        last = mixture.draws(random, max(n, _SUPPORT_DRAWS if n_tried else n))
        inside = np.isfinite(log_densities(model.log_density, np.asarray(mixture.position(last))))
        parts.append(last[inside])
        n_inside, n_tried = n_inside + int(inside.sum()), n_tried + len(last)
    return np.concatenate([*parts, last])[:n], n_inside, n_tried


def _given(model: Density, base: Gaussian) -> Mixture:
    mean = model.layout.starts("mean", base.mean, 1)[0]
    scale = base.scale
    dim = model.layout.dim
    if isinstance(scale, np.ndarray) and scale.shape == (dim, dim):
        if not np.allclose(scale, scale.T, rtol=1e-8, atol=0.0):
            raise ValueError("scale is no covariance matrix: it is not symmetric")
        try:
            return gaussian_mixture(mean, np.linalg.cholesky(scale))
        except np.linalg.LinAlgError:
            raise ValueError("scale is no covariance matrix: it has no Cholesky factor") from None
    widths = model.layout.plain().starts("scale", scale, 1)[0]
    if not np.all(widths > 0.0):
        raise ValueError("scale must hold positive standard deviations")
    return gaussian_mixture(mean, np.diag(widths))


def _fitted(model: Density, name: str, key: Array) -> Mixture:
    candidates = []
    if name in ("automatic", "advi"):
        # Optax's schedules multiply integers and floats.
        with jax.numpy_dtype_promotion("standard"):
            found = _mean_field(model.log_density)(model.start, jax.random.fold_in(key, 0))
        mean, log_sd = map(np.asarray, found)
        if np.all(np.isfinite([mean, log_sd])):
            candidates.append(gaussian_mixture(mean, np.diag(np.exp(log_sd))))
    if name in ("automatic", "laplace"):
        starts: list[Any] = [model.start, *(candidate.centre for candidate in candidates)]
        candidates += [fit for start in starts if (fit := _laplace(model, start)) is not None]
    bounds = _lower_bounds(model, candidates, jax.random.fold_in(key, 1))
    usable = [(bound, i) for i, bound in enumerate(bounds) if np.isfinite(bound)]
    if usable:
        return candidates[max(usable)[1]]
    if name == "automatic":
        # A density cut off by a bound has no finite lower bound: runs from a fitted width start inside of the support.
        return candidates[0] if candidates else gaussian_mixture(model.start, np.eye(model.layout.dim))
    needs = "a log density that is finite everywhere and curved at its mode"
    raise ValueError(f'no base was found: base={name!r} needs {needs}. Give base="automatic", or bounds')


@lru_cache(maxsize=32)
def _mean_field(log_density: LogDensity) -> Callable[..., MeanField]:
    """Fit of independent normal variables from a start [dim], with a key; compiled once for all seeds."""

    def fit(start: Array, key: Array) -> MeanField:
        first = MeanField(start, jnp.full_like(start, -1.0))
        schedule = decaying_adam(0.05, _STEPS_OF_FIT)
        return fit_mean_field(log_density, first, schedule, key, _STEPS_OF_FIT, 4).approximation

    return jit_short(fit)


def _laplace(model: Density, start: np.ndarray) -> Mixture | None:
    """Mode and curvature, where the search ends at a maximum whose curvature is no rounding."""
    try:
        fit = laplace_density(model.log_density, start)
        root = np.linalg.cholesky(fit.covariance)
    except (ValueError, np.linalg.LinAlgError):
        return None
    sizes, axes = np.linalg.eigh(fit.covariance)
    ways = (axes * np.sqrt(np.maximum(sizes, 0.0))).T
    around = log_densities(model.log_density, np.concatenate([fit.mode + ways, fit.mode - ways]))
    falls = np.min((fit.log_density - around).reshape(2, -1), axis=0)
    return gaussian_mixture(fit.mode, root) if np.all(falls <= _LARGEST_FALL) else None


def _lower_bounds(model: Density, bases: Sequence[Mixture], key: Array) -> list[float]:
    """Evidence lower bound of each base, by Monte Carlo."""
    random = generator_of(key)
    bounds = []
    for base in bases:
        y = base.draws(random, 256)
        entropy = 0.5 * y.shape[1] * math.log(2.0 * math.pi) + 0.5 * float(np.mean(np.sum(y**2, axis=1)))
        values = log_densities(model.log_density, np.asarray(base.position(y)))
        bounds.append(float(np.mean(values)) + entropy + float(np.sum(np.log(np.diagonal(base.root)))))
    return bounds


def _advice(base: Base, *, missed: bool) -> Iterator[Advice]:
    runs = base.runs
    if missed:
        problem = "annealed runs from other bases found more of the target: the evidence is too low"
        yield Advice(problem, base.remedy)
    if runs.n_effective < _TRUSTED_RUNS:
        count = f"of {runs.log_weights.size} annealed runs, {runs.n_effective:.1f} count"
        fix = "Give a better start, base=auxmc.gaussian(mean, scale), or more n_steps"
        yield Advice(f"the base is far from the target: {count}, and the evidence is in doubt", fix)
