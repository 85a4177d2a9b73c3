"""What this study measures for each published claim, read from its two tables."""

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from auxmc.engine.claims import Measurement, measure_settings, standard_error
from auxmc.engine.lookup import MissingData, find, scalar
from experiments.generalised_lambda.settings import ROWS

__all__ = ["MEASURE"]

_NAMES = {
    "modified_abc": "modified ABC",
    "constrained_hmc": "constrained HMC",
    "abc_hmc_005": "ABC HMC 0.05",
    "abc_hmc_025": "ABC HMC 0.25",
}
_TARGETS = {row.case: row.target for row in ROWS}
_PARAMETERS = ("z1", "z2", "z3", "z4")
_GENERATING = np.array([5.0, 1.0, 0.4, -0.1])
_TOLERANCES = {"abc_hmc_025": 0.25, "abc_hmc_005": 0.05}
_ACCEPT = 0.9
_PUBLISHED_RELATIVE_STEP = 0.01
_NOT_RUN = "not run at this preset"
# Shorter chains say how they came from their start, not how they mix.
_ENOUGH_ITERATIONS = {
    "modified_abc": 5000,
    "constrained_hmc": 200,
    "abc_hmc_005": 10_000,
    "abc_hmc_025": 10_000,
}

FloatArray = NDArray[np.float64]
Measure = Callable[[pd.DataFrame], Measurement]


# --- data and posterior --------------------------------------------------------------------------------


def _fact(quantity: str, note: str = "") -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        return Measurement(float(_values(summary, "reference", quantity)), 0.0, note)

    return measure


