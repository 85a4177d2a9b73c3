"""Models compared after each chunk, and the record of a run as tables."""

from collections.abc import Mapping, Sequence

import jax
import numpy as np
import pandas as pd
from scipy.special import softmax

from auxmc.command_line.stream_models import NamedModel
from auxmc.diagnostics.change_points import change_points, chunk_scores
from auxmc.diagnostics.errors_of_means import replicated_evidence_error
from auxmc.driver.streams import StreamRun
from auxmc.numerics.array_types import NamedArrays

__all__ = ["particle_table", "rank_models", "record_table"]


def rank_models(
    records: Mapping[str, NamedArrays], n_replicates: int, bias: Sequence[float | None]
) -> dict[str, NamedArrays]:
    """Compares models after each chunk.

    Args:
        records: arrays [chunk] by name, for each model.
        n_replicates: from which each record is made; the error of a single one is not known (NaN).
        bias: nats a row by which each model's estimate falls short; None where that is not known.

    Returns:
        For each model, arrays [chunk] in nats: the record's, `log_evidence_error` (standard error from the spread of
        replicates and the bias), `log_evidence_per_row`, `log_bayes_factor` (relative to the best model),
        `log_bayes_factor_error`, and `probability` (posterior, models being equally probable before).
    """
    evidences = np.stack([record["log_evidence"] for record in records.values()])
    spreads = [
        replicated_evidence_error(record["replicate_sd"], n_replicates, record["expected_sd"])
        for record in records.values()
    ]
    n_rows = next(iter(records.values()))["n_rows"]
    errors = np.hypot(spreads, np.array([short or 0.0 for short in bias])[:, None] * n_rows)
    with np.errstate(invalid="ignore"):
        factors, probabilities = evidences - evidences.max(axis=0), softmax(evidences, axis=0)
    best = np.argmax(evidences, axis=0)
    of_best = np.take_along_axis(errors, best[None], axis=0)[0]
    return {
        name: {
            **record,
            "log_evidence_error": errors[i],
            "log_evidence_per_row": evidences[i] / n_rows,
            "log_bayes_factor": factors[i],
            "log_bayes_factor_error": np.where(best == i, 0.0, np.hypot(errors[i], of_best)),
            "probability": probabilities[i],
        }
        for i, (name, record) in enumerate(records.items())
    }


def record_table(ranked: Mapping[str, NamedArrays], provisional: bool) -> pd.DataFrame:
    """Returns the record of all models, a row for each model and chunk.

    Args:
        ranked: what `rank_models` returned.
        provisional: whether the last chunk was shorter than its size.

    Returns:
        Columns `model`, `chunk` (from 1), the arrays of `ranked`, `log_score_per_row` (of the chunk, in nats),
        `change_point` (empty, jump or drift) and `provisional`.
    """
    tables = []
    for name, columns in ranked.items():
        scores = chunk_scores(columns["log_evidence"], columns["n_rows"])
        table = pd.DataFrame({"model": name, "chunk": np.arange(1, len(columns["n_rows"]) + 1), **columns})
        table["log_score_per_row"] = scores.per_row
        table["change_point"] = ""
        for change in change_points(*scores):
            table.loc[change.chunk, "change_point"] = change.kind
        table["provisional"] = (table.index == table.index[-1]) & provisional
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def particle_table(
    models: Sequence[NamedModel], runs: Mapping[str, StreamRun], n_replicates: int
) -> pd.DataFrame:
    """Returns the particles after all rows, in each model's own terms.

    Args:
        models: the models.
        runs: the run of each.
        n_replicates: of each.

    Returns:
        Columns `model`, `replicate`, `particle`, `log_weight` (in nats), `parameter`, `element` and `value`.
    """
    tables = []
    for model in models:
        state = runs[model.name].state
        replicate, particle = np.divmod(np.arange(len(state.particles)), len(state.particles) // n_replicates)
        for name, values in jax.vmap(model.model.natural)(state.particles).items():
            array = np.asarray(values, dtype=np.float64).reshape(len(replicate), -1)
            n_elements = array.shape[1]
            columns = {
                "model": model.name,
                "replicate": np.repeat(replicate, n_elements),
                "particle": np.repeat(particle, n_elements),
                "log_weight": np.repeat(np.asarray(state.log_weights), n_elements),
                "parameter": name,
                "element": np.tile(np.arange(n_elements), len(replicate)),
                "value": array.ravel(),
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)
