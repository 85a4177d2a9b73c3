"""Markov kernels: involutions, Gibbs scans, Metropolis acceptance, shells of mass, coupling from the past."""

import math
from collections.abc import Callable
from functools import partial
from itertools import permutations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr
from jax import Array
from jax.scipy import special as special_jax
from scipy import integrate, special, stats

from auxmc.diagnostics.finite_chains import (
    detailed_balance_residual,
    invariance_residual,
    transition_matrix,
    uniform_cells,
)
from auxmc.kernels.hamiltonian.langevin import mala
from auxmc.kernels.metropolis.coupling_from_the_past import coupling_from_the_past
from auxmc.kernels.metropolis.gibbs import gaussian_blocks, spin_blocks
from auxmc.kernels.metropolis.involution import InvolutionNoise, involution_metropolis
from auxmc.kernels.metropolis.metropolis import MetropolisState, MoveNoise, random_walk_metropolis
from auxmc.numerics.array_types import FloatArray
from auxmc_pipeline.measuring import mean, proportion_of
from experiments.boltzmann.model.enumeration import sign_table
from experiments.foundations.chains.inputs import correlated, log_uniforms, mixture_density, random_keys
from experiments.foundations.measurements import lowest_point, points_of_cube
from experiments.foundations.models.machines import log_weights, three_units
from experiments.foundations.topic import Arrays, Found, Lines, Topic, Work
from experiments.tempering_illustration.model import NARROW_LEFT

TOPIC = Topic()

# Figure 2.7: the state from which moves are proposed, and the standard deviations of its two proposals.
_START, _PROPOSAL_SDS = -0.75, (0.3, 0.5)
# Figure 2.8: dimensions, and where each of its curves is drawn.
_SHELL_DIMENSIONS, _SHELL_RANGES = (1, 16, 49, 100), ((0.0, 5.0), (1.0, 7.0), (4.0, 10.0), (7.0, 13.0))
_NARROW = 0.8  # Correlation of the ellipses of figure 2.9 and of the slides.
_GIBBS_CORNERS = ((-1.3, -1.0), (-0.1, -1.0), (-0.1, 0.3))
_SHORT_AXES = (1.5, 0.5)


@TOPIC.figure("fig_2_7")
def proposals(work: Work) -> Arrays:
    """Figure 2.7: target, proposals, and what is left of them after the accept step."""
    x = np.linspace(-2.0, 2.0, 401)
    target, here = mixture_density(NARROW_LEFT, x), float(mixture_density(NARROW_LEFT, _START))
    proposed = np.array([stats.norm.pdf(x, _START, sd) for sd in _PROPOSAL_SDS])
    accepted = proposed * np.minimum(1.0, target / here)
    along = {"x": x}
    by_sd = {"sd": list(_PROPOSAL_SDS), **along}
    return {
        "target": xr.DataArray(target, along),
        "proposal": xr.DataArray(proposed, by_sd),
        "accepted": xr.DataArray(accepted, by_sd),
    }


@TOPIC.figure("fig_2_8")
def shells(work: Work) -> Arrays:
    """Figure 2.8: densities of the distance from the origin."""
    fraction = np.linspace(0.0, 1.0, 201)
    radii = np.array([low + (high - low) * fraction for low, high in _SHELL_RANGES])
    densities = np.array([stats.chi(dim).pdf(r) for dim, r in zip(_SHELL_DIMENSIONS, radii, strict=True)])
    coordinates = {"dimension": list(_SHELL_DIMENSIONS), "point": np.arange(len(fraction))}
    return {"radius": xr.DataArray(radii, coordinates), "density": xr.DataArray(densities, coordinates)}


@TOPIC.figure("fig_2_9")
def conditionals(work: Work) -> Arrays:
    """Figure 2.9: two updates of a Gibbs sampler and the distributions that they are drawn from."""
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2.0)
    covariance = turn @ np.diag(np.square(_SHORT_AXES)) @ turn.T
    sd = math.sqrt(covariance[0, 0] - covariance[0, 1] ** 2 / covariance[1, 1])
    slope = covariance[0, 1] / covariance[1, 1]
    centres = slope * np.array([_GIBBS_CORNERS[0][1], _GIBBS_CORNERS[1][0]])
    along = centres[:, None] + sd * np.linspace(-3.0, 3.0, 121)
    density = stats.norm.pdf(along, centres[:, None], sd)
    angle = np.linspace(0.0, 2.0 * math.pi, 181)
    circle = np.stack([np.cos(angle), np.sin(angle)])
    ellipses = np.array([(turn * axes) @ circle for axes in ((3.0, 1.0), _SHORT_AXES)])
    axis, update = {"axis": [1, 2]}, {"update": [1, 2], "place": np.arange(121)}
    return {
        "path": xr.DataArray(np.array(_GIBBS_CORNERS), {"corner": [0, 1, 2], **axis}),
        "along": xr.DataArray(along, update),
        "density": xr.DataArray(density, update),
        "ellipse": xr.DataArray(ellipses, {"level": [1, 2], **axis, "angle": angle}),
    }


