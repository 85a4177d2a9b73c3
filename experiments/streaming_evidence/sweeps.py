"""Runs that differ in one thing: sweeps over settings, and components on the stream that changes."""

from auxmc_pipeline.tables import MissingData, Tables
from experiments.streaming_evidence.stream_runs import StreamRuns, varied

SWEEPS: dict[str, dict[float, str]] = {
    "particles": {5: "n_particles=5", 10: "default", 20: "n_particles=20", 50: "n_particles=50",
                  100: "n_particles=100"},
    "moves": {2: "n_moves=2", 5: "n_moves=5", 10: "n_moves=10", 20: "default", 50: "n_moves=50"},
    "batch": {100: "batch_size=100", 200: "batch_size=200", 500: "default", 1000: "batch_size=1000",
              2000: "batch_size=2000"},
    "target": {1: "target_share=0.1", 2: "target_share=0.2", 3: "target_share=0.3", 5: "default",
               7: "target_share=0.7", 9: "target_share=0.9"},
    "rate": {0.01: "learning_rate=0.01", 0.03: "learning_rate=0.03", 0.1: "default", 0.3: "learning_rate=0.3",
             1.0: "learning_rate=1"},
    "exchange": {0.01: "learning_rate=0.01 rate_times_moves=2", 0.05: "learning_rate=0.05 rate_times_moves=2",
                 0.1: "default", 0.2: "learning_rate=0.2 rate_times_moves=2",
                 0.5: "learning_rate=0.5 rate_times_moves=2", 1.0: "learning_rate=1 rate_times_moves=2"},
}  # fmt: skip
"""Variations of the sensitivity case by the value of what is swept; a preset may leave some out."""

COMPONENTS = (3, 5, 7)
"""Components of the mixtures that follow the stream that changes."""

CHANGES = (1000, 10_000)
"""Rows after which its data have more clusters."""


def sweep(tables: Tables, name: str) -> dict[float, StreamRuns]:
    """Runs of a sweep that the preset has, by the value of what is swept.

    Raises:
        MissingData: fewer than three values were run.
    """
    there = {"default", *variations_run(tables)}
    found = {
        number: varied(tables, "sensitivity", variation)
        for number, variation in SWEEPS[name].items()
        if variation in there
    }
    if len(found) < 3:
        raise MissingData(f"the sweep over {name}: not run at this preset")
    return found


def variations_run(tables: Tables) -> list[str]:
    """Variations of the sensitivity case that the preset has."""
    rows = tables.summary.where(case="sensitivity").frame
    return list(rows["variation"].dropna().unique()) if "variation" in rows else []


def following(tables: Tables, n_components: int, stream: str) -> StreamRuns:
    """Runs of a mixture on the stream that changes, in order (non_stationary) or shuffled."""
    return StreamRuns(tables, f"change__n_components-{n_components}", {"stream": stream})
