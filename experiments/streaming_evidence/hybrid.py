"""Nested sampling's value of the first rows, which replaces the beginning of the sequential estimate."""

from typing import NamedTuple

import numpy as np

from auxmc.driver.chains import RunContext
from auxmc.driver.stopwatch import stopwatch
from auxmc.numerics.array_types import FloatArray, NamedArrays
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


def hybrid_start(settings: Settings, rows: FloatArray, context: RunContext, names: str) -> HybridStart:
    """Makes `n_hybrid_runs` runs in either way on the first HYBRID_ROWS rows, a unit of the case each way.

    Args:
        settings: of the case.
        rows: of the stream.
        context: random streams and units.
        names: what is run; its own within the case.
    """
    model = model_of(settings)
    ways = {"robust": robust(model.dim), "published": PUBLISHED}

    def make(number: int) -> NamedArrays:
        name = list(ways)[number]
        about = (settings.stream, settings.n_components, "hybrid", name)
        with stopwatch() as times:
            program = nested_runs(model, rows[:HYBRID_ROWS], ways[name])
            runs = [
                program(key, HYBRID_ROWS) for key in keys_of_runs(context, settings.n_hybrid_runs, *about)
            ]
        values = np.array([evidence_of(run, ways[name]).value for run in runs])
        return {"values": values, "seconds": np.asarray(times.run_s / len(runs))}

    robust_runs, published_runs = context.units.stage(f"{names}-hybrid", len(ways), make)
    return HybridStart(robust_runs["values"], published_runs["values"], float(robust_runs["seconds"]))
