"""Measures the published claims PM-P01 to PM-P20, and the numbers of the findings, from the tables of the study."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from scipy import stats

from auxmc.diagnostics.coda import scale_reduction_of_moments
from auxmc.diagnostics.distributions import histogram_roughness
from auxmc.numerics.array_types import BooleanArray, FloatArray, IntegerArray
from auxmc_pipeline.measuring import (
    Measurement,
    estimate,
    largest,
    mean,
    proportion_of,
    proportion_of_sets_where,
)
from auxmc_pipeline.plots.looks import METHOD_LABELS
from auxmc_pipeline.published_values import DISTANCE, log_distance, published_series
from auxmc_pipeline.tables import Measure, MissingData, Tables, first_run, recorded
from experiments.gp_probit.settings import AVERAGE, MAIN_METHODS, OUTPUT_SCALE, RIVALS, main_case

_MAIN = PM, MI, SS, SLICE = tuple(map(main_case, MAIN_METHODS))
_ONE_SAMPLE, _FIVE_HUNDRED_SAMPLES = "side_pm__n_importance-1", "side_pm__n_importance-500"
_MORE = {
    PM: "pm_mh_more",
    MI: "apm_more__method-apm_mi_mh",
    SS: "apm_more__method-apm_ss_mh",
    _ONE_SAMPLE: "side_pm_one",
}
_MORE_50, _MORE_500 = (f"side_pm_more__n_importance-{n}" for n in (50, 500))  # of 2000 iterations
PER_OPERATION, PER_CALL = "ess_per_1000_cubic_operations", "ess_per_1000_estimates"
_CALLS = ["estimates_position_per_iteration", "estimates_auxiliary_per_iteration"]
_RUN_TIME = "run_time_so_far"
_SECONDS = dict(zip(_MAIN, (0.0184, 0.0187, 0.0196, 0.0184), strict=True))  # footnote 5: of a cubic operation
_THOUSANDS, _VISIBLE = 2000, 100  # run lengths: PM-P10, and PM-P13 and P19 in a trace
_ENOUGH_ENDS, _MOST_ENDS = 10, 0.7  # PM-P14: fewest ends of a path, fraction where PM MH must be largest
_ORDINARY = 0.025  # PM-P10, PM-P19: the edge of the bands
_RISES = 0.365  # PM-P15: half of the summed rises of log(R-hat - 1) that are drawn


def chain_mean(tables: Tables, case: str, quantity: str) -> Measurement:
    """Mean over chains of what each recorded: PM-P02, PM-P03, PM-P05, PM-P08."""
    return mean(tables.values(quantity, case=case))


def timed(value: float) -> Measurement:
    """A value that a clock enters: all chains of a case ran in one program, so that its error is unknown."""
    return Measurement(value, math.nan)


def time_ratio(tables: Tables, above: str, below: str) -> Measurement:
    """PM-P04, PM-P17: ratio of the run times of an iteration of two cases."""
    seconds = [tables.value("run_time_per_iteration", case=case) for case in (above, below)]
    return timed(seconds[0] / seconds[1])


def with_most_chains(tables: Tables, case: str) -> str:
    """The same run with more chains, where the preset has it."""
    return first_run(tables, _MORE.get(case, case), case)


of_data = partial(recorded, exact=True, case=PM)  # PM-P01


def at_posterior_draws(tables: Tables, quantity: str, n_importance: int) -> FloatArray:
    """A quantity of the density estimate, mean over the posterior draws of a chain [chain]."""
    rows = tables.rows("chain_reference", quantity, case="estimator", n_importance=n_importance)
    return rows.groupby("chain")[quantity].mean().to_numpy()


def newton_steps(tables: Tables) -> Measurement:
    """PM-P02, main runs: of an estimate, which has three more cubic operations."""
    found = [
        tables.values("cubic_operations_per_iteration", case=case) / tables.values(_CALLS[0], case=case)
        for case in _MAIN
    ]
    return mean(np.concatenate(found) - 3.0)


def at_fixed_steps(tables: Tables) -> Measurement:
    """PM-P03: in chains that start from posterior draws, mean over the step sizes of each."""
    rates = tables.rows("chain", "acceptance_fixed_step", case="estimator")
    return mean(rates.groupby("chain")["acceptance_fixed_step"].mean())


def _sides_of(tables: Tables) -> list[str]:
    """Cases of APM MI+MH with one importance sample that were run."""
    return [case for case in tables["settings"]["case"] if case.startswith("side_mi")]


def adapted_acceptance(tables: Tables) -> Measurement:
    """PM-P05: in the last quarter of the batches."""
    rates = tables.values("acceptance_last_batches", case=_sides_of(tables))
    return mean(rates, f"last quarter of the batches; chains {rates.min():.3g} to {rates.max():.3g}")


def scale_reduction(tables: Tables) -> Measurement:
    """PM-P05, Rhat: the largest of all coordinates at the end of the run."""
    n_draws = int(tables.value("main_draws", case="side_mi"))
    cases, names = _sides_of(tables), ("chain_mean", "chain_sd")
    arrays = [[tables.array(name, "chain", "coordinate", case=case) for case in cases] for name in names]
    moments = [xr.concat(each, "chain") for each in arrays]

    def r_hat(means: FloatArray, sds: FloatArray) -> float:
        return float(scale_reduction_of_moments(means[None], sds[None] ** 2, n_draws).point[0])

    labels = moments[0]["coordinate"].values
    each = [estimate(r_hat, *(m.sel(coordinate=label) for m in moments), method="paired") for label in labels]
    return largest([found.value for found in each], [found.error for found in each], list(map(str, labels)))


def fifty_over_one(tables: Tables) -> Measurement:
    """PM-P04, acceptance rates."""
    one, fifty = (at_posterior_draws(tables, "acceptance_pm_mh", n) for n in (1, 50))
    note = "expected rates at the same posterior draws and step size"
    # Adaptation hides the difference in the adapted runs, by smaller steps with one sample.
    if {_ONE_SAMPLE, PM} <= set(tables["chain"]["case"]):
        adapted = (tables.values("acceptance_position", case=case).mean() for case in (_ONE_SAMPLE, PM))
        note += f"; adapted runs: {' and '.join(f'{rate:.2g}' for rate in adapted)}"
    return estimate(lambda a, b: float(a.mean() / b.mean()), fifty, one, method="paired", note=note)


def efficiencies(tables: Tables, *cases: str) -> list[FloatArray]:
    """ESS per 1000 cubic operations [chain, coordinate] of each case."""
    runs = [with_most_chains(tables, case) for case in cases]
    return [tables.array(PER_OPERATION, "chain", "coordinate", case=run).values for run in runs]


def average(tables: Tables, case: str) -> Measurement:
    """PM-P06, the average over coordinates."""
    return mean(efficiencies(tables, case)[0].mean(axis=1))


def margins(pm: FloatArray, mi: FloatArray, ss: FloatArray, of_slice: FloatArray) -> FloatArray:
    """Logs of MI+MH and SS+MH over PM MH, of both over SS+SS, and of PM MH over it: above 0 the claimed order holds."""
    return np.log([mi / pm, ss / pm, mi / of_slice, ss / of_slice, pm / of_slice])


def margin(tables: Tables, axis: int | None, part: slice) -> Measurement:
    """PM-P06, PM-P20: the margin that a part of the ratios have, of averages (axis None) or of all coordinates (0)."""
    found = efficiencies(tables, *_MAIN)
    return estimate(lambda *c: float(margins(*(v.mean(axis) for v in c))[part].min()), *found)


def time_per_operation(tables: Tables) -> Measurement:
    """PM-P07."""
    times = [tables.value("run_time_per_cubic_operation", case=case) for case in _MAIN]
    return timed(max(times) / min(times))


def printed_time_of_slices(tables: Tables) -> Measurement:
    """PM-P09, printed seconds."""
    quantity = "cubic_operations_per_iteration"
    *others, of_slice = (_SECONDS[case] * tables.values(quantity, case=case) for case in _MAIN)
    return mean(of_slice) / mean(np.concatenate(others))


def time_of_slices(tables: Tables) -> Measurement:
    """PM-P09, run time."""
    *others, of_slice = (tables.value("run_time_per_iteration", case=case) for case in _MAIN)
    return timed(of_slice / float(np.mean(others)))


def operations_ratio(tables: Tables, above: str, below: str) -> Measurement:
    """PM-P04, PM-P17: ratio of the cubic operations of an iteration of two cases."""
    found = [chain_mean(tables, case, "cubic_operations_per_iteration") for case in (above, below)]
    return found[0] / found[1]


def similar(tables: Tables) -> Measurement:
    """PM-P18."""
    return estimate(lambda a, b: np.mean(a.mean(axis=0) / b.mean(axis=0)), *efficiencies(tables, SS, MI))


def probability_of_drawn(
    tables: Tables, least: int, n_drawn: int, n_chains: int = 10, cases: tuple[str, ...] = (PM,)
) -> Measurement:
    """PM-P10, PM-P19: that of how many of the document's chains have such a run."""
    found = [tables.values("longest_run", case=with_most_chains(tables, case)) for case in cases]
    holds = np.concatenate(found) >= least
    note = chains_with_run(tables, cases, least).note
    return tail_of_count(n_drawn, n_chains, int(holds.sum()), holds.size, note)


