"""Nested sampling's value of the first rows, which replaces the beginning of the sequential estimate."""

from typing import NamedTuple

import numpy as np

from auxmc.driver.chains import RunContext
from auxmc.driver.seeds import stream
from auxmc.driver.stopwatch import stopwatch
from auxmc.numerics.array_types import FloatArray
from experiments.streaming_evidence.nested import PUBLISHED, evidence_of, nested_runs, robust
from experiments.streaming_evidence.problem import HYBRID_ROWS, model_of
from experiments.streaming_evidence.settings import Settings


class HybridStart(NamedTuple):
    """Log evidence of the first rows, in nats.

    Attributes:
        robust: runs with many live points [run].
        published: runs with the published two live points [run].
        seconds: run time of a robust run, without compiling.
    """

    robust: FloatArray
    published: FloatArray
    seconds: float


def hybrid_start(settings: Settings, rows: FloatArray, context: RunContext) -> HybridStart:
    """Makes `n_hybrid_runs` runs in either way on the first HYBRID_ROWS rows."""
    model = model_of(settings)
    values, seconds = {}, 0.0
    for name, numbers in (("robust", robust(model.dim)), ("published", PUBLISHED)):
        with stopwatch() as times:
            program = nested_runs(model, rows[:HYBRID_ROWS], numbers)
            runs = [
                program(
                    stream(
                        context.seed, context.study, settings.stream, settings.n_components, "hybrid", name, r
                    ),
                    HYBRID_ROWS,
                )
                for r in range(settings.n_hybrid_runs)
            ]
        values[name] = np.array([evidence_of(run, numbers).evidence.value for run in runs])
        if name == "robust":
            seconds = times.run_s / settings.n_hybrid_runs
    return HybridStart(values["robust"], values["published"], seconds)
