"""The record of a run of `auxmc stream` as tables: models compared after each chunk, and particles."""

from collections.abc import Mapping, Sequence

import jax
import numpy as np
import pandas as pd
from scipy.special import softmax

from auxmc.command_line.stream_setup import NamedModel
from auxmc.diagnostics.errors_of_means import replicated_evidence_error
from auxmc.diagnostics.stream_changes import change_points, chunk_scores
from auxmc.numerics.array_types import NamedArrays


def rank_models(
    records: Mapping[str, NamedArrays], n_replicates: int, bias: Sequence[float | None]
) -> dict[str, NamedArrays]:
    """Compares models after each chunk, from their records, arrays [chunk] by name, each made from so many replicates.

    `bias` is nats a row by which each model's estimate falls short, None where that is not known. To each record are
    added, in nats [chunk], `log_evidence_error` (from the spread of replicates, NaN for one, and the bias),
    `log_evidence_per_row`, `log_bayes_factor` (relative to the best model) and `log_bayes_factor_error`, and
    `probability` (posterior, models being equally probable before).
    """
    names = ("log_evidence", "replicate_sd", "expected_sd", "n_rows")
    evidences, spreads, expected, n_rows = (np.stack([r[name] for r in records.values()]) for name in names)
    short = np.array([one or 0.0 for one in bias])[:, None] * n_rows
    errors = np.hypot(replicated_evidence_error(spreads, n_replicates, expected), short)
    with np.errstate(invalid="ignore"):
        factors, probabilities = evidences - evidences.max(axis=0), softmax(evidences, axis=0)
    is_best = np.arange(len(evidences))[:, None] == np.argmax(evidences, axis=0)
    factor_errors = np.where(is_best, 0.0, np.hypot(errors, errors.max(axis=0, where=is_best, initial=0.0)))
    columns = {
        "log_evidence_error": errors,
        "log_evidence_per_row": evidences / n_rows,
        "log_bayes_factor": factors,
        "log_bayes_factor_error": factor_errors,
        "probability": probabilities,
    }
    return {
        name: record | {column: values[i] for column, values in columns.items()}
        for i, (name, record) in enumerate(records.items())
    }


def record_table(ranked: Mapping[str, NamedArrays], is_provisional: bool) -> pd.DataFrame:
    """Returns the record of all models, a row for each model and chunk, from what `rank_models` returned.

    Columns are `model`, `chunk` (from 1), the arrays of `ranked`, `log_score_per_row` (of the chunk, in nats),
    `change_point` (empty, jump or drift) and `provisional`, for a last chunk that was shorter than its size.
    """
    tables = []
    for name, columns in ranked.items():
        scores = chunk_scores(columns["log_evidence"], columns["n_rows"])
        table = pd.DataFrame({"model": name, "chunk": np.arange(1, len(scores.n_rows) + 1), **columns})
        kinds = {change.chunk: change.kind for change in change_points(*scores)}
        table["log_score_per_row"] = scores.per_row
        table["change_point"] = [kinds.get(chunk, "") for chunk in table.index]
        table["provisional"] = (table.index == table.index[-1]) & is_provisional
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def particle_table(models: Sequence[NamedModel], states: Sequence, n_replicates: int) -> pd.DataFrame:
    """Returns the particles after all rows, in each model's own terms.

    Columns are `model`, `replicate`, `particle`, `log_weight` (in nats), `parameter`, `element` and `value`.
    """
    tables = []
    for model, state in zip(models, states, strict=True):
        particles = pd.DataFrame({"model": model.name, "log_weight": np.asarray(state.log_weights)})
        numbers = np.divmod(particles.index, len(particles) // n_replicates)
        for name, values in jax.vmap(model.model.natural)(state.particles).items():
            array = np.asarray(values, dtype=np.float64).reshape(len(particles), -1)
            table = particles.loc[np.repeat(particles.index, array.shape[1])]
            table.insert(1, "replicate", np.repeat(numbers[0], array.shape[1]))
            table.insert(2, "particle", np.repeat(numbers[1], array.shape[1]))
            element = np.tile(np.arange(array.shape[1]), len(array))
            tables.append(table.assign(parameter=name, element=element, value=array.ravel()))
    return pd.concat(tables, ignore_index=True)