def tail_of_count(n_drawn: int, n_chains: int, count: int, n_ours: int, note: str) -> Measurement:
    """Smaller tail probability of a count of the document's chains, by a count of ours.

    Two errors reach to its farthest value towards the edge of the band, for proportions in their exact interval.
    """
    level = 1.0 - 2.0 * stats.norm.sf(2.0)
    limits = stats.binomtest(count, n_ours).proportion_ci(level)
    places = np.append(count / n_ours, np.linspace(limits.low, limits.high, 2001))
    below, above = stats.binom.cdf(n_drawn, n_chains, places), stats.binom.sf(n_drawn - 1, n_chains, places)
    tails = np.minimum(below, above)
    farthest = tails.min() if tails[0] > _ORDINARY else tails.max()
    return Measurement(float(tails[0]), float(abs(tails[0] - farthest)) / 2.0, note)


def probability_of_all(tables: Tables) -> Measurement:
    """PM-P10: that all ten have at least two runs of hundreds of states."""
    found = tables.values("n_long_runs", case=with_most_chains(tables, PM))
    n_hold = int((found >= 2).sum())
    return tail_of_count(10, 10, n_hold, found.size, f"{n_hold} of {found.size} runs")


def log_ratio_of_longest_runs(tables: Tables) -> Measurement:
    """PM-P04, stability: runs are positive and skew, so that the error of their logarithm decides."""
    cases = _MORE_50, with_most_chains(tables, _ONE_SAMPLE)
    runs = [tables.values("longest_run", case=case) for case in cases]
    note = f"means {' and '.join(f'{values.mean():.3g}' for values in runs)}"
    return estimate(lambda a, b: math.log(a.mean() / b.mean()), *runs, note=note)


