"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.foundations.settings import Settings

STUDY = Study(
    name="foundations",
    title="Foundations: algorithms and illustrations of the background chapters",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("measured",),
    drawn_by=("numbers.figures", "chains.figures", "evidence.figures", "models.figures"),
)
