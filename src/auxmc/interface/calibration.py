"""Simulation-based calibration of a user's own model and method."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from scipy import stats

from auxmc.driver.seeds import generator_of, stream
from auxmc.interface.advice import Advice, issue
from auxmc.interface.arguments import check_callable, check_fraction, check_integer, check_seed, require_x64
from auxmc.interface.densities import Density, nuts
from auxmc.interface.layout import element_names, named
from auxmc.interface.methods import Method, evaluated, follows_its_key, innermost
from auxmc.numerics.programs import jit_short

_BINS = 20


class Calibration(NamedTuple):
    """Ranks of true variables among draws of their posteriors.

    Attributes:
        ranks: of each number by name, such as "rates[2]", and of the log density "lp": places between 0 and 1
            [replicate], uniform where all is right.
        p_values: of their uniformity, by name; the smallest of four tests, times four.
        level: probability of a false alarm of all numbers together.
        warnings: the numbers whose ranks are not uniform; empty where nothing is known against the model.
    """

    ranks: dict[str, np.ndarray]
    p_values: dict[str, float]
    level: float
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """The smallest p-value, and the number that it belongs to."""
        name = min(self.p_values, key=lambda own: self.p_values[own])
        verdict = "not calibrated" if self.warnings else "no fault found"
        return f"{verdict}: smallest p-value {self.p_values[name]:.2g} of {len(self.p_values)}, {name}"

    def plot(self) -> Any:
        """Figure with a histogram of the ranks of each number; grey: 99 % of the counts of uniform ranks."""
        # Imported late: few calls draw.
        import pandas as pd
        import seaborn as sns

        ranks = pd.DataFrame(self.ranks).melt(var_name="number", value_name="rank")
        grid = sns.FacetGrid(ranks, col="number", col_wrap=min(4, len(self.ranks)), height=2.4)
        grid.map(sns.histplot, "rank", bins=_BINS, binrange=(0.0, 1.0))
        grid.set_axis_labels("rank", "replicates")
        n_replicates = len(ranks) // len(self.ranks)
        for name, axis in grid.axes_dict.items():
            axis.axhspan(*stats.binom.interval(0.99, n_replicates, 1.0 / _BINS), color="0.85", zorder=0.0)
            axis.set_title(f"{name}, p = {self.p_values[str(name)]:.2g}")
        return grid.figure


def check(
    model: Callable[[Any], Density | Method],
    draw_prior: Callable[[Array], Any],
    simulate: Callable[[Array, Any], Any],
    *,
    replicates: int = 400,
    draws: int = 50,
    thin: int = 5,
    warm_up: int = 300,
    seed: int = 0,
    level: float = 1e-3,
) -> Calibration:
    """Simulation-based calibration: whether prior, simulator, log density and method belong together.

    Variables are drawn from the prior, data are simulated from them, and a chain draws from the posterior of these
    data, beginning at the true variables. Over many replicates the rank of the true value among the draws is uniform. A
    wrong sign, a missing Jacobian, a wrong scale of the prior, or chains that are too short change that.

    Args:
        model: maps data to a density, or to a method on a model, as `auxmc.sample` takes it. It is traced by JAX: make
            the model with a `start` and with `checks="off"`.
        draw_prior: maps a key of `jax.random` to variables like the model's start.
        simulate: maps a key and variables to data.
        replicates: data sets.
        draws: of each posterior.
        thin: iterations for a draw; draws that depend on each other give ranks that are not uniform.
        warm_up: iterations before the draws, which adapt the method.
        seed: of all random numbers.
        level: probability of a false alarm, for all numbers and tests together (Bonferroni).

    Raises:
        TypeError: If a function cannot be traced, or `model` returns neither a density nor a method.
        ValueError: If a number is out of range, the draws do not follow their key, or the variables are others than the
            model's.

    Warns:
        SamplingWarning: If ranks are not uniform.

    Source: Talts et al. 2018, "Validating Bayesian inference algorithms with simulation-based calibration"; the log
    density and dependence on the data by Modrak et al. 2023; normal scores by Cook, Gelman and Rubin 2006.

    >>> import auxmc
    >>> auxmc.enable_x64()
    >>> model = lambda y: auxmc.density(
    ...     lambda v: -0.5 * v["mean"] ** 2 - 0.5 * (y - v["mean"]) ** 2, {"mean": 0.0}, checks="off"
    ... )
    >>> draw_prior = lambda key: {"mean": jax.random.normal(key)}
    >>> found = auxmc.check(
    ...     model, draw_prior, lambda key, v: v["mean"] + jax.random.normal(key), replicates=50, warm_up=100
    ... )
    >>> list(found.p_values)
    ['mean', 'lp']
    """
    require_x64()
    check_integer("replicates", replicates, 10)
    check_integer("draws", draws, 1)
    check_integer("thin", thin, 1)
    check_integer("warm_up", warm_up, 0)
    check_seed(seed)
    check_fraction("level", level)
    check_callable("model", model, "maps data to a model")
    check_callable("draw_prior", draw_prior, "maps a key to variables")
    check_callable("simulate", simulate, "maps a key and variables to data")
    names = _names(model, draw_prior, simulate)

    def replicate(key: Array) -> tuple[Array, Array, Array]:
        prior_key, data_key, init_key, chain_key = jax.random.split(key, 4)
        truth = draw_prior(prior_key)
        method = _method(model(simulate(data_key, truth)))
        # What the variables do not determine, such as the radius of an angle, is drawn.
        vector = method.layout.filled(jax.random.fold_in(init_key, 1), method.layout.vector(truth))
        found = _chain(method, vector, init_key, chain_key, draws, thin, warm_up)
        true = _quantities(method, vector)[None]
        return jnp.sum(found < true, axis=0), jnp.sum(found == true, axis=0), jnp.mean(found, axis=0)

    keys = jax.random.split(stream(seed, "check"), replicates)
    ran = jit_short(lambda keys: jax.lax.map(replicate, keys, batch_size=50))(keys)
    below, equal, means = map(np.asarray, ran)
    random = generator_of(stream(seed, "check", "ties"))
    places = (below + random.uniform(size=below.shape) * (equal + 1)) / (draws + 1)
    ranks = dict(zip([*names, "lp"], places.T, strict=False))
    p_values = {name: _p_value(own, mean) for (name, own), mean in zip(ranks.items(), means.T, strict=True)}
    fix = "Compare prior, simulator and log density, with scales and Jacobians, or take a larger thin and warm_up"
    advice = [
        Advice(f"the ranks of {name} are not uniform (p = {p:.1g} in {replicates} replicates)", fix)
        for name, p in p_values.items()
        if p < level / len(p_values)
    ]
    return Calibration(ranks, p_values, level, issue(advice))


def _names(
    model: Callable[[Any], Any], draw_prior: Callable[[Array], Any], simulate: Callable[[Array, Any], Any]
) -> list[str]:
    """Names of the numbers in the variables; the errors of `check` where the functions do not belong together."""
    key = jax.random.key(0)
    follows_its_key("draw_prior", draw_prior)
    truth = evaluated("draw_prior", draw_prior, key)
    follows_its_key("simulate", lambda own: simulate(own, draw_prior(key)))
    data = evaluated("simulate", simulate, key, truth)
    made: list[Method] = []
    evaluated("model", lambda data: made.append(_method(model(data))), data)
    layout, given = made[0].layout, named(truth)
    if jax.tree.structure(truth) != layout.structure or tuple(given) != layout.names:
        raise ValueError(f"draw_prior: expected variables {', '.join(layout.names)}, got {', '.join(given)}")
    return element_names((name, leaf.shape) for name, leaf in given.items())


def _chain(
    method: Method, vector: Array, init_key: Array, chain_key: Array, draws: int, thin: int, warm_up: int
) -> Array:
    """Quantities [draw, quantity] of a chain that begins at a position [dim]."""
    kernel = method.adapted(warm_up)

    def move(state: Any, i: Array) -> tuple[Any, None]:
        return kernel.apply(kernel.draw(jax.random.fold_in(chain_key, i)), state)[0], None

    def draw(state: Any, steps: Array) -> tuple[Any, Array]:
        state = jax.lax.scan(move, state, steps)[0]
        return state, _quantities(method, innermost(state).position)

    state = jax.lax.scan(move, kernel.init(vector, key=init_key), jnp.arange(warm_up))[0]
    steps = warm_up + jnp.arange(draws * thin).reshape(draws, thin)
    return jax.lax.scan(draw, state, steps)[1]


def _quantities(method: Method, vector: Array) -> Array:
    """Variables and, where the method has it, log density of a position [dim]."""
    own = [jnp.ravel(leaf) for leaf in jax.tree.leaves(method.layout.tree(vector))]
    lp = [] if method.log_density is None else [jnp.ravel(method.log_density(vector))]
    return jnp.concatenate([*own, *lp])


def _method(model: Any) -> Method:
    model = nuts(model) if isinstance(model, Density) else model
    if not isinstance(model, Method) or model.kind == "simulator":
        got = type(model).__name__
        raise TypeError(f"model must return a density, or a method on one or on an estimate, got {got}")
    return model


def _p_value(ranks: np.ndarray, means: np.ndarray) -> float:
    """Of ranks [replicate] that are uniform whatever the data, and so the posterior means [replicate], are.

    Four tests: mean and sum of squares of normal scores, the distance of Kolmogorov, and the rank correlation with the
    means: a missing prior leaves the ranks of a location uniform, but not for given data.
    """
    scores, n = stats.norm.ppf(np.clip(ranks, 1e-12, 1.0 - 1e-12)), len(ranks)
    square = float(np.sum(scores**2))
    varies = np.ptp(ranks) > 0.0 and np.ptp(means) > 0.0
    smallest = min(
        2.0 * stats.norm.sf(abs(float(np.mean(scores))) * math.sqrt(n)),
        2.0 * min(stats.chi2.cdf(square, n), stats.chi2.sf(square, n)),
        stats.kstest(ranks, "uniform").pvalue,
        stats.spearmanr(ranks, means, nan_policy="omit").pvalue if varies else 1.0,
    )
    return float(min(1.0, 4 * smallest))
