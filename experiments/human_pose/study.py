"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.human_pose.settings import Settings, check, data_files

STUDY = Study(
    name="human_pose",
    title="Human pose and camera",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("rmse", "misfit", "acceptance", "seconds_per_chain"),
    batchable=("scene", "step_size"),
    check=check,
    data_files=data_files,
    about="data= scene_seed=1234",
    without_draws=("*_many", "*_fallback"),
    by_chain=("*_scenes", "*_scenes_more"),
)
