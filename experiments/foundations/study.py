"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.foundations.settings import Settings

FIGURES = {
    "fig_2_1": "Bits of all states of the linear congruential generator s -> (37 s + 61) mod 128, started at 37: one "
    "column a state, the most significant bit on top. Bit j, counted from the least significant, repeats every 2^(j+1) "
    "states. Exact: no bands.",
    "fig_2_2": "A grid of pairs of uniform numbers (left) and its image under the map of Box and Muller (right): the "
    "first number becomes the radius, the second the angle. Filled and open dots alternate with the second number; "
    "lines join neighbours. Exact: no bands.",
    "fig_2_3": "Rejection sampling from 0.6 N(0.5, 0.5^2) + 0.4 N(-0.5, 0.25^2), drawn below 1.9 times the density of "
    "N(0.1, 0.6^2). Two proposals with their heights, which are uniform between zero and the envelope (bars): one "
    "above the target is rejected, one below is accepted. Exact: no bands.",
    "fig_2_5": "Importance weights of 0.75 times the mixture of figure 2.3 for draws from N(0.1, 0.52^2) (left) and "
    "N(0.1, 0.8^2) (right). The title gives the effective fraction of the draws, (E w)^2 / E w^2; the left weight goes "
    "on rising outside the panel, where hardly any draw falls. Exact: no bands.",
    "slides_integration": "Two functions (top) and the densities that they are averaged over, with the product of "
    "both (bottom). The slides give no functions: ours are sin(8 x) exp(-x^2 / 8) under N(0, 1), of which positive and "
    "negative parts cancel, and x^2 under the mixture of figure 2.3. Exact: no bands.",
    "slides_importance": "Draws from N(1, 0.1^2) in place of N(0, 1), the example of the slides. Left: the densities, "
    "and the integrand p^2 / q of the second moment of the weights, which has no limit: its integral diverges. Right: "
    "running means of the weights in 20 independent runs; they seem to settle well below the true value 1 (dashed) and "
    "jump where a rare large weight comes. One line a run: no bands.",
    "slides_inverse_cdf": "Inversion of a distribution function: 20 evenly spaced uniform numbers on the vertical "
    "axis, sent through the function to the horizontal axis, lie as close to each other as the density (shaded, on the "
    "right axis) is high. The slides give no distribution: ours is that of figure 2.12, with density a exp(-a x) (1 + "
    "exp(-x))^(-1 - a), a = 0.4. Exact: no bands.",
    "slides_rejection": "Left: 600 points uniform below the envelope of figure 2.3, accepted (dots) and rejected "
    "(crosses); in any strip (shaded) the share accepted is target over envelope. Right: target over proposal, the "
    "weight of importance sampling for the same proposal, stays below the bound that rejection needs (dashed). One "
    "sample: no bands.",
    "quadrature": "Relative error of the integral of exp(x_1 + ... + x_D) over the unit cube against the number of "
    "evaluations: Simpson's rule in every dimension (dots), whose slope is -4 / D, and averages over independent "
    "uniform draws: root mean square over 50 runs (crosses) with its exact value (line), whose slope is -1/2 in every "
    "dimension. The rates are equal at D = 8. Not in the sources.",
    "fig_2_7": "Figure 2.7: moves of a random walk from the arrow, on a mixture of two Gaussians. Dashed: density of "
    "the proposal; filled: what is accepted of it, both times 0.75. The area between is the probability of staying. "
    "The wide proposal is rejected more often and reaches the right mode more often.",
    "fig_2_8": "Figure 2.8: density of the distance of a standard normal vector of D coordinates from the origin. The "
    "shell grows as the root of D and keeps its thickness.",
    "fig_2_9": "Figure 2.9: two updates of a Gibbs sampler on a Gaussian with correlation 0.8. Ellipses are contours "
    "of its density; on the line of each update the conditional density that it draws from.",
    "fig_2_10": "Figure 2.10: an update of a linear slice sampler. Left: slice of a density in the plane, with the "
    "slice line through the current point. Right: the density along that line; a proposal off the slice becomes an end "
    "of the bracket. The slice is computed, not drawn by hand.",
    "fig_2_11": "Figure 2.11: every second of 1000 transitions of slice samplers on a Gaussian with unit variances "
    "and correlation 0.99, with brackets of width 1 and at most 4 step-outs; dotted: the ellipse that holds 99 % of "
    "the mass. Right: mean squared jump along the long axis in each of many such chains. Both cost the same "
    "number of density evaluations a transition.",
    "fig_2_12": "Figure 2.12: two leapfrog trajectories on the generalised logistic density with shape 0.4, each of "
    "nine steps of 0.5 from a square to a triangle; between them the momentum is drawn again (dotted). Contours: first "
    "energy, and 1 nat below and above. Right: potential, kinetic and total energy along both.",
    "fig_3_2": "Figure 3.2: a slice line in the unit square that is reflected at its faces. A proposal off the slice "
    "(cross) becomes the end of the bracket; the next one is accepted.",
    "slides_gibbs": "Lecture slides: 20 updates of single coordinates by a Gibbs sampler from (-2, -2), on a Gaussian "
    "with unit variances and correlation 0.8. Parameters are ours.",
    "slides_metropolis": "Lecture slides: 20 iterations of random-walk Metropolis from (-2, -2) with standard "
    "deviation 0.8, on a Gaussian with unit variances and correlation 0.8; dotted lines lead to rejected proposals. "
    "Parameters are ours.",
    "slides_hmc": "Lecture slides: one trajectory of 20 leapfrog steps of 0.15 on a Gaussian with unit variances and "
    "correlation 0.8; arrows are momenta. Parameters are ours.",
    "slides_slice": "Lecture slides: one update of a slice sampler on the mixture of figure 2.10. The bracket grows "
    "across the dip between the two parts of the slice, shrinks twice, and the update ends in the other mode.",
    "fig_hmc_cost": "Operations for a nearly independent draw of a standard normal vector: length x evaluations of a "
    "transition x autocorrelation time, from single transitions of exact draws. Dashed: the powers 2 and 5/4 of the "
    "length that section 2.3.2 of the PhD thesis quotes. Right: acceptance, which the chosen step sizes keep.",
    "bounds": "Annealed importance sampling on 100 observations with mean 2 and prior N(0, 1), with transitions that "
    "draw from their targets exactly. Left: mean log weight of forward runs, and minus that of reversed runs from "
    "exact posterior draws, against the number of equal steps; lines are closed forms, points are means of simulated "
    "runs with bars of 2 standard errors (most are smaller than the points). Right: inverse temperatures of ladders "
    "whose steps each keep a fraction of the effective size of the weights; lines for infinitely many "
    "particles, points "
    "for one population of 2000. Not in the sources, which state the bounds and the adaptive ladder.",
    "nested_bias": "Expected estimate of nested sampling over the evidence, for 100 observations with mean 2 and "
    "prior N(0, 1) and exact draws under the constraint, with the three factors by which the prior mass is taken to "
    "shrink at each of M live points. Lines by quadrature; points are means of simulated runs to the end, with bars of "
    "2 standard errors. Only 1 - 1/M is unbiased; the source calls sums with M/(M+1) so.",
    "harmonic": "Harmonic mean of the likelihoods of exact posterior draws over the evidence, against the number of "
    "draws, for 100 observations with mean 2: median over replicates and band from the 5 % to the 95 % quantile. "
    "Dashed: the largest likelihood, which no harmonic mean exceeds. The source has ten draws and an overestimate of "
    "two orders of magnitude or more (shaded), which is out of reach for these data.",
    "slides_particle_filter": "Bootstrap particle filter with 100 particles on the linear Gaussian chain x_t = 0.9 "
    "x_{t-1} + N(0, 0.25) with observations sin(t) of unit noise variance, in one run each. Top: mean and band of 2 "
    "standard deviations of the state given the observations so far, next to those of the Kalman filter (exact), with "
    "resampling at every step. Below: paths of the particles without resampling (left; the darker the larger the final "
    "weight) and with (right; grey lines have no descendants at the last step, blue ones do). The slides have no "
    "figure; chain and data are ours.",
    "fig_1_5": "The simulator of figure 1.5 for geometric Brownian motion dy = y/2 dt + y dn. Left: one path in 16 "
    "steps by Milstein's scheme and by that of Euler and Maruyama, with the exact solution for the same noise. Right: "
    "mean error at time 1 against the time step, all from the same paths; dotted lines have slopes 1/2 and 1, bars are "
    "+- 1 standard error over 20 batches of paths and mostly hidden by the markers.",
    "fig_1_6": "An implicit model: two standard normal inputs with circles that hold 10, 30, 50, 70 and 90 %, and the "
    "curve on which the output x1 x2 / ((1 + exp x1)(1 + exp x2)) is 1. The curve lies where both inputs are negative: "
    "two positive inputs give 0.078 at most. Exact: no bands.",
    "fig_b_1": "The computation graph of figures B.1 and B.2, the negative log density of a normal distribution "
    "with mean m "
    "and standard deviation s at x: each box has a variable, its value and its accumulator, the derivative of c in it. "
    "Orange: accumulators that follow from the drawn partial derivative 1 of z = y/s in y, which should be 1/s. "
    "Computed by the tape in experiments/foundations/models/tape.py.",
    "contrastive_divergence": "Bias of contrastive divergence for a restricted Boltzmann machine of three visible and "
    "two hidden units: largest error of its expectation over the weights, against the number of sweeps (exact, by "
    "powers of the transition matrix), with the rate of block Gibbs sampling dotted. Crosses: largest error of a mean "
    "of simulated estimates, which their noise keeps from falling.",
    "mean_field": "Gaussians with unit variances and two correlations (ellipses that hold 90 %), their mean-field "
    "approximations, whose variance is 1 minus the squared correlation, and the means that coordinate ascent visits in "
    "12 sweeps from the square. Exact: no bands.",
}

STUDY = Study(
    name="foundations",
    title="Foundations: algorithms and illustrations of the background chapters",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("measured",),
    drawn_by=("numbers.figures", "chains.figures", "evidence.figures", "models.figures"),
    figures=FIGURES,
)
