"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.lotka_volterra.settings import Settings, check

_EXACT_LINE = (
    "Curve: exact posterior given all data, by quadrature. Dashed line: value that generated the data."
)
FIGURES = {
    "fig_4_9": "Data: prey and predators, simulated from the model by the scheme that updates prey first.",
    "fig_4_10": "Pseudo-marginal ABC on nine summaries: marginals of the log rates over the kept iterations of all "
    "chains. Top: normalised summaries, ball of radius 1, split update (thesis); bottom: raw summaries, ball of "
    f"radius 2.5, joint update (paper). {_EXACT_LINE} The curve is cut at twice the height of the highest bar.",
    "fig_4_11": "Marginals of the log rates over the kept iterations of all chains: constrained HMC given all data "
    "and given nine summaries; elliptical slice sampling with a uniform ball kernel of radius 10 and 100 and with a "
    "Gaussian kernel of standard deviation 10; HMC with that Gaussian kernel. Histograms of 20 bins over each row's "
    f"own range, axes common to a column; bars above 1.6 times the exact density are cut. {_EXACT_LINE}",
    "fig_4_12": "Effective sample size (coda) per second of run time, warm-up included. Bars: mean over the chains "
    "of a method; error bars: one standard error of that mean. Chains of different methods ran one after the other. "
    "The approximate methods sample wider posteriors than the exact one (figure 4.11).",
    "fig_schemes": "What the scheme changes: exact posterior of the log rates given the same data under both "
    "discretisations (lines), and constrained HMC under each (histograms). Dashed line: value that generated the data.",
}

STUDY = Study(
    name="lotka_volterra",
    title="Stochastic Lotka-Volterra model",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("ess_per_1000_evaluations", "acceptance", "psrf", "total_variation"),
    batched=("method", "scheme"),
    check=check,
    figures=FIGURES,
    about="data=",
)