def chains_with_run(tables: Tables, cases: tuple[str, ...], least: int) -> Measurement:
    """PM-P05, P13: proportion of chains with a run of so many identical states."""
    found = [tables.values("longest_run", case=with_most_chains(tables, case)) for case in cases]
    runs = np.concatenate(found)
    said = ", ".join(f"{run:g}" for run in np.sort(runs))
    return proportion_of(runs >= least, f"longest runs {said}")


def output_scale(tables: Tables, quantity: str) -> FloatArray:
    """A moment of the log output scale in the chains of all main runs [chain]."""
    wanted = {"by": "chain_coordinate", "coordinate": OUTPUT_SCALE}
    return np.concatenate([tables.values(quantity, case=case, **wanted) for case in _MAIN])


def posterior_mean(tables: Tables) -> Measurement:
    """PM-P12, mean."""
    means = output_scale(tables, "chain_mean")
    return mean(means, f"{means.size} chains of all methods")


def posterior_sd(tables: Tables) -> Measurement:
    """PM-P12, standard deviation."""
    means, sds = (output_scale(tables, name) for name in ("chain_mean", "chain_sd"))
    note = f"{means.size} chains of all methods together"
    return estimate(lambda m, s: math.sqrt(np.mean(s**2) + np.var(m)), means, sds, method="paired", note=note)


