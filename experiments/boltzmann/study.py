"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.boltzmann.settings import Settings, check, data_files

_CURVES = (
    "Mean over 10 repeats of each system of the error divided by that of the variational base (below 1: better than "
    "the base), bands and bars +- 3 standard errors of that mean. Curves: 10 disjoint groups of chains a system; "
    "points: annealed importance sampling with the numbers of temperatures that are written next to them. Left: "
    "against gradient evaluations of a repeat. Right: against run time of a repeat on one core, compiling excluded."
)
FIGURES = {
    "fig_5_1": "Exact samples of a relaxation of 28 units, projected on to eigenvectors of its largest eigenvalues. "
    "Left: leading two principal components of the exact covariance inside the space of the largest eigenvalue, "
    "which has several eigenvectors. Right: eigenvectors of the two largest numerical eigenvalues, the published view.",
    "fig_5_2_a": f"Log normaliser: relative error. {_CURVES}",
    "fig_5_2_b": f"Mean: relative root mean squared error over coordinates. {_CURVES}",
    "fig_5_2_c": f"Covariance: relative root mean squared error over elements. {_CURVES}",
    "fig_pooling": "The same chains pooled in three ways: disjoint groups, the nested and overlapping groups of the "
    "published figure, single chains. Crosses: published values. Bands +- 3 standard errors, which take the repeats of "
    "a system as independent; nested ones are not.",
}

STUDY = Study(
    name="boltzmann",
    title="Boltzmann machine relaxations",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("pooled_log_z_error", "log_z_standard_error", "acceptance", "seconds_per_gradient"),
    batched=("method", "n_temperatures"),
    check=check,
    data_files=data_files,
    figures=FIGURES,
)
