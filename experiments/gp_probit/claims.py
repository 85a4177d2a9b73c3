"""Measures the published claims PM-P01 to PM-P20 from the study's tables."""

import itertools
import math
from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from auxmc.diagnostics.distributions import histogram_roughness
from auxmc.engine.claims import Measurement, few_replicates, mean_over_replicates, standard_error
from auxmc.engine.lookup import find, scalar
from auxmc.plots.style import METHOD_LABELS
from experiments.gp_probit.lookup import MAIN_METHODS, main_case

__all__ = ["MEASURE"]

Measured = dict[str, Measurement]
FloatArray = NDArray[np.float64]

_APM = ("apm_mi_mh", "apm_ss_mh", "apm_ss_ss")
_PUBLISHED_DRAWS = 10_000
_ENOUGH_FOR_STUCK_RUNS = 500
_ENOUGH_FOR_R_HAT = 5000
_ENOUGH_DRAWS = 200
_ENOUGH_ENDS = 10
_N_BOOTSTRAP = 400
_AGGREGATE = "mean over coordinates"
_NOT_RUN = "not run at this preset"


def data_size(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P01."""
    case = main_case("pm_mh")
    quantities = {
        "rows read": ("rows_read", ""),
        "incomplete rows": ("rows_incomplete", "the public file has 16 incomplete rows, not 17"),
        "rows used": ("rows_used", "all complete rows; drop_first_complete_row=true gives 682"),
        "features": ("features", ""),
    }
    return {
        setting: _exact(find(summary, case, quantity), note)
        for setting, (quantity, note) in quantities.items()
    }


def newton_steps(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P02."""
    steps = find(summary, "estimator", "newton_steps", "chain", "reference")
    return {
        "posterior draws": _missing()
        if steps is None
        else mean_over_replicates(steps.mean("reference").values)
    }


def small_steps(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P03."""
    rates = find(summary, "estimator", "acceptance_fixed_step", "step_size", "chain")
    out = {}
    for step in (0.001, 0.01, 0.1):
        at = None if rates is None else rates.sel(step_size=np.isclose(rates["step_size"], step))
        known = at is not None and at.sizes["step_size"] == 1
        out[f"step size {step:g}"] = (
            mean_over_replicates(at.values.ravel()) if at is not None and known else _missing()
        )
    return out


def fifty_samples(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P04."""
    one, fifty = "side_pm__n_importance-1", main_case("pm_mh")
    rates = find(summary, "estimator", "acceptance_pm_mh", "n_importance", "chain", "reference")
    accept = _missing()
    if rates is not None and {1, 50} <= set(rates["n_importance"].values):
        few, many = (rates.sel(n_importance=n).mean("reference").values for n in (1, 50))
        # Adaptation hides the difference in the adapted runs, by smaller steps with one sample.
        adapted = [_chain_values(summary, case, "acceptance_position") for case in (one, fifty)]
        known = [f"{v.mean():.2g}" for v in adapted if v is not None]
        note = "expected rates at the same posterior draws and step size"
        accept = _ratio(many, few, note + (f"; adapted runs: {' and '.join(known)}" if known else ""))
    return {
        "accept rate N=50 / N=1": accept,
        "time per iteration N=50 / N=1": _time_ratio(summary, fifty, one, "run_time_per_iteration"),
    }


def one_sample(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P05."""
    rates = _chain_values(summary, "side_mi", "acceptance_last_batches")
    steps = _chain_values(summary, "side_mi", "adapted_step_size")
    return {
        "accept rate of last batches": _missing()
        if rates is None
        else mean_over_replicates(rates, "last quarter of the batches"),
        "adapted step size": _missing() if steps is None else mean_over_replicates(steps),
    }


def efficiency(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P06."""
    found = {m: _efficiency(summary, m) for m in MAIN_METHODS}
    out = {}
    for method, values in found.items():
        out[f"average {METHOD_LABELS[method]}"] = (
            _missing()
            if values is None
            else mean_over_replicates(values.mean(axis=1), _short_chains(summary))
        )
    settings = ("average APM MI+MH / PM MH", "ordering of averages", "coordinates in this order")
    complete = {m: v for m, v in found.items() if v is not None}
    if len(complete) < len(MAIN_METHODS):
        return out | dict.fromkeys(settings, _missing())
    ratio = _ratio(complete["apm_mi_mh"].mean(axis=1), complete["pm_mh"].mean(axis=1))

    def held(means: Mapping[str, FloatArray]) -> NDArray[np.bool_]:
        pm, mi, ss, slice_ = (means[m] for m in MAIN_METHODS)
        return np.stack([mi > pm, ss > pm, slice_ < np.minimum(pm, np.minimum(mi, ss))])

    averages = _bootstrapped(
        complete,
        lambda c: float(np.sum(held({m: v.mean(axis=1, keepdims=True).mean(axis=0) for m, v in c.items()}))),
    )
    each = _bootstrapped(
        complete, lambda c: float(np.sum(held({m: v.mean(axis=0) for m, v in c.items()}).all(axis=0)))
    )
    return out | dict(zip(settings, (ratio, averages, each), strict=True))


def time_per_operation(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P07."""
    times = [find(summary, main_case(m), "run_time_per_cubic_operation") for m in MAIN_METHODS]
    known = [float(time) for time in times if time is not None]
    if len(known) < len(MAIN_METHODS):
        return {"largest / smallest of methods": _missing()}
    return {"largest / smallest of methods": Measurement(max(known) / min(known), math.nan)}


def independence_acceptance(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P08."""
    main = _chain_values(summary, main_case("apm_mi_mh"), "acceptance_auxiliary")
    rates = find(summary, "estimator", "acceptance_mi", "n_importance", "chain", "reference")
    expected = _missing()
    if rates is not None and 50 in rates["n_importance"].values:
        expected = mean_over_replicates(rates.sel(n_importance=50).mean("reference").values)
    return {
        "main runs N=50": _missing() if main is None else mean_over_replicates(main),
        "estimator study N=50": expected,
    }


def slice_cost(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P09."""
    others = [m for m in MAIN_METHODS if m != "apm_ss_ss"]
    counts = {m: _chain_values(summary, main_case(m), "cubic_operations_per_iteration") for m in MAIN_METHODS}
    times = [find(summary, main_case(m), "run_time_per_iteration") for m in others]
    slice_time = find(summary, main_case("apm_ss_ss"), "run_time_per_iteration")
    operations, seconds = _missing(), _missing()
    slice_count = counts["apm_ss_ss"]
    rest = [counts[m] for m in others]
    if slice_count is not None and all(c is not None for c in rest):
        operations = _ratio(slice_count, np.concatenate([c for c in rest if c is not None]))
    if slice_time is not None and all(t is not None for t in times):
        mean = np.mean([float(t) for t in times if t is not None])
        seconds = Measurement(float(slice_time) / float(mean), math.nan)
    return {"cubic operations": operations, "run time": seconds}


def sticking(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P10."""
    runs = _chain_values(summary, main_case("pm_mh"), "longest_run")
    draws = find(summary, main_case("pm_mh"), "main_draws")
    if runs is None or draws is None:
        return {"share of chains stuck over 100": _missing(), "longest run": _missing()}
    share = float(np.mean(runs > 100))
    stuck = Measurement(share, math.sqrt(max(share * (1 - share), 1e-12) / len(runs)))
    longest = Measurement(float(runs.max()), math.nan, f"{len(runs)} chains of {float(draws):.0f} iterations")
    if float(draws) < _PUBLISHED_DRAWS:
        note = f"about chains of {_PUBLISHED_DRAWS} iterations; here {float(draws):.0f}, longest run {runs.max():.0f}"
        # Shorter chains can show more than the claim says, but cannot contradict it.
        stuck = stuck._replace(note=note) if share >= 0.5 else Measurement(math.nan, math.nan, note)
        longest = longest if runs.max() >= 200 else Measurement(math.nan, math.nan, note)
    return {"share of chains stuck over 100": stuck, "longest run": longest}


def adapted_acceptance(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P11."""
    out = {}
    for method in ("pm_mh", "apm_mi_mh", "apm_ss_mh"):
        rates = _chain_values(summary, main_case(method), "acceptance_position")
        out[METHOD_LABELS[method]] = _missing() if rates is None else mean_over_replicates(rates)
    return out


def posterior(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P12."""
    names = ("posterior_mean", "posterior_mean_mcse", "posterior_sd", "posterior_sd_mcse")
    rows = []
    for method in MAIN_METHODS:
        found = [find(summary, main_case(method), name, "coordinate") for name in names]
        chain_means = find(summary, main_case(method), "chain_mean", "chain", "coordinate")
        if chain_means is None or any(values is None for values in found):
            continue
        first = chain_means.isel(coordinate=0).values
        mean, mcse, sd, sd_mcse = (float(v[0]) for v in found if v is not None)
        # Chains that have not mixed know little of their error: the larger of the two estimates counts.
        rows.append((mean, max(mcse, standard_error(first)), sd, sd_mcse))
    settings = ("mean", "standard deviation", "largest difference of methods")
    if len(rows) < len(MAIN_METHODS):
        return dict.fromkeys(settings, _missing())
    means, mean_errors, sds, sd_errors = (np.array(column) for column in zip(*rows, strict=True))
    n_methods = len(rows)
    differences = [
        abs(means[a] - means[b]) / math.hypot(mean_errors[a], mean_errors[b])
        for a, b in itertools.combinations(range(n_methods), 2)
    ]
    pooled_sd = math.sqrt(float(np.mean(sds**2) + np.var(means)))
    return {
        "mean": Measurement(
            float(means.mean()), float(np.linalg.norm(mean_errors)) / n_methods, "main runs of all methods"
        ),
        "standard deviation": Measurement(pooled_sd, float(np.linalg.norm(sd_errors)) / n_methods),
        "largest difference of methods": Measurement(
            max(differences), math.nan, "pairs of methods, in combined standard errors"
        ),
    }


def many_samples(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P13."""
    many, fifty, apm = "side_pm__n_importance-500", main_case("pm_mh"), main_case("apm_mi_mh")
    ess = [_ess_per_iteration(summary, case) for case in (many, fifty)]
    time = _time_ratio(summary, many, fifty, "run_time_per_iteration")
    return {
        "ESS per iteration N=500 / N=50": (
            _missing() if ess[0] is None or ess[1] is None else _ratio(ess[0], ess[1], _short_chains(summary))
        ),
        "increase of run time": time._replace(value=time.value - 1.0),
        "longest run N=500 / N=50": _ratio_of_longest_runs(summary, curves, many, fifty),
        "longest run N=500 / APM MI+MH": _ratio_of_longest_runs(summary, curves, many, apm),
    }


def convergence(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P14."""
    by_cost = {m: _r_hat_path(curves, m, "cubic_operations_so_far") for m in MAIN_METHODS}
    by_time = {m: _r_hat_path(curves, m, "run_time_so_far") for m in ("pm_mh", "apm_ss_ss")}
    measured = {
        "end of run": _jackknifed(by_cost, _excess_at_end),
        "share of second half": _jackknifed(by_cost, _share_of_second_half),
        "share of second half against SS+SS by run time": _jackknifed(by_time, _share_of_second_half),
    }
    return {setting: _if_long(summary, m) for setting, m in measured.items()}


def rises(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P15."""
    paths = {m: _r_hat_path(curves, m, "cubic_operations_so_far") for m in MAIN_METHODS}

    def ratio(point: Mapping[str, "_Path"]) -> float:
        total = {m: _summed_rises(path.r_hat) for m, path in point.items()}
        largest = max(total[m] for m in _APM)
        return total["pm_mh"] / largest if largest > 0 else math.inf

    return {"PM MH / largest of APM": _if_long(summary, _jackknifed(paths, ratio))}


def roughness(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P16."""
    found = {m: find(curves, main_case(m), "histogram", "chain", "bin") for m in MAIN_METHODS}
    complete = {m: values.values for m, values in found.items() if values is not None and values.sum() > 0}
    settings = ("PM MH / roughest of APM", "rank of APM SS+SS")
    if len(complete) < len(MAIN_METHODS):
        return dict.fromkeys(settings, _missing())
    rough = {m: histogram_roughness(counts.sum(axis=0)) for m, counts in complete.items()}
    order = sorted(rough, key=lambda m: rough[m])

    def log_ratio(counts: Mapping[str, FloatArray]) -> float:
        values = {m: _roughness_of_chains(c) for m, c in counts.items()}
        return math.log(values["pm_mh"] / max(values[m] for m in _APM))

    ratio = rough["pm_mh"] / max(rough[m] for m in _APM)
    error = ratio * _bootstrapped(complete, log_ratio).error
    return {
        settings[0]: Measurement(ratio, error, "100 bins, all chains"),
        settings[1]: Measurement(
            float(order.index("apm_ss_ss") + 1),
            math.nan,
            "from smooth: " + ", ".join(METHOD_LABELS[m] for m in order),
        ),
    }


def auxiliary_time(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P17."""
    cases = (main_case("apm_ss_mh"), main_case("apm_mi_mh"))
    return {"SS+MH / MI+MH": _time_ratio(summary, *cases, "run_time_per_iteration")}


def similar(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P18."""
    found = {m: _efficiency(summary, m) for m in ("apm_ss_mh", "apm_mi_mh")}
    complete = {m: values for m, values in found.items() if values is not None}
    if len(complete) < 2:
        return {"SS+MH / MI+MH": _missing()}

    def mean_ratio(values: Mapping[str, FloatArray]) -> float:
        return float(np.mean(values["apm_ss_mh"].mean(axis=0) / values["apm_mi_mh"].mean(axis=0)))

    return {"SS+MH / MI+MH": _bootstrapped(complete, mean_ratio)._replace(note=_short_chains(summary))}


def no_sticking(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P19."""
    out = {}
    for method in _APM:
        runs = _chain_values(summary, main_case(method), "longest_run")
        draws = find(summary, main_case(method), "main_draws")
        if runs is None or draws is None:
            out[METHOD_LABELS[method]] = _missing()
        elif float(draws) < _ENOUGH_FOR_STUCK_RUNS:
            out[METHOD_LABELS[method]] = _missing(
                f"chains of {float(draws):.0f} iterations say nothing of long runs"
            )
        else:
            note = f"{len(runs)} chains of {float(draws):.0f} iterations"
            out[METHOD_LABELS[method]] = Measurement(float(runs.max()), math.nan, note)
    return out


def both_rankings(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
    """PM-P20."""
    found = {m: _efficiency(summary, m) for m in MAIN_METHODS}
    complete = {m: values for m, values in found.items() if values is not None}
    end = convergence(summary, curves)["end of run"]
    if len(complete) < len(MAIN_METHODS) or not math.isfinite(end.value):
        return {"both rankings": _missing(end.note)}

    def margin(values: Mapping[str, FloatArray]) -> float:
        means = {m: float(v.mean()) for m, v in values.items()}
        return min(means[m] for m in MAIN_METHODS[:-1]) - means["apm_ss_ss"]

    ess = _bootstrapped(complete, margin)
    held = float(ess.value > 0) + float(end.value > 0)
    doubtful = any(not abs(m.value) >= 2 * (m.error if math.isfinite(m.error) else 0.0) for m in (ess, end))
    note = f"ESS: {'holds' if ess.value > 0 else 'fails'}; Rhat: {'holds' if end.value > 0 else 'fails'}"
    return {"both rankings": Measurement(held, 1.0 if doubtful else 0.0, note)}


def _where_chains_are_long_enough(
    measure: Callable[[pd.DataFrame, pd.DataFrame], Measured],
) -> Callable[[pd.DataFrame, pd.DataFrame], Measured]:
    """The measurements, all missing where chains are so short that they show their start, not the posterior."""

    def measured(summary: pd.DataFrame, curves: pd.DataFrame) -> Measured:
        found = measure(summary, curves)
        shortest = float(summary["n_draws"].min()) if len(summary) else math.inf
        if shortest >= _ENOUGH_DRAWS:
            return found
        return dict.fromkeys(found, _missing(f"chains of {shortest:.0f} iterations are too short to tell"))

    return measured


MEASURE: dict[str, Callable[[pd.DataFrame, pd.DataFrame], Measured]] = {
    "PM-P01": data_size,
    **{
        claim: _where_chains_are_long_enough(measure)
        for claim, measure in {
            "PM-P02": newton_steps,
            "PM-P03": small_steps,
            "PM-P04": fifty_samples,
            "PM-P05": one_sample,
            "PM-P06": efficiency,
            "PM-P07": time_per_operation,
            "PM-P08": independence_acceptance,
            "PM-P09": slice_cost,
            "PM-P10": sticking,
            "PM-P11": adapted_acceptance,
            "PM-P12": posterior,
            "PM-P13": many_samples,
            "PM-P14": convergence,
            "PM-P15": rises,
            "PM-P16": roughness,
            "PM-P17": auxiliary_time,
            "PM-P18": similar,
            "PM-P19": no_sticking,
            "PM-P20": both_rankings,
        }.items()
    },
}


class _Path:
    """Path of R-hat of one method against a cost, with the paths that leave out one chain each."""

    def __init__(self, cost: FloatArray, ends: FloatArray, r_hat: FloatArray, left_out: FloatArray) -> None:
        self.cost, self.ends, self.r_hat, self.left_out = cost, ends, r_hat, left_out

    def without(self, chain: int) -> "_Path":
        """The path of the other chains."""
        return _Path(self.cost, self.ends, self.left_out[chain], self.left_out)


def _r_hat_path(curves: pd.DataFrame, method: str, cost: str) -> _Path | None:
    case = main_case(method)
    point = find(curves, case, "r_hat", "aggregate", "end")
    left_out = find(curves, case, "r_hat_left_out", "aggregate", "left_out", "end")
    place = find(curves, case, cost, "end")
    if point is None or left_out is None or place is None or place.size < _ENOUGH_ENDS:
        return None
    r_hat = point.sel(aggregate=_AGGREGATE).values
    if not np.isfinite(r_hat).any():
        return None
    return _Path(
        place.values, place["end"].values.astype(float), r_hat, left_out.sel(aggregate=_AGGREGATE).values
    )


def _second_half(paths: Mapping[str, _Path]) -> tuple[FloatArray, FloatArray]:
    """R-hat - 1 of PM MH in the second half of its run, and the largest of the others at equal cost."""
    pm = paths["pm_mh"]
    late = pm.ends > 0.5 * pm.ends[-1]
    others = [np.interp(pm.cost[late], p.cost, p.r_hat) for m, p in paths.items() if m != "pm_mh"]
    return pm.r_hat[late] - 1.0, np.max(others, axis=0) - 1.0


def _excess_at_end(paths: Mapping[str, _Path]) -> float:
    own, others = _second_half(paths)
    if not (own[-1] > 0 and others[-1] > 0):
        return math.nan
    return math.log(own[-1] / others[-1])


def _share_of_second_half(paths: Mapping[str, _Path]) -> float:
    own, others = _second_half(paths)
    return float(np.mean(own > others))


def _summed_rises(r_hat: FloatArray) -> float:
    excess = r_hat - 1.0
    usable = np.isfinite(excess) & (excess > 0)
    steps = np.diff(np.log(np.where(usable, excess, 1.0)))
    return float(np.sum(np.where(usable[1:] & usable[:-1], np.maximum(steps, 0.0), 0.0)))


def _jackknifed(
    paths: Mapping[str, _Path | None], function: Callable[[Mapping[str, _Path]], float]
) -> Measurement:
    """Value of a function of paths, with its error from leaving out each chain of each method in turn."""
    complete = {m: path for m, path in paths.items() if path is not None}
    if len(complete) < len(paths):
        return _missing("not run, or the chains are too short for a path of R-hat")
    variance = 0.0
    for method, path in complete.items():
        n_chains = len(path.left_out)
        values = np.array([function({**complete, method: path.without(c)}) for c in range(n_chains)])
        jackknife = (n_chains - 1) / n_chains * float(np.sum((values - values.mean()) ** 2))
        variance += jackknife * few_replicates(n_chains) ** 2
    return Measurement(function(complete), math.sqrt(variance) if variance >= 0 else math.nan)


def _if_long(summary: pd.DataFrame, measured: Measurement) -> Measurement:
    """The measurement where the main chains are long enough for R-hat to show how they stick."""
    draws = scalar(summary, main_case("pm_mh"), "n_draws")
    if not math.isfinite(measured.value) or (draws is not None and int(str(draws)) >= _ENOUGH_FOR_R_HAT):
        return measured
    note = f"R-hat of chains of {draws} iterations shows how they came from their start; here {measured.value:.2g}"
    return _missing(note)


def _bootstrapped(
    chains: Mapping[str, FloatArray], function: Callable[[Mapping[str, FloatArray]], float]
) -> Measurement:
    """Value of a function of arrays [chain, ...], with its error from drawing chains with replacement."""
    rng = np.random.default_rng(0)
    values = []
    for _ in range(_N_BOOTSTRAP):
        drawn = {m: v[rng.integers(0, len(v), len(v))] for m, v in chains.items()}
        values.append(function(drawn))
    n_chains = min(len(v) for v in chains.values())
    if n_chains < 2:
        return Measurement(function(chains), math.nan)
    # The bootstrap of n values has a variance too small by (n - 1) / n.
    error = float(np.std(values)) * math.sqrt(n_chains / (n_chains - 1)) * few_replicates(n_chains)
    return Measurement(function(chains), error)


def _roughness_of_chains(counts: FloatArray) -> float:
    total = counts.sum(axis=0)
    return histogram_roughness(total) if total.sum() > 0 else math.nan


def _chain_values(table: pd.DataFrame, case: str, quantity: str) -> FloatArray | None:
    found = find(table, case, quantity, "chain")
    return None if found is None or not np.isfinite(found.values).all() else found.values


def _efficiency(summary: pd.DataFrame, method: str) -> FloatArray | None:
    """ESS per 1000 cubic operations [chain, coordinate]."""
    found = find(summary, main_case(method), "ess_per_1000_cubic_operations", "chain", "coordinate")
    return None if found is None else found.values


def _ess_per_iteration(summary: pd.DataFrame, case: str) -> FloatArray | None:
    """ESS per iteration, mean over coordinates [chain]."""
    ess: xr.DataArray | None = find(summary, case, "ess", "chain", "coordinate")
    draws = find(summary, case, "main_draws")
    return None if ess is None or draws is None else ess.mean("coordinate").values / float(draws)


def _ratio_of_longest_runs(summary: pd.DataFrame, curves: pd.DataFrame, top: str, bottom: str) -> Measurement:
    """Ratio of mean longest runs of identical states, both within as many iterations as `top` has."""
    draws = find(summary, top, "main_draws")
    paths = [find(curves, case, "longest_run_so_far", "chain", "end") for case in (top, bottom)]
    if draws is None or paths[0] is None or paths[1] is None:
        return _missing()
    if float(draws) < _ENOUGH_FOR_STUCK_RUNS:
        return _missing(f"chains of {float(draws):.0f} iterations say nothing of long runs")
    runs = [
        np.array([np.interp(float(draws), p["end"].values, chain) for chain in p.values])
        for p in paths
        if p is not None
    ]
    return _ratio(runs[0], runs[1], f"within {float(draws):.0f} iterations, averaged over chains")


def _time_ratio(summary: pd.DataFrame, top: str, bottom: str, quantity: str) -> Measurement:
    times = [find(summary, case, quantity) for case in (top, bottom)]
    if times[0] is None or times[1] is None:
        return _missing()
    return Measurement(float(times[0]) / float(times[1]), math.nan)


def _ratio(top: FloatArray, bottom: FloatArray, note: str = "") -> Measurement:
    """Ratio of means over chains, its error by linearisation."""
    if not np.mean(bottom) > 0:
        return _missing("the denominator is zero")
    value = float(np.mean(top) / np.mean(bottom))
    relative = [standard_error(v) / float(np.mean(v)) if np.mean(v) else 0.0 for v in (top, bottom)]
    return Measurement(value, abs(value) * math.hypot(*relative), note)


def _exact(value: xr.DataArray | None, note: str) -> Measurement:
    return _missing() if value is None else Measurement(float(value), 0.0, note)


def _missing(note: str = _NOT_RUN) -> Measurement:
    return Measurement(math.nan, math.nan, note or _NOT_RUN)


def _short_chains(summary: pd.DataFrame) -> str:
    """Warns where chains are shorter than the published ones."""
    draws = scalar(summary, main_case("pm_mh"), "n_draws")
    if draws is None or int(str(draws)) >= _PUBLISHED_DRAWS:
        return ""
    return f"chains of {draws} iterations in place of {_PUBLISHED_DRAWS}: ESS is uncertain and biased"
