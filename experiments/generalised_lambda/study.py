"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.generalised_lambda.settings import Settings, check

FIGURES = {
    "fig_4_6": "Data: histogram of the 250 observed values in 20 bins as a density, rug of the values, and kernel "
    "density estimate of 10 000 fresh draws of the generating distribution. No bands: one data set.",
    "fig_4_7": "Marginal posteriors of the parameters by method (rows) under the strong prior: histograms of all "
    "chains in 40 bins that are common to a column (draws outside them count in the density), a reference posterior "
    "of the same target (line; kernel density of reference draws) and the generating values (dashed). "
    "The footer gives the sizes of the chains.",
    "fig_4_8": "Effective sample size per second of run time, warm-up included, for each parameter under the strong "
    "prior. Bars: mean over the chains of a method; error bars: one standard error of that mean. Chains ran one "
    "after the other and share the run time by their counted work.",
    "fig_prior": "What the prior changes: marginal posteriors of the parameters given the data exactly, under the "
    "strong and the weak prior. Lines: reference posteriors; markers: histograms of constrained HMC; dashed: "
    "generating values.",
    "fig_step_size": "Acceptance rate of HMC against its step size, for three tolerances of the Gaussian "
    "kernel. Chains "
    "start at draws from the posterior. Lines: mean over chains; dots: single chains; dotted: 0.9.",
}

STUDY = Study(
    name="generalised_lambda",
    title="Generalised lambda distribution",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("ess_per_second", "acceptance", "posterior_mean", "posterior_sd", "psrf"),
    batchable=("step_size", "tolerance", "n_bisections", "prior"),
    check=check,
    figures=FIGURES,
    about="data= data_seed=20170628",
)