def _moment(case: str, quantity: str, error: str, parameter: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        _require_length(summary, case)
        place = _PARAMETERS.index(parameter)
        value, spread = (_values(summary, case, name, "parameter")[place] for name in (quantity, error))
        return Measurement(float(value), float(spread))

    return measure


def _distance_from_truth(summary: pd.DataFrame) -> Measurement:
    _require_length(summary, "constrained_hmc")
    mean, sd, error = _chain_moments(summary, "constrained_hmc")
    scores = np.abs(mean - _GENERATING) / sd
    worst = int(np.argmax(scores))
    return Measurement(
        float(scores[worst]), float(error[worst] / sd[worst]), f"{_PARAMETERS[worst]} is the farthest"
    )


def _widest(summary: pd.DataFrame) -> Measurement:
    """Parameters with the largest sd at tolerance 0.25; those within two standard errors of a tie count as unsure."""
    wide = _TARGETS["abc_hmc_025"]
    others = [target for case, target in _TARGETS.items() if case != "abc_hmc_025"]
    spreads = np.array([_reference(summary, "reference_sd", target) for target in others])
    errors = np.array([_reference(summary, "reference_mcse_sd", target) for target in others])
    largest = spreads.argmax(axis=0)[None]
    other, other_error = (np.take_along_axis(table, largest, 0)[0] for table in (spreads, errors))
    own, own_error = (_reference(summary, name, wide) for name in ("reference_sd", "reference_mcse_sd"))
    unsure = np.abs(own - other) < 2.0 * np.hypot(own_error, other_error)
    ratios = ", ".join(f"{name} {r:.3f}" for name, r in zip(_PARAMETERS, own / other, strict=True))
    note = f"ratio of its sd to the largest of the others: {ratios}; {int(unsure.sum())} within two standard errors"
    return Measurement(float((own > other).sum()), 0.5 * float(unsure.sum()), note)


def _fine_over_cube(summary: pd.DataFrame) -> Measurement:
    fine, cube = (_reference(summary, "reference_sd", _TARGETS[c]) for c in ("abc_hmc_005", "modified_abc"))
    errors = [_reference(summary, "reference_mcse_sd", _TARGETS[c]) for c in ("abc_hmc_005", "modified_abc")]
    ratios = fine / cube
    relative = np.hypot(errors[0] / fine, errors[1] / cube) * ratios
    # Errors of the parameters go together: they come from the same draws.
    error = float(relative.mean())
    return Measurement(
        float(ratios.mean()), error, "a normal law of sd 0.05 is narrower than a cube of half side 0.1"
    )


def _largest_psrf(case: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        _require_length(summary, case)
        points = _values(summary, case, "psrf", "parameter")
        joint = float(_values(summary, case, "psrf_multivariate"))
        return Measurement(float(points.max()), math.nan, f"multivariate factor {joint:.3f}")

    return measure


# --- efficiency ----------------------------------------------------------------------------------------


def _rate(case: str, parameter: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        rates = _values(summary, case, "ess_per_second", "chain", "parameter")[
            :, _PARAMETERS.index(parameter)
        ]
        return Measurement(float(rates.mean()), standard_error(rates), "chains ran one after the other")

    return measure


def _rate_ratio(top: str, bottom: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        means = [
            _values(summary, case, "ess_per_second", "chain", "parameter").mean(axis=0)
            for case in (top, bottom)
        ]
        ratios = means[0] / means[1]
        note = ", ".join(f"{name} {ratio:.2g}" for name, ratio in zip(_PARAMETERS, ratios, strict=True))
        return Measurement(float(ratios.mean()), math.nan, note)

    return measure


def _longest_chain(summary: pd.DataFrame) -> Measurement:
    seconds = {case: _values(summary, case, "chain_seconds", "chain").mean() for case in _NAMES}
    slowest = max(seconds, key=lambda case: seconds[case])
    return Measurement(float(seconds[slowest]) / 60.0, math.nan, _NAMES[slowest])


# --- accept rates and failures -------------------------------------------------------------------------


def _acceptance(case: str, over_chains: Callable[[FloatArray], float]) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        rates = _values(summary, case, "acceptance", "chain")
        note = "by chain: " + ", ".join(f"{rate:.3g}" for rate in rates)
        return Measurement(over_chains(rates), standard_error(rates), note)

    return measure


def _bisections(summary: pd.DataFrame) -> Measurement:
    found = find(summary, "bisections", "acceptance", "n_bisections", "chain")
    if found is None:
        raise MissingData(_NOT_RUN)
    rates = found.sortby("n_bisections").transpose("n_bisections", "chain")
    means = rates.mean("chain").values
    note = ", ".join(f"m = {m:g}: {r:.3f}" for m, r in zip(rates["n_bisections"].values, means, strict=True))
    error = math.hypot(standard_error(rates.values[0]), standard_error(rates.values[-1]))
    return Measurement(float(means[-1] - means[0]), error, note)


def _twice_the_step(summary: pd.DataFrame) -> Measurement:
    rates = _step_rates(summary)
    factor = 2.0 * _PUBLISHED_RELATIVE_STEP
    place = np.flatnonzero(np.isclose(rates["step_size"], factor))
    if place.size == 0:
        raise MissingData("no chains at twice the published step at this preset")
    by_chain = rates.isel(step_size=int(place[0]))
    near = rates.isel(
        step_size=int(np.argmin(np.abs(rates["step_size"].values - 1.5 * _PUBLISHED_RELATIVE_STEP)))
    )
    means = f"mean {float(by_chain.mean()):.3g}, at 1.5 times the step {float(near.mean()):.3g}"
    return Measurement(float(by_chain.min()), 0.0, f"chains from posterior draws; {means}")


def _stuck_share(summary: pd.DataFrame) -> Measurement:
    moved = _values(summary, "weak_starts", "moved", "chain", prior=None)
    share = float(1.0 - moved.mean())
    error = math.sqrt(share * (1.0 - share) / moved.size)
    draws = scalar(summary, "weak_starts", "n_draws")
    return Measurement(
        share, error, f"{moved.size} chains of {draws} iterations without one accepted proposal"
    )


def _not_finite(summary: pd.DataFrame) -> Measurement:
    share, immense = (
        float(_values(summary, "reference", name, prior="weak"))
        for name in ("prior_not_finite_share", "prior_over_1e10_share")
    )
    return Measurement(share, 0.0, f"share with a value above 1e10: {immense:.3g}")


def _prior_shift(summary: pd.DataFrame) -> Measurement:
    strong, weak = (_reference(summary, "reference_mean", "exact", prior) for prior in ("strong", "weak"))
    errors = [_reference(summary, "reference_mcse_mean", "exact", prior) for prior in ("strong", "weak")]
    sd = _reference(summary, "reference_sd", "exact")
    shifts = np.abs(weak - strong) / sd
    worst = int(np.argmax(shifts))
    note = ", ".join(
        f"{name} {shift:.2g}" for name, shift in zip(_PARAMETERS, (weak - strong) / sd, strict=True)
    )
    error = math.hypot(errors[0][worst], errors[1][worst]) / sd[worst]
    return Measurement(float(shifts[worst]), float(error), f"reference posteriors, weak less strong: {note}")


def _early_failures(summary: pd.DataFrame) -> Measurement:
    counts = [_values(summary, case, "failed_early", "chain") for case in ("no_warm_up", "constrained_hmc")]
    error = math.hypot(*(standard_error(count) for count in counts))
    note = " and ".join(f"mean {count.mean():.2f} over {count.size} chains" for count in counts)
    return Measurement(float(counts[0].mean() - counts[1].mean()), error, note)


def _failed_share(summary: pd.DataFrame) -> Measurement:
    shares = _values(summary, "constrained_hmc", "failed_share", "chain")
    per_solve = _values(summary, "constrained_hmc", "iterations_per_projection", "chain").mean()
    return Measurement(
        float(shares.mean()), standard_error(shares), f"{per_solve:.2f} iterations in a projection"
    )


def _residual(summary: pd.DataFrame) -> Measurement:
    return Measurement(float(_values(summary, "constrained_hmc", "largest_residual", "chain").max()), 0.0)


# --- agreement with the reference ----------------------------------------------------------------------


def _error_of_means(summary: pd.DataFrame) -> Measurement:
    _require_length(summary, "constrained_hmc")
    mean, _, error = _chain_moments(summary, "constrained_hmc")
    target = _TARGETS["constrained_hmc"]
    exact, sd = (_reference(summary, name, target) for name in ("reference_mean", "reference_sd"))
    spread = np.hypot(error, _reference(summary, "reference_mcse_mean", target)) / sd
    differences = np.abs(mean - exact) / sd
    worst = int(np.argmax(differences))
    return Measurement(float(differences[worst]), float(spread[worst]), _PARAMETERS[worst])


def _error_of_sds(summary: pd.DataFrame) -> Measurement:
    _require_length(summary, "constrained_hmc")
    sd, error = (
        _values(summary, "constrained_hmc", name, "parameter") for name in ("posterior_sd", "mcse_sd")
    )
    exact, own = (_reference(summary, name, "exact") for name in ("reference_sd", "reference_mcse_sd"))
    differences = np.abs(sd / exact - 1.0)
    worst = int(np.argmax(differences))
    spread = np.hypot(error, own) / exact
    return Measurement(float(differences[worst]), float(spread[worst]), _PARAMETERS[worst])


def _score(case: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        _require_length(summary, case)
        mean, _, error = _chain_moments(summary, case)
        exact = _reference(summary, "reference_mean", _TARGETS[case])
        spread = np.hypot(error, _reference(summary, "reference_mcse_mean", _TARGETS[case]))
        scores = np.abs(mean - exact) / spread
        return Measurement(float(scores.max()), 0.0, f"largest of {scores.size} parameters")

    return measure


# --- steps and tolerances ------------------------------------------------------------------------------


def _step_ratio(case: str) -> Measure:
    def measure(summary: pd.DataFrame) -> Measurement:
        steps = [scalar(summary, name, "step_size") for name in ("constrained_hmc", case)]
        if steps[0] is None or steps[1] is None:
            raise MissingData(_NOT_RUN)
        rates = [_values(summary, name, "acceptance", "chain").mean() for name in ("constrained_hmc", case)]
        note = f"accept rates {rates[0]:.3g} and {rates[1]:.3g}; step sizes are settings"
        return Measurement(float(str(steps[0])) / float(str(steps[1])), 0.0, note)

    return measure


def _step_exponent(summary: pd.DataFrame) -> Measurement:
    rates = _step_rates(summary)
    tolerances = rates["tolerance"].values.astype(float)
    relative = rates["step_size"].values.astype(float)
    largest = []
    for tolerance in rates["tolerance"].values:
        curve = rates.sel({"tolerance": tolerance}).mean("chain").values
        below = np.flatnonzero(curve < _ACCEPT)
        if below.size == 0 or below[0] == 0:
            raise MissingData(
                f"the accept rate does not cross {_ACCEPT} within the steps tried at this preset"
            )
        right = int(below[0])
        share = (curve[right - 1] - _ACCEPT) / (curve[right - 1] - curve[right])
        largest.append(tolerance * (relative[right - 1] + share * (relative[right] - relative[right - 1])))
    fit = stats.linregress(np.log(tolerances), np.log(largest))
    note = ", ".join(f"{step:.2g} at {eps:g}" for eps, step in zip(tolerances, largest, strict=True))
    return Measurement(float(fit.slope), float(fit.stderr), f"largest steps {note}")


def _monotone(summary: pd.DataFrame) -> Measurement:
    tolerances, shifts, errors = _limit(summary)
    sizes, places = np.abs(shifts).max(axis=1), np.abs(shifts).argmax(axis=1)
    rises = np.diff(sizes)
    error = np.array([errors[i, place] for i, place in enumerate(places)])
    in_order = rises > -2.0 * np.hypot(error[1:], error[:-1])
    note = ", ".join(f"{size:.2g} at {eps:g}" for eps, size in zip(tolerances, sizes, strict=True))
    return Measurement(float(np.mean(in_order)), 0.0, f"largest shifts in posterior sd: {note}")


def _order(summary: pd.DataFrame) -> Measurement:
    tolerances, shifts, errors = _limit(summary)
    # One parameter throughout: that which is shifted most at the largest tolerance.
    place = int(np.abs(shifts[-1]).argmax())
    sizes, relative = np.abs(shifts[:, place]), errors[:, place] / np.abs(shifts[:, place])
    usable = relative < 0.5
    if usable.sum() < 2:
        raise MissingData("too few draws for shifts larger than their errors at this preset")
    design = np.stack([np.ones(int(usable.sum())), np.log(tolerances[usable])], axis=1)
    weights = np.diag(relative[usable] ** -2)
    covariance = np.linalg.inv(design.T @ weights @ design)
    slope = float((covariance @ design.T @ weights @ np.log(sizes[usable]))[1])
    return Measurement(
        slope, float(np.sqrt(covariance[1, 1])), f"{_PARAMETERS[place]}, {int(usable.sum())} tolerances"
    )


MEASURE: dict[str, Callable[[pd.DataFrame, pd.DataFrame], dict[str, Measurement]]] = {
    "IM-GL-01": measure_settings(
        {
            "largest difference": _fact("data_difference", "five published values"),
            "observations": _fact("n_observations"),
        }
    ),
    "IM-GL-02": measure_settings(
        {
            "posterior mean z1": _moment("constrained_hmc", "posterior_mean", "mcse_mean", "z1"),
            "posterior sd z1": _moment("constrained_hmc", "posterior_sd", "mcse_sd", "z1"),
            "largest distance": _distance_from_truth,
        }
    ),
    "IM-GL-03": measure_settings(
        {
            "widest at tolerance 0.25": _widest,
            "sd z3 at tolerance 0.25": _moment("abc_hmc_025", "posterior_sd", "mcse_sd", "z3"),
            "sd at 0.05 / modified ABC": _fine_over_cube,
        }
    ),
    "IM-GL-04": measure_settings({"largest PSRF": _largest_psrf("abc_hmc_005")}),
    "IM-GL-05": measure_settings({name: _largest_psrf(case) for case, name in _NAMES.items()}),
    "IM-GL-09": measure_settings(
        {f"{name} {p}": _rate(case, p) for case, name in _NAMES.items() for p in _PARAMETERS}
    ),
    "IM-GL-10": measure_settings({"mean ratio": _rate_ratio("constrained_hmc", "modified_abc")}),
    "IM-GL-11": measure_settings(
        {
            "over ABC HMC 0.25": _rate_ratio("constrained_hmc", "abc_hmc_025"),
            "over ABC HMC 0.05": _rate_ratio("constrained_hmc", "abc_hmc_005"),
        }
    ),
    "IM-GL-14": measure_settings(
        {
            "accept rate": _acceptance("modified_abc", lambda rates: float(rates.mean())),
            "12 to 24 bisections": _bisections,
        }
    ),
    "IM-GL-15": measure_settings(
        {"accept rate": _acceptance("constrained_hmc", lambda rates: float(rates.mean()))}
    ),
    "IM-GL-16": measure_settings(
        {
            **{
                f"tolerance {eps:g}": _acceptance(case, lambda rates: float(np.median(rates)))
                for case, eps in _TOLERANCES.items()
            },
            "smallest at twice the step": _twice_the_step,
        }
    ),
    "IM-GL-17": measure_settings({"longest chain": _longest_chain}),
    "IM-GL-18": measure_settings(
        {"share of chains that stick": _stuck_share, "share of prior data not finite": _not_finite}
    ),
    "IM-GL-19": measure_settings({"largest shift": _prior_shift}),
    "IM-GL-20": measure_settings({"main settings - warm-up settings": _early_failures}),
    "IM-GL-21": measure_settings(
        {"largest error of a mean": _error_of_means, "largest error of an sd": _error_of_sds}
    ),
    "IM-ALG-02": measure_settings({"GL": _failed_share}),
    "IM-ALG-03": measure_settings({"GL": _residual}),
    "IM-ALG-04": measure_settings(
        {f"GL {_NAMES[case]}": _score(case) for case in ("constrained_hmc", "modified_abc")}
    ),
    "IM-ALG-06": measure_settings(
        {f"GL tolerance {eps:g}": _step_ratio(case) for case, eps in _TOLERANCES.items()}
    ),
    "IM-ALG-07": measure_settings({"GL exponent": _step_exponent}),
    "IM-ALG-14": measure_settings({"GL monotone": _monotone, "GL order": _order}),
}


def _values(
    summary: pd.DataFrame, case: str, quantity: str, *dims: str, prior: str | None = "strong"
) -> FloatArray:
    """A quantity of a case as an array with the given dims, under one prior; parameters in their order."""
    where = {} if prior is None or (case == "reference" and quantity in _WITHOUT_PRIOR) else {"prior": prior}
    found = find(summary, case, quantity, *dims, **where)
    if found is None:
        raise MissingData(_NOT_RUN)
    if "parameter" in dims:
        found = found.sel(parameter=list(_PARAMETERS))
    values: FloatArray = found.values
    if not np.isfinite(values).all():
        raise MissingData(f"{quantity} is not known: chains did not move, or there is one chain only")
    return values


_WITHOUT_PRIOR = ("data_difference", "n_observations")


def _reference(summary: pd.DataFrame, quantity: str, target: str, prior: str = "strong") -> FloatArray:
    found = find(summary, "reference", quantity, "parameter", prior=prior, target=target)
    if found is None:
        raise MissingData(_NOT_RUN)
    values: FloatArray = found.sel(parameter=list(_PARAMETERS)).values
    return values


def _chain_moments(summary: pd.DataFrame, case: str) -> tuple[FloatArray, FloatArray, FloatArray]:
    names = ("posterior_mean", "posterior_sd", "mcse_mean")
    mean, sd, error = (_values(summary, case, name, "parameter") for name in names)
    return mean, sd, error


def _require_length(summary: pd.DataFrame, case: str) -> None:
    draws = scalar(summary, case, "n_draws")
    if draws is None:
        raise MissingData(_NOT_RUN)
    if int(str(draws)) < _ENOUGH_ITERATIONS[case]:
        raise MissingData(f"chains of {draws} iterations are too short to tell")


def _step_rates(summary: pd.DataFrame):  # type: ignore[no-untyped-def]
    found = find(summary, "step_sizes", "acceptance_probability", "tolerance", "step_size", "chain")
    if found is None:
        raise MissingData(_NOT_RUN)
    return found.sortby("tolerance").sortby("step_size")


def _limit(summary: pd.DataFrame) -> tuple[FloatArray, FloatArray, FloatArray]:
    found = [
        find(summary, "reference", name, "limit_tolerance", "parameter")
        for name in ("limit_shift", "limit_shift_error")
    ]
    if found[0] is None or found[1] is None:
        raise MissingData(_NOT_RUN)
    shifts, errors = (
        f.sortby("limit_tolerance").sel(parameter=list(_PARAMETERS)) for f in found if f is not None
    )
    return shifts["limit_tolerance"].values.astype(float), shifts.values, errors.values
