"""Numbers that the findings state next to the claims."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from auxmc_pipeline.claims import Measurement, exact
from auxmc_pipeline.error_rules import bootstrap, mean_over_replicates, ratio_of_means
from auxmc_pipeline.tables import Tables
from experiments.streaming_evidence.stream_runs import (
    StreamRuns,
    errors_of,
    full_data,
    full_data_errors,
    published,
    values_at,
)
from experiments.streaming_evidence.streaming_costs import ALL_ROWS


def error(
    tables: Tables, model: str, method: str, n_rows: int, estimate: str = "log_evidence"
) -> Measurement:
    """Mean error of an estimate of a streaming method, in nats."""
    return mean_over_replicates(values_at(errors_of(published(tables, model, method), estimate), n_rows))


def worst_error(tables: Tables, model: str, method: str, n_rows: int) -> Measurement:
    """Largest absolute error of the runs of a streaming method, in nats."""
    return bootstrap(np.max, np.abs(values_at(errors_of(published(tables, model, method)), n_rows)))


def nested_error(tables: Tables, model: str, size: int) -> Measurement:
    """Mean error of nested sampling, in nats."""
    return mean_over_replicates(values_at(full_data_errors(tables, model, "nested"), size))


def stated_error(tables: Tables, model: str, size: int) -> Measurement:
    """Standard error that nested sampling states, in nats."""
    return mean_over_replicates(full_data(tables, model, "nested_standard_error", size))


def exact_factor(tables: Tables, name: str) -> Measurement:
    """Log Bayes factor in favour of the larger model, in nats, in closed form."""
    return exact(float(StreamRuns(tables, "pair", {"input": name}).totals("exact_factor")[0]))


def time_over_annealed(tables: Tables, model: str) -> Measurement:
    """Time of the running Gaussian over that of the annealed estimator."""
    own, usual = (
        published(tables, model, name).totals("seconds_total") for name in ("running_laplace", "annealed")
    )
    return ratio_of_means(own, usual)


_gaussian = partial(error, method="running_laplace", n_rows=ALL_ROWS)

NUMBERS: Mapping[str, Callable[[Tables], Measurement]] = {
    "annealed, linear, nats at 1e6 rows": partial(error, model="linear", method="annealed", n_rows=ALL_ROWS),
    "sequential, linear, nats at 1e6 rows": partial(
        error, model="linear", method="sequential", n_rows=ALL_ROWS
    ),
    "corrected, linear, nats at 1e6 rows": partial(
        error, model="linear", method="corrected", n_rows=ALL_ROWS
    ),
    "exact factor, irrelevant input, nats": partial(exact_factor, name="irrelevant"),
    "exact factor, weak input, nats": partial(exact_factor, name="weak"),
    "running Gaussian, linear, nats at 1e6 rows": partial(_gaussian, model="linear"),
    "running Gaussian, softmax, nats at 1e6 rows": partial(_gaussian, model="softmax"),
    "running Gaussian, mixture, nats at 1e6 rows": partial(_gaussian, model="mixture"),
    "running Gaussian, linear, time over annealed": partial(time_over_annealed, model="linear"),
    "running Gaussian, softmax, time over annealed": partial(time_over_annealed, model="softmax"),
    "nested, mixture, nats at 1e4 rows": partial(nested_error, model="mixture", size=10_000),
    "nested, mixture, stated error at 1e4 rows": partial(stated_error, model="mixture", size=10_000),
    "annealed, mixture, nats at 1e5 rows": partial(error, model="mixture", method="annealed", n_rows=100_000),
    "corrected, mixture, worst nats at 1e5 rows": partial(
        worst_error, model="mixture", method="corrected", n_rows=100_000
    ),
}
