"""Near-exact log evidences where there is no closed form: importance sampling at the posterior's mode."""

import math
from typing import Any

import numpy as np
import xarray as xr

from auxmc.approximations.laplace_evidence import laplace_evidence, prior_starts
from auxmc.driver.progress import Progress
from auxmc.driver.seeds import stream
from auxmc.numerics.array_types import NamedArrays
from auxmc_pipeline.chains import RunContext
from experiments.streaming_evidence.problem import model_of, rows_of_stream
from experiments.streaming_evidence.settings import MODELS, Settings

_N_STARTS = 25
_SEARCH_ROWS = 10_000  # for modes; searches with more rows begin at the best ones found
_N_BEST = 3
# Likelihoods of rows that importance draws may cost, and the least and most draws.
_ROW_BUDGET, _FEWEST_DRAWS, _MOST_DRAWS = 40_000_000, 200, 4000


def near_exact(settings: Settings, sizes: list[int], context: RunContext) -> xr.Dataset:
    """Log evidences of the first rows of a stream, for the given numbers of rows that give the posterior a peak.

    A mixture's posterior has as many copies as its components have orders. `reference_error` is too small where
    `reference_size` is, the effective size of the importance weights as a fraction of the draws.
    """
    found = context.units.stage("reference", 1, lambda _: _references(settings, sizes, context))[0]
    nats = {"units": "nats"}
    variables: dict[str, Any] = {
        "reference": ("absorbed", found["log_evidence"], nats),
        "reference_error": ("absorbed", found["standard_error"], nats),
        "reference_size": ("absorbed", found["relative_size"], {"units": ""}),
    }
    return xr.Dataset(variables, coords={"absorbed": found["n_rows"]})


def _references(settings: Settings, sizes: list[int], context: RunContext) -> NamedArrays:
    """Number of rows, log evidence, its standard error and effective size for each number that has a reference."""
    model, rows = model_of(settings), rows_of_stream(settings)
    mixture = MODELS[settings.stream] == "mixture"
    n_copies = math.factorial(settings.n_components) if mixture else 1
    names = (context.study, settings.stream, settings.n_components, "reference")
    starts = np.zeros((1, model.dim))
    if mixture:
        some = rows[:: max(1, len(rows) // _SEARCH_ROWS)]
        first = prior_starts(model, some, stream(context.seed, *names, "starts"), _N_STARTS)
        found = laplace_evidence(model, some, first, 2, stream(context.seed, *names, "search"))
        starts = found.optima[:_N_BEST]
    progress = Progress(f"{context.label} [reference]")
    kept = []
    for n_rows in sizes:
        n_draws = int(np.clip(_ROW_BUDGET // n_rows, _FEWEST_DRAWS, _MOST_DRAWS))
        key = stream(context.seed, *names, n_rows)
        try:
            found = laplace_evidence(model, rows[:n_rows], starts, n_draws, key, n_copies)
        except ValueError as error:
            progress.say(f"{n_rows} rows have no reference: {error}")
            continue
        kept.append((n_rows, found.log_evidence, found.standard_error, found.relative_size))
        progress.say(f"{n_rows} rows: {found.log_evidence:.2f} +- {found.standard_error:.2f} nats")
    table = np.array(kept).reshape(-1, 4)
    names_of = ("n_rows", "log_evidence", "standard_error", "relative_size")
    return {**dict(zip(names_of, table.T, strict=True)), "n_rows": table[:, 0].astype(np.int64)}
