"""Figures of the study, drawn from its tables."""

import contextlib
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from auxmc.numerics.array_types import FloatArray
from auxmc.plots.style import CYCLE
from auxmc_pipeline.footer import footer
from auxmc_pipeline.plots.looks import QUANTITY_COLOURS
from auxmc_pipeline.plots.panels import page
from auxmc_pipeline.plots.published import entries_published_last, published_mark
from auxmc_pipeline.published_values import published_value
from auxmc_pipeline.tables import MissingData, Tables, available
from experiments.streaming_evidence import stream_runs
from experiments.streaming_evidence.model import NON_STATIONARY_PHASES
from experiments.streaming_evidence.model import rows as simulated_rows
from experiments.streaming_evidence.predicted_noise import RATES, predicted_loss, predicted_ratio

REFERENCE_COLOUR = QUANTITY_COLOURS["reference"]
_SIDE = 5.0
_N_BINS = 60
_SHOWN_SCORES = (-4.0, -3.15)  # in nats for each row: all curves but their first chunks
_LAST_SHOWN_STEPS = 50_000.0


class Look(NamedTuple):
    """How a method is drawn; what is None is matplotlib's own."""

    label: str | None
    color: str
    linestyle: str = "-"
    marker: str | None = None
    linewidth: float | None = None


_FIRST_ROWS = 100
_PUBLISHED_ROWS = 1_000_000
_MARGIN = 0.35  # of the height, above and below the medians of the late half of the rows

_LOOKS = {
    "annealed": Look("SGAIS", CYCLE[0]),
    "sequential": Look("sequential", CYCLE[1]),
    "hybrid": Look("sequential from NS of 100 rows", CYCLE[2], "--"),
    "corrected": Look("SGAIS, control variates, resampling", CYCLE[4], "-."),
    "running_laplace": Look("running Laplace", CYCLE[5], "--"),
    "nested": Look("nested sampling", CYCLE[3], marker="o"),
    "ais": Look("AIS", "#000000", marker="s"),
    "resampled": Look("resampling", CYCLE[1]),
    "cooled": Look("cooled rate", CYCLE[3]),
    "control_variates": Look("control variates", CYCLE[2]),
}
_RUNS = _LOOKS["annealed"]._replace(label="runs")
_TITLES = {"linear": "linear regression", "softmax": "softmax regression", "mixture": "mixture"}


def evidence_figure(tables: Tables, model: str, methods: tuple[str, ...]) -> Figure:
    """Figures 5.2 to 5.7."""
    figure, (left, right) = page(3.3, 1, 2)
    estimates = available(partial(log_evidence, tables, model), methods)
    times = available(partial(seconds, tables, model), [name for name in methods if name != "hybrid"])
    _evidence_panel(left, tables, model, estimates)
    _time_panel(right, times)
    for axis, title in ((left, "(a)"), (right, "(b)")):
        axis.set_title(title)
        log_rows(axis)
    _legend(figure, 3)
    return stream_footer(figure, tables, model)


def errors_figure(tables: Tables) -> Figure:
    """Absolute errors in nats of all methods."""
    figure, axes = page(3.2, 1, len(stream_runs.MODEL_CASES), sharey=True)
    for axis, model in zip(axes, stream_runs.MODEL_CASES, strict=True):
        axis.set_title(_TITLES[model])
        truth = _from_first_rows(stream_runs.reference(tables, model)).abs()
        methods = ("annealed", "sequential", "corrected", "running_laplace", "nested", "ais")
        for name, found in available(partial(absolute_errors, tables, model), methods).items():
            look = _LOOKS[name]
            # Near-exact values are far apart: each of them shows where it is.
            band(axis, found, look if model == "linear" else look._replace(marker=look.marker or "o"))
        axis.plot(truth.index, 1e-3 * truth, ":", color=REFERENCE_COLOUR, label="0.1 % of the log evidence")
        axis.axhline(1.0, color=REFERENCE_COLOUR, linewidth=0.8)
        if model == "linear":
            _published_errors(axis, truth)
        axis.set_yscale("log")
        axis.set_ylim(0.03, 5e3)
        log_rows(axis)
    figure.supylabel("absolute error (nats)", fontsize=8.5)
    _legend(figure, 4)
    return stream_footer(figure, tables, "|".join(stream_runs.MODEL_CASES))


