"""Captions of the figures on chains. No imports: the workflow reads this."""

CAPTIONS: dict[str, str] = {
    "fig_2_7": (
        "Figure 2.7: moves of a random walk from the arrow, on a mixture of two Gaussians. Dashed: density of the "
        "proposal; filled: what is accepted of it, both times 0.75. The area between is the probability of "
        "staying. The wide proposal is rejected more often and reaches the right mode eleven times as often."
    ),
    "fig_2_8": (
        "Figure 2.8: density of the distance of a standard normal vector of D coordinates from the origin. The "
        "shell grows as the root of D and keeps its thickness."
    ),
    "fig_2_9": (
        "Figure 2.9: two updates of a Gibbs sampler on a Gaussian with correlation 0.8. Ellipses are contours of "
        "its density; on the line of each update the conditional density that it draws from."
    ),
    "fig_2_10": (
        "Figure 2.10: an update of a linear slice sampler. Left: slice of a density in the plane, with the slice "
        "line through the current point. Right: the density along that line; a proposal off the slice becomes an "
        "end of the bracket. The slice is computed, not drawn by hand."
    ),
    "fig_2_11": (
        "Figure 2.11: every second of 1000 transitions of slice samplers on a Gaussian with unit variances and "
        "correlation 0.99, with brackets of width 1 and at most 4 step-outs; dotted: the ellipse that holds 99 % "
        "of the mass. Right: mean squared jump along the long axis in each of many such chains. Both cost 5.4 "
        "density evaluations a transition."
    ),
    "fig_2_12": (
        "Figure 2.12: two leapfrog trajectories on the generalised logistic density with shape 0.4, each of nine "
        "steps of 0.5 from a square to a triangle; between them the momentum is drawn anew (dotted). Contours: "
        "first energy, and 1 nat below and above. Right: potential, kinetic and total energy along both."
    ),
    "fig_3_2": (
        "Figure 3.2: a slice line in the unit square that is reflected at its faces. A proposal off the slice "
        "(cross) becomes the end of the bracket; the next one is accepted."
    ),
    "slides_gibbs": (
        "Lecture slides: 20 updates of single coordinates by a Gibbs sampler from (-2, -2), on a Gaussian with "
        "unit variances and correlation 0.8. Parameters are ours."
    ),
    "slides_metropolis": (
        "Lecture slides: 20 iterations of random-walk Metropolis from (-2, -2) with standard deviation 0.8, on a "
        "Gaussian with unit variances and correlation 0.8; dotted lines lead to rejected proposals. Parameters "
        "are ours."
    ),
    "slides_hmc": (
        "Lecture slides: one trajectory of 20 leapfrog steps of 0.15 on a Gaussian with unit variances and "
        "correlation 0.8; arrows are momenta. Parameters are ours."
    ),
    "slides_slice": (
        "Lecture slides: one update of a slice sampler on the mixture of figure 2.10. The bracket grows across "
        "the dip between the two parts of the slice, shrinks twice, and the update ends in the other mode."
    ),
    "fig_hmc_cost": (
        "Operations for a nearly independent draw of a standard normal vector: length x evaluations of a "
        "transition x autocorrelation time, from single transitions of exact draws. Dashed: the powers 2 and 5/4 "
        "of the length that section 2.3.2 of the PhD thesis quotes. Right: acceptance, which the chosen step "
        "sizes keep."
    ),
}
"""For each figure, what it shows."""
