"""Nested sampling's value of the first rows, which replaces the beginning of the sequential estimate."""

from typing import NamedTuple

import numpy as np

from auxmc.driver.chains import RunContext
from auxmc.driver.stopwatch import stopwatch
from auxmc.numerics.array_types import FloatArray
from experiments.streaming_evidence.nested import PUBLISHED, evidence_of, nested_runs, robust
from experiments.streaming_evidence.problem import HYBRID_ROWS, keys_of_runs, model_of
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
    about = (settings.stream, settings.n_components, "hybrid")
    values, seconds = {}, {}
    for name, numbers in (("robust", robust(model.dim)), ("published", PUBLISHED)):
        keys = keys_of_runs(context, settings.n_hybrid_runs, *about, name)
        with stopwatch() as times:
            program = nested_runs(model, rows[:HYBRID_ROWS], numbers)
            runs = [program(key, HYBRID_ROWS) for key in keys]
        values[name] = np.array([evidence_of(run, numbers).value for run in runs])
        seconds[name] = times.run_s / len(runs)
    return HybridStart(**values, seconds=seconds["robust"])
