"""Measures the claims about annealed importance sampling of streams: SE-50 to SE-66."""

import math

import numpy as np

from auxmc.diagnostics.gradient_noise import evidence_loss_per_row, particle_variance_ratio
from auxmc_pipeline.claims import Measurement, mean_over_replicates
from auxmc_pipeline.lookup import MissingData
from experiments.streaming_evidence.claims_evidence import (
    final_error,
    ratio_of_means,
    share_of_runs,
    slope_of_time,
    streaming_speed_up,
    time_slope,
)
from experiments.streaming_evidence.lookup import (
    Measure,
    Series,
    Tables,
    at,
    curve,
    default,
    errors,
    final_rows,
    full_data,
    main,
    measures,
    slope,
    total,
    varied,
)

# Published settings, and tr(I) of a row of the linear stream.
_RATE, _BATCH, _FRICTION, _TRACE = 0.1, 500, 0.2, 6.0
# From here on the posterior is so narrow that terms of its own width do not count.
_LATE = 20_000

FLOORS = {
    "default": (_RATE, _BATCH, _FRICTION),
    "learning_rate=0.03": (0.03, _BATCH, _FRICTION),
    "learning_rate=0.3": (0.3, _BATCH, _FRICTION),
    "learning_rate=1": (1.0, _BATCH, _FRICTION),
    "batch_size=200 chunk_size=500": (_RATE, 200, _FRICTION),
    "batch_size=2000 chunk_size=500": (_RATE, 2000, _FRICTION),
    "friction=0.1": (_RATE, _BATCH, 0.1),
    "friction=0.5": (_RATE, _BATCH, 0.5),
}
"""Variations of the linear case, with their learning rate, batch size and friction."""

_FIXES = ("resampled", "cooled", "control_variates", "corrected")
_SIZES_SEEN = (500, 1000, 5000)


def predicted_loss(rate: float, batch: float = _BATCH, friction: float = _FRICTION) -> float:
    """Loss of log evidence for each row of the linear stream, in nats."""
    return evidence_loss_per_row(rate, batch, friction, _TRACE)


def predicted_ratio(n_rows: float) -> float:
    """Variance of particles over that of the posterior, published settings."""
    return particle_variance_ratio(_RATE, _BATCH, _FRICTION, n_rows)


def speed_up(model: str, rival: str = "nested") -> dict[str, Measure]:
    """Time and operations of a rival over those of the annealed estimator."""
    return {
        "time": streaming_speed_up(model, "annealed", rival),
        "operations": streaming_speed_up(model, "annealed", rival, count=True),
    }


