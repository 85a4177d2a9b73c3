"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.lotka_volterra.settings import Settings, check

STUDY = Study(
    name="lotka_volterra",
    title="Stochastic Lotka-Volterra model",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("ess_per_1000_evaluations", "acceptance", "psrf", "total_variation"),
    batched=("method", "scheme"),
    check=check,
    about="data=",
)
