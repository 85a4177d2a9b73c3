"""Captions of the figures of the group `models`; the Snakefile reads them, so that this module imports nothing."""

CAPTIONS: dict[str, str] = {
    "fig_1_5": "The simulator of figure 1.5 for geometric Brownian motion dy = y/2 dt + y dn. Left: one path in 16 "
    "steps by Milstein's scheme and by that of Euler and Maruyama, with the exact solution for the same noise. Right: "
    "mean error at time 1 against the time step, all from the same paths; dotted lines have slopes 1/2 and 1, bars are "
    "+- 1 standard error over 20 batches of paths and mostly hidden by the markers.",
    "fig_1_6": "An implicit model: two standard normal inputs with circles that hold 10, 30, 50, 70 and 90 %, and the "
    "curve on which the output x1 x2 / ((1 + exp x1)(1 + exp x2)) is 1. The curve lies where both inputs are negative: "
    "two positive inputs give 0.078 at most. Exact: no bands.",
    "fig_b_1": "The computation graph of figures B.1 and B.2, the negative log density of a normal law with mean m and "
    "standard deviation s at x: each box has a variable, its value and its accumulator, the derivative of c in it. "
    "Orange: accumulators that follow from the drawn partial derivative 1 of z = y/s in y, which should be 1/s. "
    "Computed by the tape in auxmc/numerics/reverse_mode.py.",
    "contrastive_divergence": "Bias of contrastive divergence for a restricted Boltzmann machine of three visible and "
    "two hidden units: largest error of its expectation over the weights, against the number of sweeps (exact, by "
    "powers of the transition matrix), with the rate of block Gibbs sampling dotted. Crosses: largest error of a mean "
    "of simulated estimates, which their noise keeps from falling.",
    "mean_field": "Gaussians with unit variances and two correlations (ellipses that hold 90 %), their mean-field "
    "approximations, whose variance is 1 minus the squared correlation, and the means that coordinate ascent visits in "
    "12 sweeps from the square. Exact: no bands.",
}
