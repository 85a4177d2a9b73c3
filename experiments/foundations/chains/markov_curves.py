"""Curves of the figures on Metropolis, shells of mass and Gibbs: 2.7, 2.8, 2.9 and two of the slides."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from scipy import stats

from auxmc.kernels.metropolis.gibbs import gaussian_blocks
from auxmc.kernels.metropolis.metropolis import RandomWalkNoise, random_walk_metropolis
from experiments.foundations.chains.inputs import correlated, log_uniforms, mixture_density
from experiments.foundations.topic import Arrays, Topic, Work
from experiments.tempering_illustration.model.scalar_mixture import NARROW_LEFT

TOPIC = Topic()

START = -0.75
"""State of figure 2.7 from which moves are proposed."""

PROPOSAL_SDS = (0.3, 0.5)
"""Standard deviations of its two proposals."""

SHELL_DIMENSIONS = (1, 16, 49, 100)
"""Dimensions of figure 2.8."""

SHELL_RANGES = ((0.0, 5.0), (1.0, 7.0), (4.0, 10.0), (7.0, 13.0))
"""Where each of its curves is drawn."""

NARROW = 0.8
"""Correlation of the ellipses of figure 2.9 and of the slides."""

_GIBBS_CORNERS = ((-1.3, -1.0), (-0.1, -1.0), (-0.1, 0.3))
_SHORT_AXES = (1.5, 0.5)


@TOPIC.figure("fig_2_7")
def proposals(work: Work) -> Arrays:
    """Figure 2.7: target, proposals, and what is left of them after the accept step."""
    x = np.linspace(-2.0, 2.0, 401)
    target, here = mixture_density(NARROW_LEFT, x), float(mixture_density(NARROW_LEFT, START))
    proposed = np.array([stats.norm.pdf(x, START, sd) for sd in PROPOSAL_SDS])
    accepted = proposed * np.minimum(1.0, target / here)
    along = {"fig_2_7_x": x}
    by_sd = {"fig_2_7_sd": list(PROPOSAL_SDS), **along}
    return {
        "fig_2_7_target": xr.DataArray(target, along),
        "fig_2_7_proposal": xr.DataArray(proposed, by_sd),
        "fig_2_7_accepted": xr.DataArray(accepted, by_sd),
    }


@TOPIC.figure("fig_2_8")
def shells(work: Work) -> Arrays:
    """Figure 2.8: densities of the distance from the origin."""
    fraction = np.linspace(0.0, 1.0, 201)
    radii = np.array([low + (high - low) * fraction for low, high in SHELL_RANGES])
    densities = np.array([stats.chi(dim).pdf(r) for dim, r in zip(SHELL_DIMENSIONS, radii, strict=True)])
    coordinates = {"fig_2_8_dimension": list(SHELL_DIMENSIONS), "fig_2_8_point": np.arange(len(fraction))}
    return {
        "fig_2_8_radius": xr.DataArray(radii, coordinates),
        "fig_2_8_density": xr.DataArray(densities, coordinates),
    }


@TOPIC.figure("fig_2_9")
def conditionals(work: Work) -> Arrays:
    """Figure 2.9: two updates of a Gibbs sampler and the distributions that they are drawn from."""
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2.0)
    covariance = turn @ np.diag(np.square(_SHORT_AXES)) @ turn.T
    sd = math.sqrt(covariance[0, 0] - covariance[0, 1] ** 2 / covariance[1, 1])
    slope = covariance[0, 1] / covariance[1, 1]
    # The first update is along the line x2 = -1, the second along x1 = -0.1.
    centres = slope * np.array([_GIBBS_CORNERS[0][1], _GIBBS_CORNERS[1][0]])
    along = centres[:, None] + sd * np.linspace(-3.0, 3.0, 121)
    density = stats.norm.pdf(along, centres[:, None], sd)
    angle = np.linspace(0.0, 2.0 * math.pi, 181)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    ellipses = np.array([(turn * axes) @ circle for axes in ((3.0, 1.0), _SHORT_AXES)])
    axis, update = {"fig_2_9_axis": [1, 2]}, {"fig_2_9_update": [1, 2], "fig_2_9_place": np.arange(121)}
    return {
        "fig_2_9_path": xr.DataArray(np.array(_GIBBS_CORNERS), {"fig_2_9_corner": [0, 1, 2], **axis}),
        "fig_2_9_along": xr.DataArray(along, update),
        "fig_2_9_density": xr.DataArray(density, update),
        "fig_2_9_ellipse": xr.DataArray(ellipses, {"fig_2_9_level": [1, 2], **axis, "fig_2_9_angle": angle}),
    }


@TOPIC.figure("slides_gibbs")
def gibbs_path(work: Work) -> Arrays:
    """Slide: half-updates of a Gibbs sampler from (-2, -2)."""
    update = gaussian_blocks(np.zeros(2), correlated(NARROW))
    points = [jnp.array([-2.0, -2.0])]
    for half, numbers in enumerate(work.rng("gibbs path").normal(size=(20, 2))):
        points.append(update.redraw(jnp.asarray(numbers), jnp.int32(half % 2), points[-1]))
    coordinates = {"slides_gibbs_update": np.arange(21), "slides_gibbs_axis": [1, 2]}
    return {"slides_gibbs_path": xr.DataArray(np.array(points), coordinates)}


@TOPIC.figure("slides_metropolis")
def metropolis_path(work: Work) -> Arrays:
    """Slide: iterations of a random walk from (-2, -2), with the proposals that were rejected."""
    scale, n_steps, rng = 0.8, 20, work.rng("metropolis path")
    normals, uniforms = rng.normal(size=(n_steps, 2)), log_uniforms(rng, (n_steps,))
    precision = jnp.asarray(np.linalg.inv(correlated(NARROW)))
    kernel = random_walk_metropolis(lambda x: -0.5 * x @ precision @ x, scale, 2)
    state, apply = kernel.init(jax.random.key(0), jnp.array([-2.0, -2.0])), jax.jit(kernel.apply)
    states, proposals_, accepted = [state.position], [], []
    for step in range(n_steps):
        noise = RandomWalkNoise(jnp.asarray(normals[step]), jnp.asarray(uniforms[step]))
        proposals_.append(state.position + scale * noise.normal)
        state, info = apply(noise, state)
        states.append(state.position)
        accepted.append(bool(info.accepted))
    numbers = {"slides_metropolis_state_number": np.arange(n_steps + 1)}
    steps, axis = {"slides_metropolis_step": np.arange(1, n_steps + 1)}, {"slides_metropolis_axis": [1, 2]}
    return {
        "slides_metropolis_state": xr.DataArray(np.array(states), {**numbers, **axis}),
        "slides_metropolis_proposal": xr.DataArray(np.array(proposals_), {**steps, **axis}),
        "slides_metropolis_accepted": xr.DataArray(np.array(accepted, float), steps),
    }