def annealed_slope(tables: Tables) -> Measurement:
    """SE-55, growth of the time of annealed importance sampling."""
    sizes = (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
    seconds, kept = [], []
    for n in sizes:
        try:
            seconds.append(float(np.median(full_data(tables, "linear", "annealed_seconds", n))))
            kept.append(float(n))
        except MissingData:
            continue
    if len(kept) < 2:
        raise MissingData("fewer than two numbers of rows: not run at this preset")
    return Measurement(
        time_slope(np.array(seconds), np.array(kept)), math.nan, f"{kept[0]:.0f} to {kept[-1]:.0f} rows"
    )


def annealed_steps(size: int) -> Measure:
    """SE-55, annealing steps."""
    return lambda tables: mean_over_replicates(full_data(tables, "linear", "annealed_steps", size))


def within_rivals(model: str) -> Measure:
    """SE-58: runs within the range of the runs of nested and annealed sampling, a nat on either side added."""

    def measure(tables: Tables) -> Measurement:
        inside = []
        for size in _SIZES_SEEN:
            rivals = np.concatenate(
                [full_data(tables, model, f"{name}_log_evidence", size) for name in ("nested", "annealed")]
            )
            own = at(curve(tables, main(model), "log_evidence"), size)
            inside += list((own >= rivals.min() - 1.0) & (own <= rivals.max() + 1.0))
        return share_of_runs(np.array(inside), "at 500, 1000 and 5000 rows")

    return measure


def better_early(tables: Tables) -> Measurement:
    """SE-58, against the sequential estimator."""
    ratios, words = [], []
    for size in (500, 1000):
        own, rival = (
            np.median(np.abs(at(errors(tables, main("linear", name)), size)))
            for name in ("annealed", "sequential")
        )
        ratios.append(float(own / rival))
        words.append(f"{size} rows: {own:.0f} against {rival:.0f} nats")
    return Measurement(max(ratios), math.nan, "; ".join(words))


def slower_than_sequential(model: str) -> Measure:
    """SE-59."""

    def measure(tables: Tables) -> Measurement:
        own, rival = (
            total(tables, main(model, name), "seconds_total") for name in ("annealed", "sequential")
        )
        steps = float(np.mean(total(tables, main(model), "steps_per_chunk")))
        return ratio_of_means(own, rival, f"{steps:.2f} annealing steps a chunk")

    return measure


def all_sizes(rival: str) -> Measure:
    """SE-60: time of a rival for all numbers of rows over that for the largest."""

    def measure(tables: Tables) -> Measurement:
        quantity = f"{rival}_seconds"
        found = tables.summary
        rows = found[(found["case"] == "linear_full") & (found["quantity"] == quantity)].dropna(
            subset=["value"]
        )
        if rows.empty:
            raise MissingData(f"{quantity}: not run at this preset")
        by_size = rows.groupby("size")["value"].mean()
        value = float(by_size.sum() / by_size.iloc[-1])
        return Measurement(value, math.nan, f"{len(by_size)} numbers of rows up to {by_size.index[-1]:.0f}")

    return measure


def linear_time(model: str) -> Measure:
    """SE-61."""
    return lambda tables: slope_of_time(curve(tables, main(model), "seconds"))


def floor(variation: str) -> Measure:
    """SE-62, mean log weight: slope over the predicted one."""

    def measure(tables: Tables) -> Measurement:
        series = default(tables, "floor") if variation == "default" else varied("floor", variation)
        weights = curve(tables, series, "mean_log_weight")
        exact = curve(tables, series, "exact").iloc[0]
        n_rows = final_rows(tables, "floor")
        if n_rows < 5 * _LATE:
            raise MissingData(f"needs {5 * _LATE} rows, this preset has {n_rows:.0f}")
        found = slope(weights - exact, _LATE, n_rows)
        predicted = predicted_loss(*FLOORS[variation])
        return mean_over_replicates(found / predicted, f"{found.mean():.3g} a row, predicted {predicted:.3g}")

    return measure


def evidence_floor(tables: Tables) -> Measurement:
    """SE-62, log evidence, published settings."""
    found = slope(errors(tables, main("linear")), 200_000, 1_000_000)
    predicted = predicted_loss(_RATE)
    return mean_over_replicates(found / predicted, f"{found.mean():.3g} a row, predicted {predicted:.3g}")


def spread_of_particles(n_rows: int) -> Measure:
    """SE-63: mean over the chunks within a fifth of a number of rows."""

    def measure(tables: Tables) -> Measurement:
        series = main("linear")
        found = curve(tables, series, "variance_ratio")
        chunks = curve(tables, series, "n_chunks_so_far").iloc[0].diff()
        columns = found.columns.to_numpy(dtype=float)
        near = columns[(columns > 0.8 * n_rows) & (columns <= 1.2 * n_rows)]
        if columns[-1] < n_rows or not near.size:
            raise MissingData(f"{n_rows} rows: not run at this preset")
        expected = np.array([predicted_ratio(n) for n in near])
        weights = chunks[near].to_numpy()
        ratios = (found[near].to_numpy() / expected) @ weights / weights.sum()
        return mean_over_replicates(
            ratios, f"{ratios.mean() * predicted_ratio(n_rows):.4g} times the posterior's"
        )

    return measure


def shared_rows(method: str) -> Measure:
    """SE-64."""

    def measure(tables: Tables) -> Measurement:
        n_rows = final_rows(tables, "floor")
        if n_rows < 5 * _LATE:
            raise MissingData(f"needs {5 * _LATE} rows, this preset has {n_rows:.0f}")
        shared = slope(errors(tables, varied("floor", f"method={method}_shared")), _LATE, n_rows)
        own = slope(errors(tables, main("linear", method)), _LATE, n_rows)
        return ratio_of_means(shared, own, f"{shared.mean():.3g} against {own.mean():.3g} a row")

    return measure


def fixed(method: str) -> Measure:
    """SE-65: slope of the error of a corrected estimator over that of the published one, both late."""

    def measure(tables: Tables) -> Measurement:
        corrected = method == "corrected"
        n_rows = final_rows(tables, "linear" if corrected else "floor")
        if n_rows < 100_000:
            raise MissingData(f"needs 100000 rows, this preset has {n_rows:.0f}")
        series = main("linear", method) if corrected else varied("floor", f"method={method}")
        first = n_rows / 5
        own, published = (slope(errors(tables, s), first, n_rows) for s in (series, main("linear")))
        found = mean_over_replicates(own / float(published.mean()))
        note = f"{own.mean():.3g} against {published.mean():.3g} a row from {first:.0f} to {n_rows:.0f} rows"
        return Measurement(abs(found.value), found.error, note)

    return measure


def right_signs(method: str) -> Measure:
    """SE-66."""

    def measure(tables: Tables) -> Measurement:
        signs, words = [], []
        for name in ("irrelevant", "weak"):
            exact = float(total(tables, Series("pair", {"input": name}), "exact_factor")[0])
            found = total(tables, Series("pair", {"input": name, "method": method}), "factor")
            signs += list(np.sign(found) == np.sign(exact))
            words.append(f"{name} input: {found.mean():.1f} nats, exactly {exact:.1f}")
        if final_rows(tables, "pair") < 100_000:
            raise MissingData("fewer than 100000 rows at this preset")
        return share_of_runs(np.array(signs), "; ".join(words), exact=True)

    return measure


MEASURE = {
    "SE-50": measures({"relative": final_error("linear", "annealed", 1_000_000, relative=True)}),
    "SE-51": measures(speed_up("linear")),
    "SE-52": measures(speed_up("linear", "annealed")),
    "SE-53": measures({"relative": final_error("softmax", "annealed", 100_000, relative=True)}),
    "SE-54": measures(speed_up("softmax")),
    "SE-55": measures(
        {
            "slope": annealed_slope,
            **{f"steps, {n} rows": annealed_steps(n) for n in (1000, 10_000, 100_000, 1_000_000)},
        }
    ),
    "SE-56": measures({"relative": final_error("mixture", "annealed", 30_000, relative=True)}),
    "SE-57": measures(speed_up("mixture")),
    "SE-58": measures(
        {
            **{f"{model}, within": within_rivals(model) for model in ("linear", "softmax", "mixture")},
            "linear, error over sequential error": better_early,
        }
    ),
    "SE-59": measures({model: slower_than_sequential(model) for model in ("linear", "softmax", "mixture")}),
    "SE-60": measures(
        {"nested sampling": all_sizes("nested"), "annealed importance sampling": all_sizes("annealed")}
    ),
    "SE-61": measures({model: linear_time(model) for model in ("linear", "softmax", "mixture")}),
    "SE-62": measures(
        {
            **{f"mean log weight, {name}": floor(name) for name in FLOORS},
            "log evidence, default": evidence_floor,
        }
    ),
    "SE-63": measures({f"{n} rows": spread_of_particles(n) for n in (10_000, 100_000, 1_000_000)}),
    "SE-64": measures({name: shared_rows(name) for name in ("sequential", "annealed")}),
    "SE-65": measures({name: fixed(name) for name in _FIXES}),
    "SE-66": measures({"published settings": right_signs("annealed"), "corrected": right_signs("corrected")}),
}
