"""Other packages for the same problems: each call solves one, with the settings that the caller gives.

Packages are imported where they are used, as processes that are timed as a whole import no other. Log likelihoods are
in nats.
"""

import contextlib
import json
import logging
import math
import os
import resource
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.evidence_problems import PROBLEMS

CPU_LIMIT_S = 120


class Particles(NamedTuple):
    """Particles [particle, dim] with weights [particle] that sum to one, and the log evidence."""

    particles: Any
    weights: Any
    log_evidence: Any


def quarter_period(step_size):
    """Steps of a Hamiltonian move that decorrelates a normal variable of variance one."""
    return max(1, round(0.5 * math.pi / step_size))


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


def _for_jax(problem):
    """Log prior and log likelihood of a point, and draws of the prior from a key and the shape of their number."""
    import jax
    import jax.numpy as jnp

    def draw(key, *shape):
        draws = jax.random.normal if problem.sd else partial(jax.random.uniform, minval=-1.0, maxval=1.0)
        return (problem.sd or problem.half) * draws(key, (*shape, problem.dim))

    return partial(problem.log_prior, xp=jnp), partial(problem.log_likelihood, xp=jnp), draw


def density_of(problem, log_evidence=0.0):
    """The problem as a model of this package, divided by an evidence."""
    import auxmc

    log_prior, log_likelihood, draw = _for_jax(problem)
    return auxmc.density(
        lambda v: log_likelihood(v["x"]) - log_evidence,
        prior=(lambda v: log_prior(v["x"]), lambda key: {"x": draw(key)}),
        bounds={"x": (-problem.half, problem.half)} if problem.half else None,
    )


def evidence_by_auxmc(problem):
    import auxmc

    model = density_of(problem)

    def run(seed):
        found = auxmc.evidence(model, seed=seed, progress=False)
        return found.log_evidence, found.standard_error, len(found.warnings)

    return run


def _of_runs(log_evidences):
    """Log of the mean of independent estimates, with its standard error."""
    logs = np.asarray(log_evidences)
    ratios = np.exp(logs - logs.max())
    return logs.max() + np.log(ratios.mean()), ratios.std(ddof=1) / ratios.mean() / np.sqrt(len(logs)), 0


def evidence_by_smc(problem):
    """Eight runs of 1000 particles."""
    import jax

    log_prior, log_likelihood, draw = _for_jax(problem)

    def one(key):
        particles, step_size = draw(jax.random.fold_in(key, 0), 1000), problem.dim**-0.25
        n_steps = quarter_period(step_size)
        found = tempered_smc(key, log_prior, log_likelihood, particles, step_size, n_steps, adapted=True)
        return found.log_evidence

    program = jax.jit(jax.vmap(one))
    return lambda seed: _of_runs(program(jax.random.split(jax.random.key(seed), 8)))


def evidence_by_nss(problem):
    """Nested slice sampling: 500 live points, 50 replaced at a time, max(5, 2 dim) slices as its documentation asks."""
    import blackjax
    import jax

    log_prior, log_likelihood, draw = _for_jax(problem)
    n_slices = max(5, 2 * problem.dim)
    algorithm = blackjax.nss(log_prior, log_likelihood, num_inner_steps=n_slices, num_delete=50)
    init, step = jax.jit(algorithm.init), jax.jit(algorithm.step)

    def run(seed):
        key = jax.random.key(seed)
        state, dead = init(draw(jax.random.fold_in(key, 0), 500)), []
        while state.integrator.logZ_live - state.integrator.logZ > -3.0:
            state, info = step(jax.random.fold_in(key, len(dead) + 1), state)
            dead.append(info)
        dead = blackjax.ns.utils.finalise(state, dead)
        logs = jax.nn.logsumexp(blackjax.ns.utils.log_weights(key, dead), axis=0)
        return logs.mean(), logs.std(), 0

    return run


