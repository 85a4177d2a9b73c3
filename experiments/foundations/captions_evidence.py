"""Captions of the figures on evidence, nested sampling and particle filters. No imports."""

CAPTIONS: dict[str, str] = {
    "bounds": "Annealed importance sampling on 100 observations with mean 2 and prior N(0, 1), with "
    "transitions that draw from their targets exactly. Left: mean log weight of forward runs, and minus that "
    "of reversed runs from exact posterior draws, against the number of equal steps; lines are closed forms, "
    "points are means of simulated runs with bars of 2 standard errors (most are smaller than the points). "
    "Right: inverse temperatures of ladders whose steps each keep a share of the effective size of the "
    "weights; lines for infinitely many particles, points for one population of 2000. Not in the sources, "
    "which state the bounds and the adaptive ladder.",
    "nested_bias": "Expected estimate of nested sampling over the evidence, for 100 observations with mean 2 "
    "and prior N(0, 1) and exact draws under the constraint, with the three factors by which the prior mass "
    "is taken to shrink at each of M live points. Lines by quadrature; points are means of simulated runs to "
    "the end, with bars of 2 standard errors. Only 1 - 1/M is unbiased; the source calls sums with M/(M+1) "
    "so.",
    "harmonic": "Harmonic mean of the likelihoods of exact posterior draws over the evidence, against the "
    "number of draws, for 100 observations with mean 2: median over replicates and band from the 5 % to the "
    "95 % quantile. Dashed: the largest likelihood, which no harmonic mean exceeds. The source has ten draws "
    "and an overestimate of two orders of magnitude or more (shaded), which is out of reach for these data.",
    "slides_particle_filter": "Bootstrap particle filter with 100 particles on the linear Gaussian chain x_t "
    "= 0.9 x_{t-1} + N(0, 0.25) with observations sin(t) of unit noise variance, in one run each. Top: mean "
    "and band of 2 standard deviations of the state given the observations so far, beside those of the "
    "Kalman filter (exact), with resampling at every step. Below: paths of the particles without resampling "
    "(left; the darker the larger the final weight) and with (right; grey lines have no descendants at the "
    "last step, blue ones do). The slides have no figure; chain and data are ours.",
}