def ess_per_iteration(tables: Tables, case: str) -> Measurement:
    """ESS per iteration, mean over coordinates."""
    ess = tables.array("ess", "chain", "coordinate", case=case)
    return mean(ess.mean("coordinate") / tables.value("main_draws", case=case))


def ratio_of_ess(tables: Tables, above: str, below: str) -> Measurement:
    """PM-P04, PM-P13, effective samples."""
    return ess_per_iteration(tables, above) / ess_per_iteration(tables, below)


def more_samples(tables: Tables) -> tuple[str, str]:
    """PM-P13: cases with 500 and 50 samples, of equal length where the preset has those with more chains."""
    return first_run(tables, _MORE_500, _FIVE_HUNDRED_SAMPLES), first_run(tables, _MORE_50, PM)


def log_ratio_of_ess(tables: Tables) -> Measurement:
    """PM-P13, effective samples: a ratio of skew positive numbers is decided by the error of its logarithm."""
    found = ratio_of_ess(tables, *more_samples(tables))
    return Measurement(math.log(found.value), found.error / found.value)


def sticking(tables: Tables, *below: str) -> Measurement:
    """PM-P13: proportion of chains that stick, as in PM-P19, with 500 samples less that of other cases."""
    parts = [chains_with_run(tables, cases, _VISIBLE + 1) for cases in ((_MORE_500,), below)]
    return (parts[0] - parts[1]).noted(f"{' and '.join(f'{part.value:.3g}' for part in parts)} of the chains")


def roughness(counts: FloatArray) -> float:
    """Roughness of the histogram of all chains from counts [chain, bin], NaN where it is empty."""
    pooled = counts.sum(axis=0)
    return histogram_roughness(pooled) if pooled.sum() > 0 else math.nan


def pm_over_roughest(pm: FloatArray, *others: FloatArray) -> float:
    """PM-P16: log ratio of roughness of PM MH and of the roughest of the others, from counts [chain, bin]."""
    return math.log(roughness(pm) / max(map(roughness, others)))


def slices_over_smoothest(*counts: FloatArray) -> float:
    """PM-P16: the same of SS+SS and of the smoothest of the others."""
    *others, of_slice = map(roughness, counts)
    return math.log(of_slice / min(others))


def of_histograms(tables: Tables, log_ratio: Callable[..., float]) -> Measurement:
    """PM-P16, of the log output scale."""
    found = [tables.array("histogram", "chain", "bin", case=case).values for case in _MAIN]
    if not all(counts.sum() > 0 for counts in found):
        raise MissingData("no draws in the range of the histogram")
    return estimate(log_ratio, *found, note="100 bins, all chains")


class Path(NamedTuple):
    """Path of R-hat of one case against a cost, with the paths that leave out one chain each."""

    cost: FloatArray  # of a chain so far [end]
    ends: FloatArray  # iterations so far [end]
    r_hat: FloatArray  # of all chains [end]
    left_out: FloatArray  # R-hat without a chain [chain, end]

    def of(self, kept: IntegerArray) -> "Path":
        """The path of the chains with these numbers, all or all but one."""
        if len(kept) == len(self.left_out):
            return self
        (without,) = set(range(len(self.left_out))) - set(kept.tolist())
        return self._replace(r_hat=self.left_out[without])


