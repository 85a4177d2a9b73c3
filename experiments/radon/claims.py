"""Measures the published claims CT-D01 to CT-D11, and the numbers of the findings, from the tables of the study."""

import math
from functools import partial

import numpy as np
import xarray as xr
from scipy.stats import norm

from auxmc.numerics.array_types import BooleanArray, FloatArray, IntegerArray
from auxmc_pipeline.measuring import (
    Measurement,
    estimate,
    exact,
    mean,
    proportion,
    proportion_of,
    proportion_of_sets_where,
    quantile,
    rate,
    score_of_p_values,
)
from auxmc_pipeline.tables import Measure, MissingData, Tables, recorded
from experiments.radon.grouped import RADON_COLUMNS, RADON_FILE, read_grouped

_PUBLISHED_AIS, _PUBLISHED_END = -1081.01, -1088.49
_PUBLISHED_CHAINS, _PUBLISHED_RUNS = 10, 100
_NEAR_NATS = 0.3
_AS_DRAWN = "nuts_as_drawn"  # Starts as the drawn chains
# Half of the drawn band after the last iteration, in nats; standard errors on either side of a bootstrap interval of
# 95 % of ten values, whose resamples have nine tenths of their variance.
_DRAWN_HALF, _BOOTSTRAP_ERRORS = 0.17605, 1.96 * math.sqrt(0.9)
_CASES = {
    "AIS": "ais",
    "NUTS": "nuts",
    "centred NUTS": "centred",
    "Gibbs CT": "hmc__method-gibbs_ct",
    "CT-HMC": "hmc__method-ct_hmc",
}
# CT-HMC takes as many gradients as Gibbs CT.
_COUNTED = {name: case for name, case in _CASES.items() if name != "CT-HMC"}
of_nuts = partial(recorded, case="nuts")
lower_bound = partial(recorded, "lower_bound", "lower_bound_error")
log_evidence = partial(recorded, "log_evidence", "log_evidence_error")


def exact_evidence(tables: Tables, case: str = "nuts") -> float:
    """Log evidence by quadrature."""
    return tables.value("exact_log_evidence", case=case)


def continuous_regressors(_: Tables) -> Measurement:
    """CT-D02: regressors of the data with more than two values."""
    values = read_grouped(RADON_FILE, RADON_COLUMNS).regressors
    return exact(sum(len(np.unique(column)) > 2 for column in values.T), "the floor is 0 or 1")


def annealed(tables: Tables) -> Measurement:
    """CT-D03."""
    ess = tables.value("ess_is", case="ais")
    return log_evidence(case="ais")(tables).noted(f"effective sample size of the weights {ess:.0f}")


def quadrature_and_line(tables: Tables) -> Measurement:
    """CT-D04."""
    evidence = exact_evidence(tables)
    return exact(evidence - _PUBLISHED_AIS, f"quadrature gives {evidence:.4f}")


def ends_below(tables: Tables) -> Measurement:
    """CT-D05: proportion of variational fits that end below the published one."""
    ends = tables.values("log_zeta_by_fit", "fit", case="fits")
    note = f"mean {ends.mean():.2f}, standard deviation of a fit {ends.std(ddof=1):.2f} nats"
    return proportion_of(ends < _PUBLISHED_END, note)


def improvement(tables: Tables) -> Measurement:
    """CT-D08: mean of the last estimates of the chains minus the mean end of the fits."""
    chains = mean(tables.values("log_evidence_by_chain", case="nuts"))
    return chains - mean(tables.values("log_zeta_by_fit", "fit", case="fits"))


def bound(tables: Tables) -> Measurement:
    """CT-D05, the sign."""
    return lower_bound(case="nuts")(tables) - exact_evidence(tables)


def final_estimate(tables: Tables, case: str = "nuts") -> Measurement:
    """CT-D06, in nats: mean over chains of their estimates, as published."""
    by_chain, evidence = tables.values("log_evidence_by_chain", case=case), exact_evidence(tables, case)
    pooled = tables.value("log_evidence", case=case) - evidence
    return mean(by_chain - evidence, f"{by_chain.size} chains; their pooled estimate differs by {pooled:.3f}")


def _sets(by_chain: FloatArray) -> FloatArray:
    """Values of disjoint sets of ten chains [set, chain, ...] from those of chains [chain, ...]."""
    n_sets = len(by_chain) // _PUBLISHED_CHAINS
    if not n_sets:
        raise MissingData(f"{_PUBLISHED_CHAINS} chains: not run at this preset")
    used = by_chain[: n_sets * _PUBLISHED_CHAINS]
    return used.reshape(n_sets, _PUBLISHED_CHAINS, *by_chain.shape[1:])


