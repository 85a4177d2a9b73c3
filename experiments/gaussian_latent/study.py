"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.gaussian_latent.settings import BATCHABLE, Settings, check

_BANDS = (
    "Curves are means over the independent chains of a cell, 10 unless the footer says otherwise; bands are +- 1 "
    "standard deviation over chains."
)
_SECONDS = "Seconds are a chain's part of the run time of all chains, which ran side by side."
_MARKS = "Grey dashes: acceptance rate 0.234 and step size 0.425. Grey dots: exact acceptance rate (N = 1)."
_EFFICIENCY = (
    "Effective sample size (mean over the coordinates of x) per second (left) and per density evaluation "
    f"(right), and acceptance rate of {{what}} (dashed, right axes), against the step size. {_BANDS} {_SECONDS}"
)
_LONG = (
    "Single long chains at equal numbers of density evaluations: x_1 over the last 10 000 iterations, every "
    "fifth drawn (left), and histogram of x_1 over the whole chain with the exact density (right). The footer "
    "gives the numbers of iterations. No bands: one chain a row, the first of those that were run."
)
FIGURES = {
    "fig_3_1": "Factor graph of the hierarchical model: global variables x, local latent variables z, "
    "observations y (shaded). The plate is repeated for each of the M observations.",
    "fig_3_2": "One reflective slice update in the unit square: current point, slice (shaded), bracket on the "
    "random line reflected at the walls, a rejected and an accepted proposal. One update of a chain, no bands.",
    "fig_3_3": f"PM MH with N = 1, 8, 32 importance samples. {_EFFICIENCY.format(what='the joint update')}",
    "fig_3_4": f"PM MH at its published best step sizes. {_LONG}",
    "fig_3_5": "APM MI+MH with N = 1, 8, 32 importance samples. "
    f"{_EFFICIENCY.format(what='the update of x')} {_MARKS}",
    "fig_3_6": f"APM MI+MH at step size 0.425. {_LONG}",
    "fig_3_7": f"APM SS+MH with one importance sample. {_EFFICIENCY.format(what='the update of x')} {_MARKS}",
    "fig_3_8": "Auxiliary variable u_1 = u[0, 0, 0] in APM MI+MH and APM SS+MH with one importance sample and "
    "step size 0.425: last 10 000 iterations, every fifth drawn (left), histogram over the whole chain with "
    "the exact marginal density (right). No bands: one chain a row, the first of those that were run.",
    "fig_3_9": "Slice sampling of x with one importance sample: APM MI+SS (top) and APM SS+SS (bottom). "
    "Effective sample size (mean over the coordinates of x) per second (left) and per density evaluation "
    f"(right) against the initial bracket width. {_BANDS} {_SECONDS}",
    "fig_data_sets": "What the data set changes: data drawn as stated against data scaled to the published noise "
    "of the log estimate. Top: density of the log estimate about its mean at the generating x, with its "
    "standard deviation. Below, against the step size: acceptance rate of PM MH and of the update of u in APM MI+MH; "
    "longest run of identical x as a fraction of the chain; effective sample size per density evaluation, which for "
    f"chains of very few moves is too large and says little. {_BANDS}",
}

STUDY = Study(
    name="gaussian_latent",
    title="Gaussian latent variable model",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("ess_per_evaluation", "ess_per_second", "acceptance_position", "acceptance_auxiliary"),
    batchable=BATCHABLE,
    batched=("method", "n_importance"),
    check=check,
    figures=FIGURES,
    about="noise=gaussian",
)
