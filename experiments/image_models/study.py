"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.image_models.settings import Settings, check, data_files

STUDY = Study(
    name="image_models",
    title="Evidence of generative image models by continuous tempering",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("joint_log_evidence", "ais_joint_log_evidence", "acceptance", "seconds_per_gradient"),
    batched=("method", "n_temperatures"),
    check=check,
    data_files=data_files,
    about="weights=",
)
