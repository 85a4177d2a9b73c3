"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.manifold_illustrations.settings import Settings, check

FIGURES = {
    "fig_4_3": "Two inputs with standard normal density and the fibre of one observation (dashed). Left: prior "
    "density of the inputs. Right: a leapfrog trajectory on the target of approximate Bayesian computation with a "
    "Gaussian kernel, which crosses the fibre again and again, and a constrained trajectory of the same integration "
    "time along it. One trajectory each, the first of those that were run: no bands.",
    "fig_4_4": "Left: the fibre of u1^2 - u2^2 = 1 has two branches; draws of one chain of constrained HMC, which "
    "never leaves the branch it began on. Middle: with noise added to the generator the fibre is one connected "
    "surface; its vertical axis is the noise term eps n (the published label says n / eps). Right: changes of branch "
    "per iteration against the noise scale, mean over chains, bars +- 1 standard error.",
    "fig_costs": "Left: effective draws per second of the slower input against the noise scale of the generator of "
    "figure 4.3, for constrained HMC on the noisy manifold at one step size, and for HMC with a step in proportion to "
    "the scale (the same target). Middle: seconds to factorise a Gram matrix and solve with it, least of five, with "
    "dense algebra and with the structure of independent observations; dotted: cubic and linear growth. Right: "
    "effective draws per potential gradient on the rates of the Lotka-Volterra data against geodesic sub-steps a step, "
    "at one sub-step size. One run each: no bands.",
    "fig_d_1": "Three densities of unit variance for random inputs: densities (left) and negative log densities in "
    "nats (right). Closed forms: no bands.",
}

STUDY = Study(
    name="manifold_illustrations",
    title="Illustrations of manifolds of inputs",
    document="PhD thesis",
    schema=Settings,
    sweep_quantities=("branch_changes_per_iteration", "acceptance", "crossings", "net_over_path"),
    check=check,
    figures=FIGURES,
)