def path_of(tables: Tables, case: str, cost: str) -> Path:
    """The path of a case; raises MissingData where the chains are too short for one."""
    place = tables.array(cost, "end", case=case)
    if place.size < _ENOUGH_ENDS:
        raise MissingData("the chains are too short for a path of R-hat")
    wanted = {"case": case, "aggregate": AVERAGE}
    left_out = tables.array("psrf_left_out", "left_out", "end", table="aggregate_left_out_end", **wanted)
    found = (tables.array("psrf", "end", table="aggregate_end", **wanted), left_out)
    return Path(place.values, place["end"].values, *(one.reindex(end=place["end"]).values for one in found))


def log_excess(paths: Mapping[str, Path]) -> FloatArray:
    """Log of R-hat - 1, of PM MH over the largest of the others, at equal cost [end of the second half of its run]."""
    pm = paths[PM]
    late = pm.ends > 0.5 * pm.ends[-1]
    others = [np.interp(pm.cost[late], p.cost, p.r_hat) for case, p in paths.items() if case != PM]
    least = np.finfo(np.float64).eps
    own, largest = np.maximum(pm.r_hat[late] - 1.0, least), np.maximum(np.max(others, axis=0) - 1.0, least)
    return np.log(own / largest)


def at_end(paths: Mapping[str, Path]) -> float:
    """PM-P14, PM-P20: the log excess at the end of the run of PM MH."""
    return float(log_excess(paths)[-1])


def at_most_ends(paths: Mapping[str, Path]) -> float:
    """PM-P14: what the log excess is above at most of the ends."""
    return float(np.quantile(log_excess(paths), 1.0 - _MOST_ENDS))


def summed_rises(r_hat: FloatArray) -> FloatArray:
    """Summed rises of log(R-hat - 1) [...] from one end to the next, both above 1, by paths [..., end]."""
    excess = r_hat - 1.0
    usable = np.isfinite(excess) & (excess > 0)
    steps = np.diff(np.log(np.where(usable, excess, 1.0)), axis=-1)
    both = usable[..., 1:] & usable[..., :-1]
    return np.sum(np.where(both, np.maximum(steps, 0.0), 0.0), axis=-1)


def sets_with_rises(tables: Tables) -> Measurement:
    """PM-P15: proportion of sets of ten chains whose R-hat rises at least half as much as is drawn."""
    case, dims = with_most_chains(tables, PM), ("end", "chain", "coordinate")
    means, sds = (tables.array(f"{name}_so_far", *dims, case=case) for name in ("mean", "sd"))
    if len(means) < _ENOUGH_ENDS:
        raise MissingData("the chains are too short for a path of R-hat")

    def rise(sets: IntegerArray) -> BooleanArray:
        path = []
        for end, *of_chains in zip(means["end"].values, means.values, sds.values, strict=True):
            of_means, of_sds = (np.moveaxis(values[sets], 1, 2) for values in of_chains)
            path.append(scale_reduction_of_moments(of_means, of_sds**2, int(end)).point.mean(axis=1))
        return summed_rises(np.stack(path, axis=-1)) >= _RISES

    return proportion_of_sets_where(rise, means.sizes["chain"], 10)


def of_paths(
    tables: Tables,
    function: Callable[[Mapping[str, Path]], float],
    cost: str = "cubic_operations_so_far",
    cases: tuple[str, ...] = _MAIN,
) -> Measurement:
    """A function of the paths of some cases, with its error from leaving out each chain of each case in turn.

    Cubic operations take the printed seconds.
    """
    # A clock compares what one machine ran at one time
    runs = {case: case if cost == _RUN_TIME else with_most_chains(tables, case) for case in cases}
    paths = {case: path_of(tables, run, cost) for case, run in runs.items()}
    if cost != _RUN_TIME:
        paths = {case: path._replace(cost=_SECONDS[case] * path.cost) for case, path in paths.items()}

    def of_chains(*kept: FloatArray) -> float:
        chosen = (path.of(chains.astype(int)) for path, chains in zip(paths.values(), kept, strict=True))
        return function(dict(zip(paths, chosen, strict=True)))

    chains = [np.arange(len(path.left_out)) for path in paths.values()]
    return estimate(of_chains, *chains, method="jackknife")


