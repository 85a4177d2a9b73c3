"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.radon.settings import Settings, check, data_files

FIGURES = {
    "fig_5_5": "The hierarchical regression as a factor graph: circles are random variables (grey: observed), bare "
    "symbols are given inputs, black squares are factors, rounded boxes repeat what is inside. Drawn in the centred "
    "form; the non-centred form writes a and b as their mean plus their scale times standard normal variables.",
    "fig_5_6": "Estimate of the log evidence by the no-U-turn sampler on the extended space, against run time: "
    "mean over the chains of their running estimates, band +- 3 standard errors of that mean. Blue: objective of the "
    "variational fit, averaged over blocks of 100 steps. Horizontal lines: log zeta, the estimate by annealed "
    "importance sampling, and the value by quadrature. Published curves stand at our time after as many steps or "
    "iterations.",
    "fig_methods": "Estimates of the log evidence, all chains pooled (left), and their standard errors (right), "
    "against evaluations of the gradients. Bands: +- 3 standard errors by the delta method over chains. Square: "
    "annealed importance sampling, +- 3 standard errors.",
    "fig_temperature": "Left: log density of the inverse temperature in the chains of the no-U-turn sampler, averaged "
    "from its conditional distribution, relative to its value at the base; band +- 3 standard errors over "
    "chains; dashed: exact "
    "values at both ends and the upper bound between them. Right: posterior means and standard deviations of the "
    "effects minus those by quadrature, in exact posterior standard deviations; bars +- 3 standard errors.",
}

STUDY = Study(
    name="radon",
    title="Evidence of a hierarchical regression by continuous tempering",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=(
        "log_evidence",
        "log_evidence_error",
        "log_zeta",
        "lower_bound",
        "n_gradients_per_chain",
    ),
    check=check,
    data_files=data_files,
    figures=FIGURES,
    about="model=intercepts prior_scale=2.5",
)