@TOPIC.figure("slides_gibbs")
def gibbs_path(work: Work) -> Arrays:
    """Slide: half-updates of a Gibbs sampler from (-2, -2)."""
    update = gaussian_blocks(np.zeros(2), correlated(_NARROW))
    points = [jnp.array([-2.0, -2.0])]
    for half, numbers in enumerate(work.rng("gibbs path").normal(size=(20, 2))):
        points.append(update.redraw(jnp.asarray(numbers), jnp.int32(half % 2), points[-1]))
    coordinates = {"update": np.arange(21), "axis": [1, 2]}
    return {"path": xr.DataArray(np.array(points), coordinates)}


@TOPIC.figure("slides_metropolis")
def metropolis_path(work: Work) -> Arrays:
    """Slide: iterations of a random walk from (-2, -2), with the proposals that were rejected."""
    scale, n_steps, rng = 0.8, 20, work.rng("metropolis path")
    normals, uniforms = rng.normal(size=(n_steps, 2)), log_uniforms(rng, (n_steps,))
    precision = jnp.asarray(np.linalg.inv(correlated(_NARROW)))
    kernel = random_walk_metropolis(lambda x: -0.5 * x @ precision @ x, scale, 2)
    state, apply = kernel.init(jnp.array([-2.0, -2.0])), jax.jit(kernel.apply)
    states, proposals_, accepted = [state.position], [], []
    for step in range(n_steps):
        noise = MoveNoise(jnp.asarray(normals[step]), jnp.asarray(uniforms[step]))
        proposals_.append(state.position + scale * noise.move)
        state, info = apply(noise, state)
        states.append(state.position)
        accepted.append(bool(info.is_accepted))
    numbers = {"state_number": np.arange(n_steps + 1)}
    steps, axis = {"step": np.arange(1, n_steps + 1)}, {"axis": [1, 2]}
    return {
        "state": xr.DataArray(np.array(states), {**numbers, **axis}),
        "proposal": xr.DataArray(np.array(proposals_), {**steps, **axis}),
        "accepted": xr.DataArray(np.array(accepted, float), steps),
    }


_N_GRID = 200_001
_GAMMA_SHAPE = 3.0
_LOG_CONSTANTS = (-1000.0, -1.0, 0.0, 1.0, 1000.0)
_SCANS = ("systematic order 1, 2, 3", "random scan", "random permutation")


@TOPIC.claim("FN-MK-01")
def involution_orbits(work: Work) -> Lines:
    """The involution x -> 1 / x on a gamma distribution, from exact draws."""
    kernel = involution_metropolis(lambda x: (_GAMMA_SHAPE - 1.0) * jnp.log(x[0]) - x[0], lambda x: 1.0 / x)
    n_chains, n_steps, rng = work.replicates(100_000, 10_000), 20, work.rng("involution")
    noise = InvolutionNoise(jnp.asarray(log_uniforms(rng, (n_chains, n_steps))))

    def chain(noise: InvolutionNoise, start: Array) -> Array:
        def step(state: MetropolisState, noise: InvolutionNoise) -> tuple[MetropolisState, Array]:
            new, _ = kernel.apply(noise, state)
            return new, new.position[0]

        return jnp.append(start, jax.lax.scan(step, kernel.init(start), noise)[1])

    starts = jnp.asarray(rng.gamma(_GAMMA_SHAPE, size=(n_chains, 1)))
    paths = np.log(np.asarray(jax.jit(jax.vmap(chain))(noise, starts)))
    # The image of the image may differ from the point in its last bit: values 1e-9 apart count as one.
    distinct = 1 + np.sum(np.diff(np.sort(paths, axis=1), axis=1) > 1e-9, axis=1)
    return {
        "share of chains that visit more than two states": proportion_of(distinct > 2),
        "mean of log x after one step less psi(3)": mean(paths[:, 1]) - float(special.digamma(_GAMMA_SHAPE)),
    }


@TOPIC.claim("FN-MH-01")
def acceptance_in_the_figure(work: Work) -> Lines:
    """Accepted fraction of the proposals of figure 2.7, by quadrature."""
    narrow, wide = (_accepted_mass(sd, -math.inf) for sd in _PROPOSAL_SDS)
    return {"narrow less wide": narrow - wide}