def _published_errors(axis: Axes, truth: pd.Series) -> None:
    """The thesis has errors after a million rows alone: shorter streams have no place for them."""
    for name, claim, setting, unit in (
        ("sequential", "SE-34", "per row", 1.0 / _PUBLISHED_ROWS),
        ("annealed", "SE-50", "relative", 1.0 / float(truth.iloc[-1])),
    ):
        if truth.index[-1] == _PUBLISHED_ROWS:
            value = published_value("streaming_evidence", claim, setting)
            published_mark(axis, _PUBLISHED_ROWS, value, unit=unit, colour=_LOOKS[name].color)


def floor_figure(tables: Tables) -> Figure:
    """What gradient noise does to the linear model."""
    figure, (left, middle, right) = page(3.3, 1, 3)
    for axis, draw in ((left, _loss_panel), (middle, _variance_panel), (right, _remedies_panel)):
        draw(axis, tables)
    entries = right.get_legend_handles_labels()
    figure.legend(*entries, loc="outside upper center", ncols=3, title="right panel")
    return stream_footer(figure, tables, "linear|floor")


def log_evidence(tables: Tables, model: str, name: str) -> pd.DataFrame:
    """Log evidence of each row by a method, by rows."""
    if name in stream_runs.RIVALS:
        found = stream_runs.by_size(tables, model, f"{stream_runs.RIVALS[name]}_log_evidence").ffill()
        return stream_runs.per_row(found)
    if name == "hybrid":
        found = stream_runs.published(tables, model, "sequential").curve("log_evidence_hybrid")
    else:
        found = stream_runs.published(tables, model, name).curve("log_evidence")
    return stream_runs.per_row(stream_runs.between(found, _FIRST_ROWS))


def seconds(tables: Tables, model: str, name: str) -> pd.DataFrame:
    """Time of a method, by rows."""
    if name in stream_runs.RIVALS:
        return stream_runs.by_size(tables, model, f"{stream_runs.RIVALS[name]}_seconds").ffill()
    return stream_runs.between(stream_runs.published(tables, model, name).curve("seconds"), _FIRST_ROWS)


def absolute_errors(tables: Tables, model: str, name: str) -> pd.DataFrame:
    """Absolute errors of a method's log evidence, by rows."""
    if name in stream_runs.RIVALS:
        return stream_runs.full_data_errors(tables, model, name).ffill().abs()
    errors = stream_runs.errors_of(stream_runs.published(tables, model, name))
    return stream_runs.between(errors.abs(), _FIRST_ROWS)


def _evidence_panel(axis: Axes, tables: Tables, model: str, found: dict[str, pd.DataFrame]) -> None:
    for name, estimates in found.items():
        band(axis, estimates, _LOOKS[name])
    with contextlib.suppress(MissingData):
        truth = _from_first_rows(stream_runs.reference(tables, model))
        line, label = ("-", "exact") if model == "linear" else ("x", "near-exact")
        per = truth / truth.index
        axis.plot(truth.index, per, line, color=REFERENCE_COLOUR, linewidth=0.9, label=label)
    axis.set_ylabel("log evidence / rows (nats)")
    axis.set_ylim(_late_range(list(found.values())))


def _time_panel(axis: Axes, found: dict[str, pd.DataFrame]) -> None:
    for name, times in found.items():
        band(axis, times, _LOOKS[name])
        if name in stream_runs.RIVALS:
            axis.plot(times.columns, times.median().cumsum(), color=_LOOKS[name].color, linestyle=":")
    axis.set_yscale("log")
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.set_ylabel("processor time (s)")


def _from_first_rows(truth: pd.Series) -> pd.Series:
    return truth[truth.index >= _FIRST_ROWS]


def _late_range(ends: list[pd.DataFrame]) -> tuple[float, float]:
    last = max(float(stream_runs.row_counts(found)[-1]) for found in ends)
    middle = np.sqrt(_FIRST_ROWS * last)
    late = np.concatenate([stream_runs.between(found, middle / 3.0).median().to_numpy() for found in ends])
    low, high = float(late.min()), float(late.max())
    space = _MARGIN * max(high - low, 1e-3 * abs(low))
    return low - space, high + space


