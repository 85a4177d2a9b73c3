"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.gp_probit.settings import Settings, check

FIGURES = {
    "fig_3_10": "Factor graph of the model: circles are random variables (grey: observed), bare symbols are "
    "given inputs, black squares are factors, and the diamond is the deterministic covariance matrix.",
    "fig_3_11a": "Effective sample size per 1000 cubic-cost operations of the main run, for each coordinate. "
    "Bars: mean over the chains of a method; error bars: one standard error of that mean.",
    "fig_3_11b": "Convergence of the chains, as log(R-hat - 1) against cubic-cost operations (left) and run time "
    "(right). Lines: point estimate, mean over the coordinates; bands reach up to the upper 97.5 % limit. "
    "Warm-up is not counted.",
    "fig_3_11b_supplement": "Convergence as in figure 3.11b, against cubic-cost operations, for the worst "
    "coordinate (left) and for the log output scale alone (right). Bands reach up to the upper 97.5 % limit.",
    "fig_3_12": "Log output scale. Left: trace of the first chain. Right: histogram of all chains in 100 bins; "
    "for APM SS+SS the first 40 % of each chain, which cost about as much as the other methods' chains. "
    "Grey outline: all main runs of the APM methods together.",
    "fig_n_importance": "Effect of the number of importance samples at posterior draws. Left: standard deviation "
    "of the log density estimate under fresh auxiliary variables, median over posterior draws, bands from the "
    "10 % to the 90 % quantile. Right: expected acceptance rates at the step size of the reference chains; "
    "error bars: one standard error over reference chains.",
}

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
    figures=FIGURES,
)
