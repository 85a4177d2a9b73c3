"""Evidence by sequential Monte Carlo over growing data, with an error from independent runs."""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from auxmc.diagnostics.errors_of_means import replicated_evidence_error
from auxmc.driver.seeds import stream
from auxmc.interface.advice import Advice, issue
from auxmc.interface.arguments import check_integer, check_seed, require_x64
from auxmc.interface.streams.estimate import EXCLUDED, MAX_SD
from auxmc.interface.streams.rows import RowsModel, checked_model, read_rows
from auxmc.kernels.streams.growing_data import GrowingDataSettings, growing_data_evidence
from auxmc.models.row_model import RowModel
from auxmc.numerics.array_types import FloatArray
from auxmc.numerics.values import by_value


@by_value
class GrowingDataEvidence(NamedTuple):
    """Evidence from independent runs over growing data.

    Attributes:
        log_evidence: log of the mean of the runs' evidences, in nats.
        standard_error: from the spread between runs, and not below what the weights of their particles lead to expect
            (`diagnostics.errors_of_means.replicated_evidence_error`), in nats.
        replicates: log evidence of each run [run], in nats.
        warnings: what is to be said about the estimate; empty where nothing is.
    """

    log_evidence: float
    standard_error: float
    replicates: FloatArray
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """The estimate with its error."""
        return f"log evidence {self.log_evidence:.3f} +- {self.standard_error:.3f} nats"


def growing_data(
    model: RowsModel | RowModel,
    rows: Any,
    *,
    replicates: int = 8,
    settings: GrowingDataSettings = GrowingDataSettings(),  # noqa: B008
    seed: int = 0,
) -> GrowingDataEvidence:
    """Log evidence of rows that fit in memory, by particles that meet them in growing chunks.

    Args:
        model: `auxmc.row_model(log_likelihood, log_prior, draw_prior)`, or a RowModel on vectors.
        rows: an array [row, column].
        replicates: independent runs, at least 2.
        settings: of `auxmc.kernels.streams.growing_data`; with a pilot, as by default, the mean of the evidences is
            right on average.
        seed: of all random numbers.

    Raises:
        TypeError: the model or the rows are none, or a function cannot be traced.
        ValueError: a number is out of range, or a row is not finite.

    Warns:
        SamplingWarning: the estimate must not be trusted as it is; says why and what to do.
    """
    require_x64()
    check_integer("replicates", replicates, 2, "their spread is the error")
    check_seed(seed)
    source = read_rows(rows, 500)
    checked, said = checked_model(model, source, stream(seed, "growing data", "checks"))
    data = jnp.asarray(np.concatenate(list(source.read(0))))
    run = growing_data_evidence(checked, settings)
    keys = jax.random.split(stream(seed, "growing data"), replicates)
    found, record = jax.jit(lambda keys: jax.lax.map(lambda key: run(key, data)[:2], keys))(keys)
    values = np.asarray(found)
    value = float(jax.nn.logsumexp(found) - math.log(replicates))
    # Relative variance of the mean weight of each step.
    variances = 1.0 / jnp.maximum(record.increment_size, 1.0) - 1.0 / settings.n_particles
    n_steps = record.n_annealing_steps.astype(variances.dtype)
    expected = math.sqrt(float(jnp.sum(n_steps * variances)) / replicates)
    spread = float(np.std(values, ddof=1))
    error = float(replicated_evidence_error(spread, replicates, expected))
    advice = [*said, *_advice(values, spread, settings)]
    return GrowingDataEvidence(value, error, values, issue(advice))


def _advice(values: FloatArray, spread: float, settings: GrowingDataSettings) -> Iterator[Advice]:
    n_bad = int(np.sum(~np.isfinite(values)))
    if n_bad:
        bad = f"the log evidence of {n_bad} of {values.size} runs is not finite"
        yield Advice(f"{bad}: no particle gives all rows a positive probability", EXCLUDED)
    if not spread <= MAX_SD:
        problem = f"runs differ by {spread:.1f} nats (one standard deviation of {values.size})"
        fix = (
            f"Give more than {settings.n_particles} particles or smaller chunks, or use auxmc.stream_evidence"
        )
        yield Advice(f"{problem}: the error is rough", fix)
    if not settings.own_pilot:
        problem = "particles that tune their own moves make the evidence too large on average"
        yield Advice(problem, "Leave own_pilot as it is")
