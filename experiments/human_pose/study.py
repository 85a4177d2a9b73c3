"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.human_pose.settings import Settings, check, data_files

_BANDS = "Bands run from the smallest to the largest value over the chains, lines are means over them."
FIGURES = {
    "fig_4_14": "Left: the two noisy images of each scene, joints as circles. Right: root mean square error of "
    "the mean of all joint positions so far, in metres, against the run time of a chain, for constrained HMC and "
    f"HMC. {_BANDS} No warm-up is discarded. The scenes differ from the published ones, whose seeds are unknown.",
    "fig_4_15": "Given one image: the true pose (black) and three samples of a chain of constrained HMC. Rows: the "
    "image, with the observed joints as circles; the body from the front; the body from its left side. Samples are "
    "from a third, two thirds and the end of the chain. Blue: left; vermilion: right; paler: farther away.",
    "fig_scenes": "The scenes: the true pose from the front, from its left side and from above, and its images in "
    "the two cameras, noise included. No bands: one draw of the model each.",
    "fig_prior": "Independent draws of the prior of bone lengths and joint angles, seen from the front; no selection.",
    "fig_modes": "Mean pose of the second half of each chain given two images (colours), and the true pose (black), "
    "from the front and from its left side. No bands: chains are shown one by one.",
    "fig_steps": "Acceptance rate of HMC by step size, and with trajectories of a single step (squares), scene "
    "1. A dot "
    "is a chain; lines join means over chains.",
    "fig_notebook": "The settings of the published notebook: error of the mean pose so far against run time for "
    f"three samplers, noise 0.001, chains started at the prior mean. {_BANDS}",
}

STUDY = Study(
    name="human_pose",
    title="Human pose and camera",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("rmse", "misfit", "acceptance", "seconds_per_chain"),
    batchable=("scene", "step_size"),
    check=check,
    data_files=data_files,
    figures=FIGURES,
    about="data= scene_seed=1234",
)
