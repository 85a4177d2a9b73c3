"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.tempering_illustration.settings import Settings, check

FIGURES = {
    "fig_2_13": "Densities along the path from a broad Gaussian (bottom) to a target with two modes (top), at inverse "
    "temperatures 0 to 1 in fifths, scaled by 3/4 and shifted by their inverse temperature; the energy of the base is "
    "lowered by one nat, as published. Exact: no bands.",
    "fig_bimodal": "Sampling a target with two modes. Top left: densities of target and base. Top right: potential "
    "energy of position and temperature control (lighter is higher), with one long trajectory of the dynamics. Bottom "
    "left: joint density of position and inverse temperature, with the states of one chain as discs whose area grows "
    "with their weight. Bottom right: histogram of one chain of HMC in the target, and weighted histogram of the chain "
    "of continuously tempered HMC.",
    "fig_temperature": "Left: histograms of the inverse temperature of all chains for several log zeta, with the exact "
    "densities as dashed lines. Right: mass left of zero from each of the chains with log zeta = log Z, weighted, with "
    "the exact value.",
    "fig_ladder": "Simulated tempering. Left: estimates of log Z from each chain, from counts of visits to both ends "
    "and from their probabilities given the position (exact value 0). Right: mean number of updates from one end of a "
    "flat ladder to the other; bars +- 3 standard errors over chains, dashed lines of slope 2 and 1.",
    "fig_c_1": "A density on the line and its Laplace approximation: logs (left) and densities (right). Exact: no "
    "bands.",
    "fig_c_2": "A density with a narrow and a broad mode (grey), and the Gaussians that minimise the Kullback-Leibler "
    "divergence KL(p, q) (a), the Renyi divergence of order 1/2 (b) and KL(q, p) (c). Dotted in (b): the published "
    "Gaussian. Quadrature: no bands.",
    "fig_orders": "Standard deviation and mean of the Gaussian with the smallest Renyi divergence from the density of "
    "figure C.2, against the order (left), and the variational Renyi bound of a fixed Gaussian against the order "
    "(right, log Z = 0). Quadrature: no bands.",
}

STUDY = Study(
    name="tempering_illustration",
    title="Tempering on the line, and variational approximations",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("mass_left", "mass_left_error", "acceptance"),
    check=check,
    figures=FIGURES,
)