@TOPIC.claim("FN-MH-02")
def crossings_in_the_figure(work: Work) -> Lines:
    """Accepted moves beyond the dip between the modes."""
    dip, _ = lowest_point(lambda x: mixture_density(NARROW_LEFT, x), -0.3, 0.3, 1e-10)
    narrow, wide = (_accepted_mass(sd, dip) for sd in _PROPOSAL_SDS)
    return {"ratio": wide / narrow}


def _accepted_mass(sd: float, above: float) -> float:
    x = np.linspace(max(_START - 12.0 * sd, above), _START + 12.0 * sd, _N_GRID)
    accepted = np.minimum(mixture_density(NARROW_LEFT, x) / mixture_density(NARROW_LEFT, _START), 1.0)
    return float(integrate.trapezoid(accepted * stats.norm.pdf(x, _START, sd), x))


@TOPIC.claim("FN-MH-04")
def constants_in_the_target(work: Work) -> Lines:
    """The same numbers on targets that differ by a constant, symmetric and asymmetric proposals."""
    numbers = jnp.asarray(points_of_cube(work.replicates(100_000, 2000), 2))
    noise = MoveNoise(special_jax.ndtri(numbers[:, :1]), jnp.log(numbers[:, 1]))

    def chain(make: Callable[..., Any], constant: Array) -> tuple[Array, Array]:
        kernel = make(lambda x: constant + NARROW_LEFT.log_density(x)[0], 0.5, 1)

        def step(state: MetropolisState, noise: MoveNoise) -> Any:
            new, info = kernel.apply(noise, state)
            return new, (jnp.log(info.acceptance_rate), info.is_accepted)

        return jax.lax.scan(step, kernel.init(jnp.full(1, _START)), noise)[1]

    found: Found = {}
    for proposals, make in (("", random_walk_metropolis), (", asymmetric", mala)):
        chains = jax.jit(jax.vmap(partial(chain, make)))(jnp.asarray(_LOG_CONSTANTS))
        log_accept, accepted = map(np.asarray, chains)
        found[f"largest difference of log acceptance{proposals}"] = np.ptp(log_accept, axis=0).max()
        found[f"decisions that differ{proposals}"] = np.ptp(accepted.astype(int), axis=0).sum()
    return found


@TOPIC.claim("FN-MK-02")
def balance_of_scans(work: Work) -> Lines:
    """Residuals of the exact kernels of the machine of three spins."""
    distribution, matrices = _spin_chains()
    residuals = {"detailed balance": detailed_balance_residual, "invariance": invariance_residual}
    return {
        f"{name}, {condition}": residual(matrices[name], distribution)
        for condition, residual in residuals.items()
        for name in _SCANS
    }


def _spin_chains() -> tuple[FloatArray, dict[str, FloatArray]]:
    """Distribution of the machine of three spins and exact matrices of its Gibbs kernels.

    Each update is run from all states in all boxes of its uniform numbers.
    """
    machine = three_units()
    weights, biases = (jnp.asarray(values) for values in machine)

    def log_odds(spins: Array) -> Array:
        return 2.0 * (weights @ spins + biases)

    states = sign_table(3)
    distribution = np.exp(log_weights(machine, states))
    distribution /= distribution.sum()
    update = spin_blocks(log_odds, 3)
    thresholds = special.expit(2.0 * (states @ machine.weights + machine.biases))
    points, volumes = uniform_cells(list(thresholds.T))

    @jax.jit
    def moved(numbers: Array, spins: Array) -> Array:
        from_states = jax.vmap(update.redraw, (None, None, 0))
        in_boxes = jax.vmap(from_states, (0, None, None))
        return jax.vmap(in_boxes, (None, 0, None))(numbers, jnp.arange(3, dtype=jnp.int32), spins)

    ends = ((np.asarray(moved(jnp.asarray(points), jnp.asarray(states))) > 0.0) @ [4, 2, 1]).astype(int)
    singles = [transition_matrix(end, volumes) for end in ends]
    orders = [a @ b @ c for a, b, c in permutations(singles)]
    first, second, third = singles
    sweeps = (first @ second @ third, np.mean(singles, axis=0), np.mean(orders, axis=0))
    return distribution, dict(zip(_SCANS, sweeps, strict=True))


@TOPIC.claim("FN-EX-01")
def exact_draws(work: Work) -> Lines:
    """Draws from the past of a chain of two states whose stationary probability of state 0 is 2/3."""
    n, rng = work.replicates(50_000, 10_000), work.rng("two states")
    # P(0, 0) = P(0, 1) = 1/2 and P(1, 0) = 1, state 1 being True.
    states = jnp.array([False, True])
    past = coupling_from_the_past(jax.random.uniform, lambda u, state: ~state & (u < 0.5), states)
    drawn = jax.jit(jax.vmap(past))(random_keys(rng, (n,)))
    return {"state 0 from the past": proportion_of(~np.asarray(drawn.position))}
