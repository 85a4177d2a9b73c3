"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.generalised_lambda.settings import Settings, check

STUDY = Study(
    name="generalised_lambda",
    title="Generalised lambda distribution",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("ess_per_second", "acceptance", "posterior_mean", "posterior_sd", "psrf"),
    batchable=("step_size", "tolerance", "n_bisections", "prior"),
    check=check,
    about="data= data_seed=20170628",
    without_draws=("*_more", "*_prior"),
)
