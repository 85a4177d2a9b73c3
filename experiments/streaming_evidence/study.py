"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.streaming_evidence.settings import BATCHABLE, Settings, check

STUDY = Study(
    name="streaming_evidence",
    title="Evidence of streams of rows by annealed importance sampling with stochastic gradients",
    document="MSc thesis",
    schema=Settings,
    sweep_quantities=(
        "final_log_evidence_per_row",
        "final_error_per_row",
        "final_error",
        "steps_per_chunk",
        "seconds_total",
    ),
    batchable=BATCHABLE,
    claims=("claims_annealed", "claims_evidence", "claims_settings"),
    check=check,
)