def _legend(figure: Figure, n_columns: int) -> None:
    entries: dict[str, Any] = {}
    for axis in figure.axes:
        for handle, label in zip(*entries_published_last(axis), strict=True):
            entries.setdefault(label, handle)
    figure.legend(list(entries.values()), list(entries), loc="outside upper center", ncols=n_columns)


def _loss_panel(axis: Axes, tables: Tables) -> None:
    n_rows = stream_runs.final_rows(tables, "floor")

    def loss(variation: str) -> FloatArray:
        runs = stream_runs.varied(tables, "floor", variation)
        lost = runs.curve("mean_log_weight") - runs.curve("exact").iloc[0]
        return -stream_runs.slope_per_row(lost, n_rows / 10, n_rows)

    found = {RATES[variation]: values for variation, values in available(loss, RATES).items()}
    n_runs = min(map(len, found.values()))  # of each rate: a range grows with the number of runs
    found = {rate: values[:n_runs] for rate, values in found.items()}
    band(axis, pd.DataFrame(found).sort_index(axis=1), _RUNS._replace(marker="o"))
    fine = np.geomspace(min(found), max(found), 50)
    lost = [-predicted_loss(rate) for rate in fine]
    axis.plot(fine, lost, "--", color=REFERENCE_COLOUR, label="predicted")
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel("learning rate per row")
    axis.set_ylabel("loss per row (nats)")
    axis.legend(loc="upper left")


def _variance_panel(axis: Axes, tables: Tables) -> None:
    found = stream_runs.between(stream_runs.published(tables, "linear").curve("variance_ratio"), 1000)
    band(axis, found, _RUNS)
    rows = stream_runs.row_counts(found)
    ratios = [predicted_ratio(n) for n in rows]
    axis.plot(rows, ratios, "--", color=REFERENCE_COLOUR, label="predicted")
    axis.set_yscale("log")
    axis.set_ylabel("variance ratio")
    log_rows(axis)
    axis.legend(loc="upper left")


def _remedies_panel(axis: Axes, tables: Tables) -> None:
    n_rows = stream_runs.final_rows(tables, "floor")
    methods = ("annealed", "corrected", "running_laplace")
    runs = {name: stream_runs.published(tables, "linear", name) for name in methods}
    for name in ("resampled", "cooled", "control_variates"):
        runs[name] = stream_runs.varied(tables, "floor", f"method={name}")

    def errors(name: str) -> "pd.Series[float]":
        return stream_runs.between(stream_runs.errors_of(runs[name]).abs(), 1000, n_rows).median()

    for name, found in available(errors, runs).items():
        look = _LOOKS[name]
        axis.plot(found.index, found, color=look.color, linestyle=look.linestyle, label=look.label)
    axis.set_yscale("log")
    axis.set_ylabel("absolute error (nats)")
    log_rows(axis)


def rivals_figure(tables: Tables) -> Figure:
    """Moves with a thermostat against SGHMC, and bounds of the log evidence from both sides."""
    run = {m: stream_runs.variations_run(tables, f"thermostat__stream-{m}") for m in ("linear", "mixture")}
    run = {model: variations for model, variations in run.items() if variations}
    figure, grid = page(3.0, 1, len(run) + 1)
    axes = np.atleast_1d(grid)
    for axis, (model, variations) in zip(axes, run.items(), strict=False):
        marker = None if model == "linear" else "o"
        found = available(partial(stream_runs.thermostat_errors, tables, model), variations)
        for variation, both in found.items():
            rate = variation.partition("learning_rate=")[2]
            colour = CYCLE[("0.1", "0.3", "1", "").index(rate)]
            looks = [Look(f"SGNHT, {rate}", colour, "--"), Look(f"SGHMC, {rate}", colour)]
            if not rate:
                looks = [Look("SGHMC, 0.1, friction 1", colour, ":")]
            for errors, look in zip(both, looks, strict=False):
                band(axis, stream_runs.between(errors.abs(), 1000), look._replace(marker=marker))
        axis.set_title(_TITLES[model])
        axis.set_ylabel("absolute error (nats)")
        axis.set_yscale("log")
    _bounds_panel(axes[-1], tables)
    for axis in axes:
        log_rows(axis)
    _legend(figure, 4)
    return stream_footer(figure, tables, "thermostat.*")