MEASURE: dict[str, dict[str, Measure]] = {
    "PM-P01": {
        "rows read": of_data("rows_read"),
        "incomplete rows": of_data("rows_incomplete", note="the public file has 16 incomplete rows, not 17"),
        "rows used": of_data("rows_used", note="all complete rows; drop_first_complete_row=true gives 682"),
        "features": of_data("features"),
    },
    "PM-P02": {
        "main runs": newton_steps,
        **{
            f"figure 3.11b, {METHOD_LABELS[method]}": partial(
                chain_mean, case=main_case(method), quantity="cubic_operations_per_iteration"
            )
            for method in MAIN_METHODS
        },
    },
    "PM-P03": {
        # As the step falls to zero x stays, and u has independent proposals.
        "limit of small steps": lambda t: mean(at_posterior_draws(t, "acceptance_mi", 1)),
        "fixed small steps": at_fixed_steps,
        "adapted steps": lambda t: chain_mean(t, with_most_chains(t, _ONE_SAMPLE), "acceptance_position"),
    },
    "PM-P04": {
        "acceptance rate N=50 / N=1": fifty_over_one,
        "ESS per iteration N=50 / N=1": lambda t: ratio_of_ess(t, _MORE_50, with_most_chains(t, _ONE_SAMPLE)),
        "time per iteration N=50 / N=1": partial(time_ratio, above=_MORE_50, below=_ONE_SAMPLE),
        "cubic operations per iteration N=50 / N=1": lambda t: operations_ratio(t, _MORE_50, _ONE_SAMPLE),
        "log longest run N=50 / N=1": log_ratio_of_longest_runs,
    },
    "PM-P05": {
        "acceptance rate of last batches": adapted_acceptance,
        "Rhat": scale_reduction,
    },
    "PM-P06": {
        **{
            f"average {METHOD_LABELS[method]}": partial(average, case=main_case(method))
            for method in MAIN_METHODS
        },
        "ordering of averages": partial(margin, axis=None, part=slice(4)),
        "ordering of coordinates": partial(margin, axis=0, part=slice(2)),
    },
    "PM-P07": {"largest / smallest of methods": time_per_operation},
    "PM-P08": {"main runs N=50": partial(chain_mean, case=MI, quantity="acceptance_auxiliary")},
    "PM-P09": {"printed seconds": printed_time_of_slices, "run time": time_of_slices},
    "PM-P10": {
        "chains that stick for hundreds": probability_of_all,
        "chains that stick for over 2000": partial(probability_of_drawn, least=_THOUSANDS + 1, n_drawn=1),
    },
    "PM-P12": {"mean": posterior_mean, "standard deviation": posterior_sd},
    "PM-P13": {
        "ESS per iteration N=500 / N=50": log_ratio_of_ess,
        "ESS per second N=500 / N=50": lambda t: log_ratio_of_ess(t).exp() / time_ratio(t, *more_samples(t)),
        "increase of run time": lambda t: time_ratio(t, *more_samples(t)) - 1.0,
        "chains that stick N=500 - APM": lambda t: sticking(t, MI, SS, SLICE),
        "chains that stick N=500 - N=50": lambda t: sticking(t, _MORE_50),
    },
    "PM-P14": {
        "end of run": partial(of_paths, function=at_end),
        "most of second half": partial(of_paths, function=at_most_ends),
        "most of second half against SS+SS by run time": partial(
            of_paths, function=at_most_ends, cost=_RUN_TIME, cases=(PM, SLICE)
        ),
    },
    "PM-P15": {"sets of ten with rises": sets_with_rises},
    "PM-P16": {
        f"{name}{drawn}": partial(of_histograms, log_ratio=log_ratio)
        for name, log_ratio in (
            ("PM MH / roughest of APM", pm_over_roughest),
            ("APM SS+SS / smoothest of others", slices_over_smoothest),
        )
        for drawn in ("", ", figure")
    },
    "PM-P17": {
        "SS+MH / MI+MH": partial(time_ratio, above=SS, below=MI),
        "cubic operations SS+MH / MI+MH": partial(operations_ratio, above=SS, below=MI),
    },
    "PM-P18": {"SS+MH / MI+MH": similar},
    "PM-P19": {
        "chains that stick": partial(
            probability_of_drawn, least=_VISIBLE + 1, n_drawn=0, n_chains=20, cases=(MI, SS)
        )
    },
    "PM-P20": {
        "ESS of SS+SS / PM MH": lambda t: margin(t, None, slice(4, 5)) * -1.0,
        "Rhat at end against SS+SS": partial(of_paths, function=at_end, cases=(PM, SLICE)),
    },
}


