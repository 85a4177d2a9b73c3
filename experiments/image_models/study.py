"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.image_models.settings import Settings, check, data_files

_ESTIMATES = (
    "Joint log evidence of the test images: mean over repetitions, bands and bars +- 3 standard errors of that "
    "mean. Curves: running estimates of simulated tempering (ST), Gibbs continuous tempering (Gibbs CT) and "
    "continuously tempered HMC (CT-HMC). Points: annealed importance sampling (AIS) with the numbers of "
    "temperatures that are written next to them. Horizontal lines: bounds by annealing in both directions; the "
    "upper one dotted in the published form, which averages inverse weights, and dashed in the tighter form. The "
    "vertical axis leaves out early estimates that lie far below. Published curves are of 1000 images: their distances "
    "from the published lower bound, carried to our images and put at our cost."
)
FIGURES = {
    "fig_5_3": "Test images, drawn from each model: image i is in row i mod 25 and column i div 25.",
    "fig_5_4": f"{_ESTIMATES} Against run time of a repetition, compiling excluded.",
    "fig_gradients": f"{_ESTIMATES} Against gradient evaluations of a repetition, in all images and chains.",
    "fig_models": "The models that ship with the package. Left: importance-weighted bound during training, on the "
    "images trained on and on held-out ones. Right: images that were not trained on (odd rows) and, under "
    "each, what the decoder makes of the mean of its code (even rows).",
}

STUDY = Study(
    name="image_models",
    title="Evidence of generative image models by continuous tempering",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("joint_log_evidence", "ais_joint_log_evidence", "acceptance", "seconds_per_gradient"),
    batched=("method", "n_temperatures"),
    check=check,
    data_files=data_files,
    figures=FIGURES,
)