def evidence_by_jaxns(problem):
    import jax
    import jax.numpy as jnp
    from jaxns.core import NestedSampler
    from jaxns.model import Model
    from jaxns.priors import Prior
    from tensorflow_probability.substrates.jax import distributions

    def model():
        half, sd = (np.full(problem.dim, value) for value in (problem.half, problem.sd))
        prior = distributions.Uniform(-half, half) if problem.half else distributions.Normal(0.0 * sd, sd)
        return problem.log_likelihood(Prior(prior, name="x").realise(), jnp)

    sampler = NestedSampler(model=Model(prior_model=model))

    def run(seed):
        found = sampler.run(key=jax.random.PRNGKey(seed)).to_result()
        return found.log_Z_mean, found.log_Z_uncert, 0

    return run


def evidence_by_nautilus(problem):
    """An error of one over the root of the effective sample size, 10 000 by default."""
    from nautilus import Sampler

    def run(seed):
        functions = problem.from_cube, partial(problem.log_likelihood, xp=np)
        sampler = Sampler(*functions, problem.dim, vectorized=True, pass_dict=False, seed=seed)
        finished = sampler.run()
        return sampler.log_z, sampler.n_eff**-0.5, int(not finished)

    return run


def evidence_by_dynesty(problem):
    def run(seed):
        found = dynesty(partial(problem.log_likelihood, xp=np), problem.from_cube, problem.dim, seed)
        return found.logz[-1], found.logzerr[-1], 0

    return run


def evidence_by_ultranest(problem):
    def run(seed):
        found = ultranest(partial(problem.log_likelihood, xp=np), problem.from_cube, problem.dim, seed)
        return found["logz"], found["logzerr"], 0

    return run


def evidence_by_pymc(problem):
    """Sequential Monte Carlo, four chains of 2000 draws; the error is their spread."""
    import pymc
    import pytensor.tensor

    with pymc.Model() as model:
        uniform = partial(pymc.Uniform, "x", -problem.half, problem.half)
        normal = partial(pymc.Normal, "x", 0.0, problem.sd)
        x = (uniform if problem.half else normal)(shape=problem.dim)
        pymc.Potential("likelihood", problem.log_likelihood(x, pytensor.tensor))

    def run(seed):
        with model:
            found = pymc.sample_smc(chains=4, cores=1, random_seed=seed, progressbar=False)
        return _of_runs([chain[-1] for chain in found.sample_stats["log_marginal_likelihood"].values])

    return run


EVIDENCE = {
    "auxmc": evidence_by_auxmc,
    "BlackJAX, tempered SMC": evidence_by_smc,
    "BlackJAX, nested slices": evidence_by_nss,
    "jaxns": evidence_by_jaxns,
    "dynesty": evidence_by_dynesty,
    "UltraNest": evidence_by_ultranest,
    "nautilus": evidence_by_nautilus,
    "PyMC, SMC": evidence_by_pymc,
}


def _cpu_s():
    return time.process_time() + sum(os.times()[2:4])


def main(problem, program, seed):
    """Prints CPU time of the process, that of a second seed, the error in nats, its stated size, and warnings."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    os.environ["JAX_ENABLE_X64"] = "1"
    # Beyond the hard limit the signal would be another.
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_LIMIT_S, CPU_LIMIT_S + 10))
    os.chdir(tempfile.mkdtemp())  # jaxns writes a log into the folder
    problem = PROBLEMS[problem]()
    run = EVIDENCE[program](problem)
    found = {}
    with contextlib.redirect_stdout(sys.stderr):
        value, error, n_warnings = run(seed)
        value, cold = float(value), _cpu_s()
        if cold < CPU_LIMIT_S / 6:  # twice the time of a long run would say little more
            run(seed + 1000)
            found["CPU time of a second seed"] = _cpu_s() - cold
    found |= {"CPU time": cold, "error": value - problem.log_evidence(), "stated error": float(error)}
    print(json.dumps(found | {"warnings": n_warnings}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
