"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.boltzmann.settings import Settings, check, data_files

STUDY = Study(
    name="boltzmann",
    title="Boltzmann machine relaxations",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("pooled_log_z_error", "log_z_standard_error", "acceptance", "seconds_per_gradient"),
    batched=("method", "n_temperatures", "base"),
    check=check,
    data_files=data_files,
    about="data=",
)
