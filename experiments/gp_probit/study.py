"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.gp_probit.settings import Settings, check

STUDY = Study(
    name="gp_probit",
    title="Gaussian process probit regression",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=(
        "ess_per_1000_cubic_operations",
        "acceptance_position",
        "acceptance_auxiliary",
        "longest_run",
        "r_hat",
    ),
    check=check,
    about="data=",
)
