"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.two_modes.settings import Settings

STUDY = Study(
    name="two_modes",
    title="A mixture of two Gaussians",
    document="",
    schema=Settings,
    sweep_quantities=("ess_per_iteration",),
    about="distance=1.5",
)
