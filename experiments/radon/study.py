"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.radon.settings import Settings, check, data_files

STUDY = Study(
    name="radon",
    title="Evidence of a hierarchical regression by continuous tempering",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=(
        "log_evidence",
        "log_evidence_error",
        "log_zeta",
        "lower_bound",
        "n_gradients_per_chain",
    ),
    check=check,
    data_files=data_files,
    about="data= model=intercepts prior_scale=2.5",
)
