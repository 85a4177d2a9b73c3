"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.tempering_illustration.settings import Settings, check

STUDY = Study(
    name="tempering_illustration",
    title="Tempering on the line, and variational approximations",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("mass_left", "mass_left_error", "acceptance"),
    check=check,
)
