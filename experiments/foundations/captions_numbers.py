"""Captions of the figures on random numbers, direct sampling, importance weights and averages. No imports."""

CAPTIONS: dict[str, str] = {
    "fig_2_1": "Bits of all states of the linear congruential generator s -> (37 s + 61) mod 128, started at 37: one "
    "column a state, the most significant bit on top. Bit j, counted from the least significant, repeats every "
    "2^(j+1) states. Exact: no bands.",
    "fig_2_2": "A grid of pairs of uniform numbers (left) and its image under the map of Box and Muller (right): the "
    "first number becomes the radius, the second the angle. Filled and open dots alternate with the second number; "
    "lines join neighbours. Exact: no bands.",
    "fig_2_3": "Rejection sampling from 0.6 N(0.5, 0.5^2) + 0.4 N(-0.5, 0.25^2), drawn below 1.9 times the density of "
    "N(0.1, 0.6^2). Two proposals with their heights, which are uniform between zero and the envelope (bars): one "
    "above the target is rejected, one below is accepted. Exact: no bands.",
    "fig_2_5": "Importance weights of 0.75 times the mixture of figure 2.3 for draws from N(0.1, 0.52^2) (left) and "
    "N(0.1, 0.8^2) (right). The title gives the effective share of the draws, (E w)^2 / E w^2; the left "
    "weight rises to 23.6 at 5.4, outside the panel, where hardly any draw falls. Exact: no bands.",
    "slides_integration": "Two functions (top) and the densities that they are averaged over, with the product of both "
    "(bottom). The slides give no functions: ours are sin(8 x) exp(-x^2 / 8) under N(0, 1), of which positive and "
    "negative parts cancel, and x^2 under the mixture of figure 2.3. Exact: no bands.",
    "slides_importance": "Draws from N(1, 0.1^2) in place of N(0, 1), the example of the slides. Left: the densities, "
    "and the integrand p^2 / q of the second moment of the weights, which has no limit: its integral diverges. Right: "
    "running means of the weights in 20 independent runs; they seem to settle well below the true value 1 (dashed) and "
    "jump where a rare large weight comes. One line a run: no bands.",
    "slides_inverse_cdf": "Inversion of a distribution function: 20 evenly spaced uniform numbers on the vertical "
    "axis, sent through the function to the horizontal axis, lie as close to each other as the density (shaded, on the "
    "right axis) is high. The slides give no law: ours is that of figure 2.12, with density "
    "a exp(-a x) (1 + exp(-x))^(-1 - a), a = 0.4. Exact: no bands.",
    "slides_rejection": "Left: 600 points uniform below the envelope of figure 2.3, accepted (dots) and rejected "
    "(crosses); in any strip (shaded) the share accepted is target over envelope. Right: target over proposal, the "
    "weight of importance sampling for the same proposal, stays below the bound that rejection needs (dashed). "
    "One sample: no bands.",
    "quadrature": "Relative error of the integral of exp(x_1 + ... + x_D) over the unit cube against the number of "
    "evaluations: Simpson's rule in every dimension (dots), whose slope is -4 / D, and averages over independent "
    "uniform draws: root mean square over 50 runs (crosses) with its exact value (line), whose slope is -1/2 in every "
    "dimension. The rates are equal at D = 8. Not in the sources.",
}
"""For each figure, what it shows."""
