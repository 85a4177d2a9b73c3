"""Where models stand after each chunk, with errors, and the record as a table."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import softmax

from auxmc.diagnostics.change_points import change_points, chunk_scores
from auxmc.diagnostics.errors_of_means import replicated_evidence_error
from auxmc.numerics.array_types import FloatArray, NamedArrays

__all__ = ["Standing", "record_table", "standings"]


class Standing(NamedTuple):
    """Where a model stands: after each chunk, arrays [chunk], or now, arrays without an axis.

    Attributes:
        log_evidence: of all rows absorbed, in nats.
        log_evidence_error: standard error, in nats: spread between replicates, and the shortfall where it is known.
        log_bayes_factor: relative to the best model, 0 for that.
        log_bayes_factor_error: its standard error, in nats; 0 for the best model.
        probability: posterior, models being equally probable before.
    """

    log_evidence: FloatArray
    log_evidence_error: FloatArray
    log_bayes_factor: FloatArray
    log_bayes_factor_error: FloatArray
    probability: FloatArray


def standings(
    records: Mapping[str, NamedArrays], n_replicates: int, shortfalls: Sequence[float | None]
) -> dict[str, Standing]:
    """Compares models after each chunk.

    Args:
        records: arrays [chunk] by name, for each model.
        n_replicates: from which each record is made; the error of a single one is not known (NaN).
        shortfalls: nats a row by which each model's estimate falls short; None where that is not known.
    """
    evidences = np.stack([record["log_evidence"] for record in records.values()])
    errors = np.stack(
        [
            np.hypot(
                replicated_evidence_error(record["replicate_sd"], n_replicates, record["expected_sd"]),
                (short or 0.0) * record["n_rows"],
            )
            for record, short in zip(records.values(), shortfalls, strict=True)
        ]
    )
    with np.errstate(invalid="ignore"):
        factors, probabilities = evidences - evidences.max(axis=0), softmax(evidences, axis=0)
    best = np.argmax(evidences, axis=0)
    of_best = np.take_along_axis(errors, best[None], axis=0)[0]
    found = {}
    for place, name in enumerate(records):
        between = np.where(best == place, 0.0, np.hypot(errors[place], of_best))
        found[name] = Standing(evidences[place], errors[place], factors[place], between, probabilities[place])
    return found


def record_table(
    records: Mapping[str, NamedArrays], standing: Mapping[str, Standing], provisional: bool
) -> pd.DataFrame:
    """The record of all models, a row for each model and chunk.

    Args:
        records: arrays [chunk] by name, for each model.
        standing: of each model.
        provisional: whether the last chunk was shorter than its size.

    Returns:
        Columns `model`, `chunk` (counted from 1), `n_rows` and the other fields of the record, `log_evidence_error`,
        `log_evidence_per_row`, `log_score_per_row` (of the chunk), `log_bayes_factor` (relative to the best model) and
        `log_bayes_factor_error`, `probability` (posterior, models being equally probable before), `change_point`
        (empty, jump or drift) and `provisional`.
    """
    tables = []
    for name, record in records.items():
        n_chunks = len(record["n_rows"])
        with np.errstate(invalid="ignore"):
            scores = chunk_scores(record["log_evidence"], record["n_rows"])
        changes = np.full(n_chunks, "", dtype=object)
        for change in change_points(*scores):
            changes[change.chunk] = change.kind
        columns = {
            "model": name,
            "chunk": np.arange(1, n_chunks + 1),
            **record,
            "log_evidence_error": standing[name].log_evidence_error,
            "log_evidence_per_row": record["log_evidence"] / record["n_rows"],
            "log_score_per_row": scores.per_row,
            "log_bayes_factor": standing[name].log_bayes_factor,
            "log_bayes_factor_error": standing[name].log_bayes_factor_error,
            "probability": standing[name].probability,
            "change_point": changes,
            "provisional": (np.arange(n_chunks) == n_chunks - 1) & provisional,
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)
