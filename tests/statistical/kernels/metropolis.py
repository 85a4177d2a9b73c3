"""Metropolis, Hamiltonian, Langevin and Gibbs kernels, right and made wrong."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr

from auxmc import kernels
from tests.statistical.kernel_checks import (
    BIMODAL,
    LOGISTIC,
    Case,
    Target,
    always,
    at_position,
    gaussian,
    keeping,
    with_end,
    with_numbers,
)
from tests.unit.kernels.toys import log_normal


def random_walk(log_density):
    return kernels.random_walk_metropolis(log_density, 1.0, 1)


def _logistic_proposal(key):
    return 1.5 * jax.random.logistic(key, (1,))


def independence(log_density):
    def log_weight(x):
        scaled = x[0] / 1.5
        return log_density(x) + scaled + 2.0 * jnp.logaddexp(0.0, -scaled)

    return kernels.metropolis_independence(log_weight, _logistic_proposal)


def coarse_hmc(log_density):
    """A step of 0.12 is coarse for the narrow mode (sd 0.1), where one proposal in five is rejected."""
    return kernels.hmc(log_density, 0.12, (2, 6), 1)


def _langevin(target, step_size):
    return at_position(kernels.mala(target.log_density, step_size, 1), target)


def _partner(x):
    """An involution of the line with a Jacobian: 3 / u, u being log(1 + exp(x)), taken back by log(exp(u) - 1)."""
    image = 3.0 / jax.nn.softplus(x)
    return image + jnp.log(-jnp.expm1(-image))


def _gibbs(scan, reversible):
    covariance = np.array([[1.0, 0.7], [0.7, 1.0]])
    kernel = kernels.gibbs(kernels.gaussian_blocks(np.zeros(2), covariance), scan)
    return at_position(kernel, gaussian(np.zeros(2), covariance), reversible=reversible)


def _persistent(turned=False):
    """Position and momentum; `turned` momenta are kept by a refreshment without effect, and reversed at the end."""
    fraction = 0.7
    kernel = kernels.persistent_hmc(BIMODAL.log_density, 0.17, 4, fraction, 1)

    def start(key):
        key_position, key_momentum = jax.random.split(key)
        return kernel.init(BIMODAL.draw(key_position), key=key_momentum)

    def trajectory(noise, state):
        kept = state.momentum * (1.0 - fraction) / jnp.sqrt(1.0 - fraction**2)
        new, info = kernel.apply(noise._replace(move=kept), state)
        return new._replace(momentum=-new.momentum), info

    return Case(
        kernel._replace(apply=trajectory) if turned else kernel,
        start,
        lambda state, _: jnp.append(BIMODAL.transform(state.position), ndtr(state.momentum)),
        reversible=turned,
        floor=0.1 if turned else 0.5,
    )


def _with_masses(**changes):
    """The masses are far from those of the target, and steps so coarse that some trajectories are rejected."""
    target = gaussian(np.zeros(2), [[1.0, 0.7], [0.7, 1.0]])
    kernel = kernels.hmc(target.log_density, 0.5, (2, 4), 2, jnp.asarray(INVERSE_MASS))
    return at_position(with_numbers(kernel, **changes), target)


def _no_u_turn(change=lambda kernel: kernel):
    kernel = kernels.nuts(BIMODAL.log_density, 0.12, jnp.full(1, 0.8), 3)
    return at_position(change(kernel), BIMODAL, reversible=False)


def _banana_standard(x):
    return jnp.stack([x[0], (x[1] - 0.5 * x[0] ** 2) / 0.6])


BANANA = Target(
    lambda x: -0.5 * jnp.sum(jnp.square(_banana_standard(x))),
    lambda key: (lambda n: jnp.stack([n[0], 0.5 * n[0] ** 2 + 0.6 * n[1]]))(jax.random.normal(key, (2,))),
    lambda x: ndtr(_banana_standard(x)),
)


def _banana_metric(x):
    """Equation 4.52 of the PhD thesis for the generator x2 - x1^2 / 2, of tolerance 0.6."""
    slope = jnp.stack([-x[0], jnp.ones(())]) / 0.6
    return jnp.outer(slope, slope) + jnp.eye(2)


def _riemannian(metric=_banana_metric, **options):
    """Steps so coarse that trajectories are rejected for their energy, and for implicit steps without a solution."""
    kernel = kernels.riemannian_hmc(
        BANANA.log_density, metric, 0.5, (1, 2), 2, **{"max_iterations": 12, "tolerance": 1e-6} | options
    )
    return at_position(kernel, BANANA)


def _unadjusted():
    """Its biased distribution is wider than the normal one by 1 / (1 - size^2 / 4)."""
    size = 0.9
    biased = gaussian(np.zeros(1), [[1.0 / (1.0 - size**2 / 4.0)]])
    kernel = kernels.unadjusted_langevin(log_normal, size, 1)
    return at_position(kernel, biased, reversible=False)


INVERSE_MASS = np.array([[2.0, 0.5], [0.5, 0.4]])
ON_LINE = {"random walk": random_walk, "independence": independence, "hmc": coarse_hmc}
CASES = {
    "langevin": lambda: _langevin(BIMODAL, 0.15),
    # It does not lead from one mode to the other.
    "involution": lambda: at_position(
        kernels.involution_metropolis(LOGISTIC.log_density, _partner), LOGISTIC, floor=0.2
    ),
    "gibbs": lambda: _gibbs(kernels.systematic_scan((0, 1)), False),
    "persistent": _persistent,
    "unadjusted langevin": _unadjusted,
    "no-U-turn": _no_u_turn,
    "riemannian": _riemannian,
}
SLOW = {
    "langevin on logistic": lambda: _langevin(LOGISTIC, 1.1),
    "gibbs permuted": lambda: _gibbs(kernels.permuted_scan(2), True),
    "persistent turned": lambda: _persistent(turned=True),
    "hmc with masses": _with_masses,
}


# --- made wrong ----------------------------------------------------------------------------------------


def hmc_without_first_kick(log_density):
    """Trajectories that start from a gradient of zero, and so cannot be reversed."""
    kernel = coarse_hmc(log_density)
    without = lambda state: state._replace(gradient=jnp.zeros_like(state.gradient))
    return kernel._replace(apply=lambda noise, state: kernel.apply(noise, without(state)))


def _unwhitened(normal):
    """Momenta with the covariance of the masses, where the trajectory takes standard normal ones."""
    return jnp.linalg.cholesky(jnp.linalg.inv(INVERSE_MASS)) @ normal


def _drifting(kernel):
    """Moves uphill after the update, without an accept test."""
    return with_end(kernel, lambda _, state, new: kernel.init(new.position + 0.06 * new.gradient, key=None))


def _without_log_determinant(x):
    return kernels.dense_metric(_banana_metric(x))._replace(half_log_determinant=jnp.zeros(()))


BROKEN = {
    "riemannian without log determinant": lambda: _riemannian(_without_log_determinant),
    # Implicit steps that end after one iteration, whatever it gives.
    "riemannian not converged": lambda: _riemannian(tolerance=np.inf),
    "masses without whitening": lambda: _with_masses(normal=_unwhitened),
    "no-U-turn with a drift": lambda: _no_u_turn(_drifting),
}
BROKEN_ON_LINE = {
    "scaled_log_ratio": lambda density: with_numbers(random_walk(density), log_uniform=lambda u: 1.1 * u),
    "stale_log_density": lambda density: keeping(random_walk(density), "log_density"),
    # The density of the proposals is left out of the ratio.
    "independence_without_weight": lambda density: kernels.metropolis_independence(
        density, _logistic_proposal
    ),
    "hmc_without_accept_test": lambda density: with_numbers(coarse_hmc(density), log_uniform=always),
    "hmc_without_first_kick": hmc_without_first_kick,
}
