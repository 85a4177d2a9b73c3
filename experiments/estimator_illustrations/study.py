"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.estimator_illustrations.settings import Settings, check

FIGURES = {
    "fig_2_1": "A correlated Gaussian in two dimensions (contours at one, two and three standard deviations) and one "
    "chain of random-walk Metropolis (left) and of Hamiltonian Monte Carlo (right; thin: the leapfrog steps) with the "
    "same number of evaluations of the density or its gradient. Below the panels: means over all chains, in longer "
    "runs. The source does not name the target, the start, the steps or their number: they are ours. "
    "Its second argument of the normal proposal is taken for a variance; the standard deviation is a setting. One "
    "chain each: no bands.",
    "fig_2_2": "The target of figure 2.1 with Gaussian noise added to its gradients: one chain of stochastic-gradient "
    "Langevin dynamics (left) and of stochastic-gradient Hamiltonian Monte Carlo (right), as many steps of the same "
    "eta. Below the panels: means over all chains; autocorrelation times are those of the slow direction. "
    "Target, start, eta, friction and noise are ours; gradient noise is not corrected for. One chain "
    "each: no bands.",
    "fig_3_1": "Gaussian observations with a Gaussian mean: density of the prior (left axis), likelihood of all "
    "observations over its largest value (right axis), and their product over the prior (shaded), whose area is the "
    "evidence over the largest likelihood. 100 observations around 2; the source prints neither them nor a seed: ours "
    "are the simulated stream `normal`. Closed forms: no bands.",
    "fig_3_2": "Estimates of the evidence from the mean likelihood of a few prior draws: normalised histograms of the "
    "estimate (left, with a logarithmic density) and of its logarithm (right), 1000 bins between the smallest and the "
    "largest; dashed: the exact value. The source does not give the number of estimates: it is ours. No bands.",
    "fig_3_3": "As figure 3.2 with a linear density, for the harmonic mean of the likelihoods of a few exact posterior "
    "draws. The number of estimates is ours. Dotted: the largest value that the estimate can take, the largest "
    "likelihood. No bands.",
    "fig_inflation": "Stationary variance of stochastic-gradient Hamiltonian Monte Carlo. Left: on a quadratic "
    "potential with exact gradients, against eta times the curvature. Right: on the posterior of a Gaussian mean with "
    "gradients from mini-batches of 500 rows and eta in inverse proportion to the rows. Dashed: closed forms. Bars "
    "+- 2 standard errors over chains. Not in the source.",
}

STUDY = Study(
    name="estimator_illustrations",
    title="Markov kernels and simple estimators of the evidence",
    document="MSc thesis",
    schema=Settings,
    sweep_quantities=(
        "squared_jump_per_evaluation",
        "autocorrelation_time",
        "prior_mean_ratio",
        "harmonic_median_decades",
    ),
    check=check,
    figures=FIGURES,
)