def _bounds_panel(axis: Axes, tables: Tables) -> None:
    exact = stream_runs.by_size(tables, "linear", "exact", "bounds").iloc[0]
    for end, colour in (("lower", CYCLE[5]), ("upper", CYCLE[6])):
        found = stream_runs.by_size(tables, "linear", f"{end}_bound", "bounds") - exact
        band(axis, found, Look(f"{end} bound", colour, marker="o"))
    axis.axhline(0.0, color=REFERENCE_COLOUR, linewidth=0.8)
    axis.set_title("bounds, linear regression")
    axis.set_ylabel("bound - exact (nats)")


def histograms_figure(tables: Tables) -> Figure:
    """Figure 5.1: the rows themselves, which are the same at every preset."""
    del tables
    ends = np.cumsum([n for n, _ in NON_STATIONARY_PHASES])
    everything = simulated_rows("non_stationary", int(ends[-1]))
    parts = [*zip([0, *ends[:-1]], ends, strict=True), (0, ends[-1])]
    figure, axes = page(2.3, 1, len(parts), sharex=True, sharey=True)
    edges = np.linspace(-_SIDE, _SIDE, _N_BINS + 1)
    for axis, (begin, end) in zip(axes, parts, strict=True):
        first, second = everything[begin:end].T
        counts, _, _ = np.histogram2d(first, second, bins=[edges, edges])
        image = axis.pcolormesh(edges, edges, counts.T / counts.max(), cmap="viridis", vmin=0.0, vmax=1.0)
        image.set_rasterized(True)
        axis.set_aspect("equal")
        axis.set_title(f"rows {begin + 1} to {end}", fontsize=7.5)
        axis.set_xlabel("first column")
    axes[0].set_ylabel("second column")
    figure.colorbar(image, ax=axes, label="rows / most in a cell", shrink=0.8)
    return figure


def changes_figure(tables: Tables) -> Figure:
    """Figure 5.8."""
    figure, (left, right) = page(3.3, 1, 2)
    for number, k in enumerate(stream_runs.COMPONENTS):
        ordered = _look(number, f"{k} components")
        runs, shuffled = (stream_runs.following(tables, k, name) for name in ("non_stationary", "shuffled"))
        for one, look in ((runs, ordered), (shuffled, ordered._replace(linestyle="--", label=None))):
            band(left, stream_runs.per_row(one.curve("log_evidence")), look)
        band(right, stream_runs.steps_of_chunks(runs), ordered)
    left.plot([], [], color="black", linestyle="--", label="shuffled")
    left.set_ylabel("log evidence / rows (nats)")
    left.set_ylim(*_SHOWN_SCORES)
    _log_steps(right)
    for axis, title in ((left, "(a)"), (right, "(b)")):
        for change in stream_runs.CHANGES:
            axis.axvline(change, color=REFERENCE_COLOUR, linestyle=":", linewidth=0.9)
        axis.set_title(title)
        log_rows(axis)
    figure.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return stream_footer(figure, tables, "change__.*")