def intervals(tables: Tables, n_errors: float, *, are_narrow: bool = False) -> Measurement:
    """CT-D06: proportion of sets of ten chains whose intervals hold the exact value, or are no wider than the drawn."""
    off = tables.values("log_evidence_by_chain", case=_AS_DRAWN) - exact_evidence(tables, _AS_DRAWN)

    def meet(sets: IntegerArray) -> BooleanArray:
        half = n_errors * off[sets].std(axis=1, ddof=1) / math.sqrt(_PUBLISHED_CHAINS)
        return half <= _DRAWN_HALF if are_narrow else np.abs(off[sets].mean(axis=1)) < half

    return proportion_of_sets_where(meet, off.size, _PUBLISHED_CHAINS, "each of ten chains, as published")


def running(tables: Tables, n_iterations: int, published: float, case: str = "nuts_early") -> Measurement:
    """CT-D07: proportion of sets of ten chains whose mean running estimate is at least the published one."""
    by_chain = tables.values("running_by_chain", "chain_iteration", case=case, iteration=n_iterations)
    shuffled = np.random.default_rng(0).permuted(np.tile(np.arange(by_chain.size), (200, 1)), axis=1)
    sets, level = _sets(shuffled.T), published + exact_evidence(tables, case)
    found = estimate(lambda x: np.mean(x[sets].mean(axis=1) >= level), by_chain, note="as published")
    # Resamples have no spread where the condition holds in no set, or in all.
    return found if found.error > 0.0 else proportion(found.value, len(sets), found.note)


def near_from(tables: Tables, n_iterations: int) -> Measurement:
    """CT-D07: proportion of sets of ten chains whose mean running estimate stays near from an iteration on."""
    estimates = tables.array("running_by_chain", "chain", "iteration", case=_AS_DRAWN)
    late = estimates.sel(iteration=slice(n_iterations, None)) - exact_evidence(tables, _AS_DRAWN)
    n_chains, n_late = late.shape
    if n_chains <= _PUBLISHED_CHAINS or not n_late:
        raise MissingData(f"more than {_PUBLISHED_CHAINS} longer chains: not run at this preset")

    def stays(sets: IntegerArray) -> BooleanArray:
        return np.asarray((np.abs(late.values[sets].mean(axis=1)) <= _NEAR_NATS).all(axis=1))

    note = f"of ten chains, as published; from iteration {int(late['iteration'][0])} on"
    return proportion_of_sets_where(stays, n_chains, _PUBLISHED_CHAINS, note)


def near_after(estimates: xr.DataArray, means: FloatArray, truth: float) -> FloatArray:
    """Iterations after which means of running estimates [set, iteration] stay near the exact value [set]."""
    far = np.abs(means - truth) > _NEAR_NATS
    # The first iteration after the last that is far; none where that is the end of the run.
    first = np.where(far.any(axis=1), far.shape[1] - np.argmax(far[:, ::-1], axis=1), 0)
    return np.append(estimates["iteration"].values, math.inf)[first]


def mean_until_near(tables: Tables) -> Measurement:
    """CT-D07: iterations after which the mean running estimate of all chains stays near the exact value."""
    estimates = tables.array("running_by_chain", "chain", "iteration", case=_AS_DRAWN)
    truth = exact_evidence(tables, _AS_DRAWN)
    return estimate(
        lambda of: float(near_after(estimates, of.mean(axis=0)[None], truth)[0]), estimates.values
    )


def iterations_until_near(tables: Tables) -> Measurement:
    """CT-D07: the same of means of ten chains, median over sets."""
    estimates = tables.array("running_by_chain", "chain", "iteration", case=_AS_DRAWN)
    after = near_after(estimates, _sets(estimates.values).mean(axis=1), exact_evidence(tables, _AS_DRAWN))
    note = (
        f"median of {len(after)} sets of ten chains, as published; {np.isinf(after).sum()} are far at the end"
    )
    found = quantile(after, 0.5, note)
    return found._replace(value=float(np.median(after)))  # infinite if most are not near


def seconds_until_near(tables: Tables) -> Measurement:
    """CT-D07: the same as time."""
    found = iterations_until_near(tables).value
    if math.isinf(found):
        raise MissingData("does not stay near within the iterations of this preset")
    there = tables.rows("iteration", "time_so_far", case=_AS_DRAWN).query("iteration >= @found").iloc[0]
    note = f"{there['gradients_so_far']:.0f} gradients in a chain"
    return Measurement(there["time_so_far"], math.nan, note)


def divergences(tables: Tables) -> Measurement:
    """CT-D10: diverged trajectories in a thousand."""
    counts = tables.values("n_failures", case="nuts")
    thousands = float(tables.setting("n_draws", case="nuts")) / 1000.0
    note = f"{int(counts.sum())} in all"
    return mean(counts / thousands, note) if counts.any() else rate(0, counts.size * thousands, note)


