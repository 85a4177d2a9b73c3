"""Other packages for the same problems: each call solves one, with the settings that the caller gives.

Packages are imported where they are used, as processes that are timed as a whole import no other. Log likelihoods are
in nats.
"""

import logging
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Particles(NamedTuple):
    """Particles [particle, dim] with weights [particle] that sum to one, and the log evidence."""

    particles: Any
    weights: Any
    log_evidence: Any


def tempered_smc(
    key, log_prior, log_likelihood, particles, step_size, n_steps, adapted=False, target_ess=0.5
):
    """BlackJAX's adaptive tempered sequential Monte Carlo from draws of the prior, as one loop for `jit` and `vmap`.

    Five HMC moves at each temperature; their inverse mass matrix is the identity or the particles' shrunk covariance.
    """
    import blackjax
    import jax
    import jax.numpy as jnp

    n, dim = particles.shape
    kernel = blackjax.hmc.build_kernel()

    def step(key, state, log_density, **parameters):
        return kernel(key, state, log_density, num_integration_steps=n_steps, **parameters)

    def parameters(particles):
        metric = jnp.ones(dim)
        if adapted:
            covariance, fraction = jnp.cov(particles, rowvar=False), dim / (dim + n)
            metric = (1.0 - fraction) * covariance + fraction * jnp.diag(jnp.diagonal(covariance))
        own = {"step_size": jnp.asarray(step_size), "inverse_mass_matrix": metric}
        return blackjax.smc.extend_params(own)

    smc = blackjax.smc.inner_kernel_tuning.as_top_level_api(
        blackjax.adaptive_tempered_smc,
        log_prior,
        log_likelihood,
        step,
        blackjax.hmc.init,
        blackjax.smc.resampling.systematic,
        lambda key, state, info: parameters(state.particles),
        parameters(particles),
        num_mcmc_steps=5,
        target_ess=target_ess,
    )

    def advance(carry):
        i, state, log_evidence = carry
        state, info = smc.step(jax.random.fold_in(key, i), state)
        return i + 1, state, log_evidence + info.log_likelihood_increment

    def is_going(carry):
        return carry[1].sampler_state.tempering_param < 1.0

    _, state, log_evidence = jax.lax.while_loop(is_going, advance, (1, smc.init(particles), 0.0))
    return Particles(state.sampler_state.particles, state.sampler_state.weights, log_evidence)


def dynesty(log_likelihood, from_cube, dim, seed, **options):
    """Results of static nested sampling by dynesty."""
    from dynesty import NestedSampler

    sampler = NestedSampler(log_likelihood, from_cube, dim, rstate=np.random.default_rng(seed), **options)
    sampler.run_nested(print_progress=False)
    return sampler.results


def ultranest(log_likelihood, from_cube, dim, seed, stepsampler=None, **options: Any):
    """Results of reactive nested sampling by UltraNest; functions map points [point, dim]."""
    from ultranest import ReactiveNestedSampler

    logging.getLogger("ultranest").setLevel(logging.WARNING)
    np.random.seed(seed)  # UltraNest has no other
    names = [f"p{i}" for i in range(dim)]
    sampler = ReactiveNestedSampler(names, log_likelihood, from_cube, vectorized=True)
    sampler.stepsampler = stepsampler
    return sampler.run(show_status=False, viz_callback=False, **options)


def numpyro_nuts(model, seed, **options):
    """Draws of four chains of NumPyro's NUTS, by name."""
    import jax
    from numpyro.infer import MCMC, NUTS

    chains = {"num_chains": 4, "chain_method": "vectorized", "progress_bar": False}
    run = MCMC(NUTS(model), num_warmup=1000, num_samples=2000, **chains)
    run.run(jax.random.key(seed), **options)
    return run.get_samples(group_by_chain=True)


def pyabc(simulate, prior, distance, data, seed, n_draws, limits, **options: Any):
    """Draws of pyABC's sequential Monte Carlo, by name."""
    import pyabc

    np.random.seed(seed)  # pyABC draws from it
    prior = pyabc.Distribution({name: pyabc.RV(*words) for name, words in prior.items()})
    abc = pyabc.ABCSMC(simulate, prior, distance, sampler=pyabc.SingleCoreSampler(), **options)
    abc.new(f"sqlite:///{Path(tempfile.mkdtemp()) / 'abc.db'}", data)
    frame, weights = abc.run(**limits).get_distribution()
    rows = np.random.default_rng(seed).choice(len(frame), n_draws, p=weights / weights.sum())
    return frame.iloc[rows].to_dict("series")