def compared_chains(tables: Tables) -> pd.DataFrame:
    """Chains of the methods of the thesis and of the rivals, with ESS per 1000 operations and per 1000 estimates."""
    runs, by = tables["settings"], ["case", "chain"]
    runs = runs[runs["case"].isin(map(main_case, MAIN_METHODS)) | runs["method"].isin(RIVALS)]
    steps = runs.reindex(columns=["case", "method", "step_size", "auxiliary_step"])
    ess = tables.rows("chain_coordinate", "ess").groupby(by)[["ess", PER_OPERATION]].mean().reset_index()
    lengths = tables.rows("point", "main_draws")[["case", "main_draws"]]
    found = tables.rows("chain")[[*by, *_CALLS]].merge(ess, on=by).merge(steps).merge(lengths)
    found[PER_CALL] = 1000.0 * found["ess"] / (found["main_draws"] * found[_CALLS].sum(axis=1))
    return found


def gain(tables: Tables, above: str, below: str, quantity: str) -> Measurement:
    """Ratio of the efficiencies of two methods, each at the best of its step sizes."""
    chains = compared_chains(tables)
    best = []
    for method in (above, below):
        cases = [rows[quantity].to_numpy() for _, rows in chains[chains["method"] == method].groupby("case")]
        if not cases:
            raise MissingData(f"no chains of {method}: not run at this preset")
        best.append(mean(max(cases, key=np.mean)))
    return best[0] / best[1]


_GAINS = {
    "correlated over PM MH": ("cpm_mh", "pm_mh"),
    "Crank-Nicolson over independence": ("apm_cn_mh", "apm_mi_mh"),
    "PM HMC over independence": ("pm_hmc", "apm_mi_mh"),
}


def distance_from_bars(tables: Tables, method: str) -> Measurement:
    """Distance of efficiencies by coordinate from the bars of figure 3.11a."""
    bars = efficiencies(tables, main_case(method))[0].mean(axis=0)
    return log_distance(published_series("gp_probit", "3.11a", method), np.arange(1.0, bars.size + 1), bars)


NUMBERS: dict[str, Measure] = {
    **{f"{DISTANCE} 3.11a, {m}": partial(distance_from_bars, method=m) for m in MAIN_METHODS},
    "distinct inputs": of_data("distinct_inputs"),
    "acceptance rate of u from importance weights": lambda t: mean(
        at_posterior_draws(t, "acceptance_mi", 50)
    ),
    "adapted step size of APM MI+MH, one sample": lambda t: chain_mean(t, "side_mi", "adapted_step_size"),
    **{
        f"{name}, per {unit}": partial(gain, above=above, below=below, quantity=quantity)
        for name, (above, below) in _GAINS.items()
        for unit, quantity in (("operation", PER_OPERATION), ("estimate", PER_CALL))
    },
}