def base_moments(tables: Tables) -> Measurement:
    """CT-D11."""
    scores = np.abs(tables.values("base_moment_score", "base_moment", case="nuts"))
    note = f"{scores.size} means and second moments; mean square score {np.mean(scores**2):.2f}"
    return score_of_p_values(2.0 * norm.sf(scores), note)


def parametrisations(tables: Tables) -> Measurement:
    """Distance of the evidence of the centred and the non-centred form, in standard errors."""
    centred, other = (mean(tables.values("log_evidence_by_chain", case=c)) for c in ("centred", "nuts"))
    return (centred - other).noted("centred minus non-centred, nats").score()


def gradients(tables: Tables, case: str) -> Measurement:
    """Gradients of all chains or runs of a case, in millions; of the no-U-turn sampler as they happened."""
    if case == "ais":
        n_runs = tables.value("n_runs", case=case)
        return exact(tables.value("n_gradients_per_run", case=case) * n_runs / 1e6)
    each = tables.values("n_gradients_per_chain", case=case) / 1e6
    # Trajectories of fixed length take the same number in each chain.
    return exact(float(each.sum())) if np.ptp(each) == 0.0 else mean(each) * each.size


def error_of_reference(tables: Tables) -> Measurement:
    """Standard error of as many annealed runs as published, with that of a standard deviation of normal numbers."""
    error, n_runs, ess = (tables.value(q, case="ais") for q in ("log_evidence_error", "n_runs", "ess_is"))
    found = error * math.sqrt(n_runs / _PUBLISHED_RUNS)
    return Measurement(found, found / math.sqrt(2.0 * ess))


def error_of_chains(tables: Tables) -> Measurement:
    """Root mean square error of the mean estimate of ten chains."""
    off = tables.values("log_evidence_by_chain", case="nuts") - exact_evidence(tables)
    return estimate(
        lambda x: math.hypot(x.mean(), x.std(ddof=1) / math.sqrt(_PUBLISHED_CHAINS)), off, method="jackknife"
    )


MEASURE: dict[str, dict[str, Measure]] = {
    "CT-D01": {"largest difference": of_nuts("data_difference", exact=True, note="needs AUXMC_DATA_DIR")},
    "CT-D02": {
        "parameters": of_nuts("n_parameters", exact=True),
        "counties": of_nuts("n_groups", exact=True),
        "rows": of_nuts("n_rows", exact=True),
        "continuous regressors": continuous_regressors,
    },
    "CT-D03": {"log evidence": annealed},
    "CT-D04": {"quadrature minus published line": quadrature_and_line},
    "CT-D05": {"fits that end below": ends_below, "final bound minus exact value": bound},
    "CT-D06": {
        "last estimate minus quadrature": final_estimate,
        "estimate by starts as drawn minus quadrature": partial(final_estimate, case=_AS_DRAWN),
        "intervals that hold the exact value": partial(intervals, n_errors=_BOOTSTRAP_ERRORS),
        "band as captioned": partial(intervals, n_errors=3.0, are_narrow=True),
        "band as drawn": partial(intervals, n_errors=_BOOTSTRAP_ERRORS, are_narrow=True),
    },
    "CT-D07": {
        "start as in the text": partial(running, n_iterations=1, published=303.0, case="nuts_first"),
        "start as in the notebook": partial(running, n_iterations=1, published=303.0),
        "100 iterations": partial(running, n_iterations=100, published=0.84),
        "250 iterations": partial(running, n_iterations=250, published=-0.12),
        "near from iteration 204": partial(near_from, n_iterations=204),
        "iterations until the mean is near": mean_until_near,
        "iterations until near": iterations_until_near,
        "seconds until near": seconds_until_near,
    },
    "CT-D08": {"last estimate minus mean end of the fits": improvement},
    "CT-D09": {
        "variational fit": of_nuts("fit_seconds", note="depends on the machine"),
        "NUTS chain": of_nuts("seconds_per_chain", note="depends on the machine"),
    },
    "CT-D10": {"diverged per 1000 iterations": divergences},
    "CT-D11": {"p-value as a standard score": base_moments},
}

NUMBERS: dict[str, Measure] = {
    "log zeta": of_nuts("log_zeta", "log_zeta_error"),
    "bound of the non-centred fit": lower_bound(case="nuts"),
    "bound of the centred fit": lower_bound(case="centred"),
    "AIS error": error_of_reference,
    "NUTS error": error_of_chains,
    "exact log evidence": of_nuts("exact_log_evidence", exact=True),
    "change of the quadrature between grids": of_nuts("exact_log_evidence_error", exact=True),
    "centred minus non-centred form, in standard errors": parametrisations,
    **{f"log evidence by {name}": log_evidence(case=case) for name, case in _CASES.items()},
    **{f"million gradients of {name}": partial(gradients, case=case) for name, case in _COUNTED.items()},
}
