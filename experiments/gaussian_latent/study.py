"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.gaussian_latent.settings import BATCHABLE, Settings, check

STUDY = Study(
    name="gaussian_latent",
    title="Gaussian latent variable model",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("ess_per_evaluation", "ess_per_second", "acceptance_position", "acceptance_auxiliary"),
    batchable=BATCHABLE,
    batched=("method", "n_importance"),
    check=check,
    about="data= noise=gaussian",
    by_chain=(
        "map_*",
        "pm_mh_one__*",
        "pm_mh_small_steps__*",
        "pm_mh_small_steps_32__*",
        "pm_mh_peaks__*",
        "apm_mi_mh_data_sets__*",
        "apm_mi_mh_one",
    ),
)