def sweep_figure(tables: Tables, name: str, label: str) -> Figure:
    """One of figures 5.9 to 5.14; the label says what the legend's numbers are."""
    figure, (left, middle, right) = page(2.9, 1, 3)
    lows = []
    for number, (value, runs) in enumerate(stream_runs.sweep(tables, name).items()):
        look = _look(number, f"{value:g}")
        evidence = stream_runs.between(stream_runs.per_row(runs.curve("log_evidence")), 500)
        band(left, evidence, look)
        lows.append(float(stream_runs.between(evidence, 1000).median().min()))
        band(middle, runs.curve("seconds"), look)
        steps = stream_runs.steps_of_chunks(runs)
        band(right, stream_runs.between(steps, 0.0, _LAST_SHOWN_STEPS) if name == "rate" else steps, look)
    with contextlib.suppress(MissingData):
        n_rows = stream_runs.final_rows(tables, "sensitivity")
        truth = stream_runs.reference_at(tables, "mixture", n_rows) / n_rows
        left.axhline(truth, color=REFERENCE_COLOUR, linewidth=0.8)
        lowest = max(min(low for low in lows if np.isfinite(low)), truth - 0.5)
        left.set_ylim(lowest - 0.02, max(truth + 0.02, truth + 0.1 * (truth - lowest)))
    left.set_ylabel("log evidence / rows (nats)")
    middle.set_ylabel("processor time (s)")
    _log_axis(middle)
    _log_steps(right)
    for axis, title in ((left, "(a)"), (middle, "(b)"), (right, "(c)")):
        axis.set_title(title)
        log_rows(axis)
    handles, labels = left.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=7, title=label, title_fontsize=8.0)
    return stream_footer(figure, tables, "mixture|sensitivity")


def _look(number: int, label: str) -> Look:
    return Look(label, CYCLE[number % len(CYCLE)], linewidth=1.1)


def _log_steps(axis: Axes) -> None:
    axis.set_ylabel("annealing steps / chunk")
    _log_axis(axis)


def _log_axis(axis: Axes) -> None:
    axis.set_yscale("log")
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.yaxis.set_minor_locator(NullLocator())


def band(axis: Axes, found: pd.DataFrame, look: Look) -> None:
    """Median over runs as a line, and their range as a band, at the rows that all runs reached."""
    complete = found.dropna(axis=1)
    rows = stream_runs.row_counts(complete)
    # Seaborn aggregates row by row, which takes most of the time of drawing.
    axis.fill_between(rows, complete.min(), complete.max(), color=look.color, alpha=0.2, linewidth=0.0)
    axis.plot(rows, complete.median(), markersize=4.0, markeredgewidth=0.0, **look._asdict())


def log_rows(axis: Axes) -> None:
    """A logarithmic axis of rows absorbed."""
    axis.set_xscale("log")
    axis.xaxis.set_major_locator(LogLocator(numticks=8))
    axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlabel("rows")


def stream_footer(figure: Figure, tables: Tables, cases: str) -> Figure:
    """Preset, and number of runs in the cases drawn, a regular expression of their names."""
    streams = tables["settings"].query("design == 'stream' and case.str.fullmatch(@cases)")
    repeats = ", ".join(f"{n:.0f}" for n in streams["n_repeats"].unique()) or "0"
    return footer(figure, tables, f"{repeats} runs of each streaming method, without their compiling")


_SEQUENTIAL = ("sequential", "hybrid", "nested")
_ANNEALED = ("annealed", "corrected", "running_laplace", "nested", "ais")

DRAW: dict[str, Callable[[Tables], Figure]] = {
    "fig_5_1": histograms_figure,
    "fig_5_2": partial(evidence_figure, model="linear", methods=_SEQUENTIAL),
    "fig_5_3": partial(evidence_figure, model="softmax", methods=_SEQUENTIAL),
    "fig_5_4": partial(evidence_figure, model="mixture", methods=_SEQUENTIAL),
    "fig_5_5": partial(evidence_figure, model="linear", methods=_ANNEALED),
    "fig_5_6": partial(evidence_figure, model="softmax", methods=_ANNEALED),
    "fig_5_7": partial(evidence_figure, model="mixture", methods=_ANNEALED),
    "fig_5_8": changes_figure,
    "fig_5_9": partial(sweep_figure, name="particles", label="particles"),
    "fig_5_10": partial(sweep_figure, name="moves", label="moves"),
    "fig_5_11": partial(sweep_figure, name="batch", label="rows in a mini-batch and in a chunk"),
    "fig_5_12": partial(sweep_figure, name="target", label="target size (particles)"),
    "fig_5_13": partial(sweep_figure, name="rate", label="learning rate per row, 20 moves"),
    "fig_5_14": partial(
        sweep_figure, name="exchange", label="learning rate per row, learning rate times moves = 2"
    ),
    "fig_errors": errors_figure,
    "fig_floor": floor_figure,
    "fig_rivals": rivals_figure,
}
