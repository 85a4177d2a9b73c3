"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.estimator_illustrations.settings import Settings, check

STUDY = Study(
    name="estimator_illustrations",
    title="Markov kernels and simple estimators of the evidence",
    document="MSc thesis",
    schema=Settings,
    sweep_quantities=(
        "squared_jump_per_evaluation",
        "autocorrelation_time",
        "prior_mean_ratio",
        "harmonic_median_decades",
    ),
    check=check,
)
