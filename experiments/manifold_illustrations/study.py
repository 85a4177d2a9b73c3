"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.manifold_illustrations.settings import Settings, check

STUDY = Study(
    name="manifold_illustrations",
    title="Illustrations of manifolds of inputs",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("branch_changes_per_iteration", "acceptance", "crossings", "net_over_path"),
    check=check,
)
