"""Programs that solve three problems with known answers, each as the package's documentation says.

`python -m benchmarks.library_programs PROBLEM PACKAGE SEED` prints the CPU time of the whole process, imports and
compilation included, and the errors of its answer. Packages are imported where they are used, for the same reason.

Problems: the effects of coaching in eight schools (Rubin 1981, Table 1); sbibm's two moons at the observation (0, 0);
modes of 30 and 70 % in ten dimensions, 6 apart in each, under a normal prior of standard deviation 5.
"""

import json
import logging
import math
import os
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
ROOT_2 = math.sqrt(2.0)


def schools_density(mu, log_tau, z):
    """Log density of eight schools, in nats; effects are `mu + exp(log_tau) * z`."""
    import jax.numpy as jnp
    from jax.scipy.stats import cauchy, norm

    tau = jnp.exp(log_tau)
    prior = norm.logpdf(mu, 0.0, 5.0) + cauchy.logpdf(tau, 0.0, 5.0) + jnp.log(2.0) + log_tau
    return prior + jnp.sum(norm.logpdf(z) + norm.logpdf(EFFECTS, mu + tau * z, ERRORS))


def schools_by_auxmc(seed):
    import auxmc

    def log_density(v):
        return schools_density(v["mu"], v["log_tau"], v["z"])

    start = {"mu": 0.0, "log_tau": 0.0, "z": [0.0] * 8}
    draws = auxmc.sample(auxmc.hmc(auxmc.density(log_density, start)), draws=2000, seed=seed, progress=False)
    result = auxmc.evidence(log_density, start, seed=seed, progress=False)
    x = draws["posterior"]
    return {"mu": x["mu"], "tau": np.exp(x["log_tau"].to_numpy()), "log_evidence": result.log_evidence}


def schools_by_blackjax(seed):
    import blackjax
    import jax
    import jax.numpy as jnp

    def log_density(v):
        return schools_density(v["mu"], v["log_tau"], v["z"])

    def chain(key):
        warm, main = jax.random.split(key)
        start = {"mu": jnp.zeros(()), "log_tau": jnp.zeros(()), "z": jnp.zeros(8)}
        adaptation = blackjax.window_adaptation(blackjax.nuts, log_density)
        (state, parameters), _ = adaptation.run(warm, start, 1000)
        kernel = blackjax.nuts(log_density, **parameters)

        def step(state, key):
            state, _ = kernel.step(key, state)
            return state, state.position

        return jax.lax.scan(step, state, jax.random.split(main, 2000))[1]

    x = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(seed), 4))
    return {"mu": x["mu"], "tau": jnp.exp(x["log_tau"])}


def schools_by_mici(seed):
    import mici

    found = mici.sample_hmc_chains(
        1000,
        2000,
        [np.zeros(10) for _ in range(4)],
        lambda q: -schools_density(q[0], q[1], q[2:]),
        backend="jax",
        seed=seed,
        adapters=[mici.adapters.DualAveragingStepSizeAdapter(0.8)],
        trace_funcs=[lambda state: {"mu": state.pos[0], "tau": np.exp(state.pos[1])}],
        display_progress=False,
    )
    return {name: np.stack(found.traces[name]) for name in ("mu", "tau")}


def schools_in_numpyro():
    import numpyro
    import numpyro.distributions as dist

    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("schools", 8):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(mu + tau * z, ERRORS), obs=EFFECTS)


def schools_by_numpyro(seed):
    return run_nuts(schools_in_numpyro, seed)


def schools_by_numpyro_in_auxmc(seed):
    import auxmc

    auxmc.use_float64()
    density = auxmc.from_numpyro(schools_in_numpyro)
    return auxmc.sample(auxmc.hmc(density), draws=2000, seed=seed, progress=False)["posterior"]


def schools_by_dynesty(seed):
    from scipy.stats import halfcauchy, norm

    def log_likelihood(v):
        residuals = (EFFECTS - v[0] - v[1] * v[2:]) / ERRORS
        return -0.5 * np.sum(residuals**2) - np.sum(np.log(ERRORS)) - 4.0 * np.log(2.0 * np.pi)

    def transform(u):
        return np.concatenate([[norm.ppf(u[0], 0.0, 5.0), halfcauchy.ppf(u[1], 0.0, 5.0)], norm.ppf(u[2:])])

    x, log_evidence = run_dynesty(log_likelihood, transform, 10, seed)
    return {"mu": x[:, 0], "tau": x[:, 1], "log_evidence": log_evidence}


def schools_by_pyabc(seed):
    def simulate(p):
        effects = p["mu"] + p["tau"] * np.random.normal(size=8)
        return {"y": effects + ERRORS * np.random.normal(size=8)}

    def distance(a, b):
        return np.linalg.norm((a["y"] - b["y"]) / ERRORS)

    prior = {"mu": ("norm", 0.0, 5.0), "tau": ("halfcauchy", 0.0, 5.0)}
    limits = {"max_total_nr_simulations": 100_000, "min_acceptance_rate": 0.01}
    return run_pyabc(simulate, prior, distance, {"y": EFFECTS}, seed, 2000, limits, population_size=500)


def two_moons_model():
    """The simulator in auxmc."""
    import jax.numpy as jnp

    import auxmc

    def generate(v):
        moon = jnp.stack([v["radius"] * jnp.cos(v["angle"]) + 0.25, v["radius"] * jnp.sin(v["angle"])])
        t = v["theta"]
        return moon + jnp.stack([-jnp.abs(t[0] + t[1]), t[1] - t[0]]) / ROOT_2

    inputs = {
        "theta": auxmc.prior.uniform(2, low=-1.0, high=1.0),
        "angle": auxmc.prior.uniform(low=-math.pi / 2, high=math.pi / 2),
        "radius": auxmc.prior.normal(mean=0.1, sd=0.01),
    }
    return auxmc.simulator(generate, [0.0, 0.0], inputs)


def moon_coordinates(t):
    """The likelihood, by hand: a point of the moon about (0.25, 0), to the right and away from it."""
    x, y = abs(t[0] + t[1]) / ROOT_2 - 0.25, (t[0] - t[1]) / ROOT_2
    return x, (x**2 + y**2) ** 0.5


def moons_by_auxmc(seed):
    import auxmc

    method = auxmc.constrained_hmc(two_moons_model())
    return auxmc.sample(method, draws=2000, seed=seed, progress=False)["posterior"]


def moons_by_blackjax(seed):
    import blackjax
    import jax
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    def log_likelihood(t):
        x, r = moon_coordinates(t)
        return jnp.where(x > 0.0, norm.logpdf(r, 0.1, 0.01) - jnp.log(jnp.pi * r), -1e10)

    def log_prior(t):
        return jnp.where(jnp.all(jnp.abs(t) < 1.0), -2.0 * jnp.log(2.0), -jnp.inf)

    walk = blackjax.rmh.build_kernel()

    def propose(key, position):
        return position + 0.05 * jax.random.normal(key, position.shape)

    start, main = jax.random.split(jax.random.key(seed))
    smc = blackjax.adaptive_tempered_smc(
        log_prior,
        log_likelihood,
        lambda key, state, log_density: walk(key, state, log_density, propose),
        blackjax.rmh.init,
        {},
        blackjax.smc.resampling.systematic,
        0.5,
        num_mcmc_steps=20,
    )
    state = smc.init(jax.random.uniform(start, (4000, 2), minval=-1.0, maxval=1.0))
    return {"theta": run_tempered(jax.jit(smc.step), main, state)[0].particles}


def moons_by_numpyro(seed):
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    def model():
        t = numpyro.sample("theta", dist.Uniform(-1.0, 1.0).expand([2]).to_event(1))
        x, r = moon_coordinates(t)
        inside = dist.Normal(0.1, 0.01).log_prob(r) - jnp.log(jnp.pi * r)
        numpyro.factor("moon", jnp.where(x > 0.0, inside, -jnp.inf))

    # Starts on the support: few points of the prior have any density.
    signs = jnp.where(jax.random.bernoulli(jax.random.key(seed), 0.5, (4, 1)), 1.0, -1.0)
    start = 0.5 * jnp.log((1.0 + 0.25 * signs) / (1.0 - 0.25 * signs)) * 2.0 * jnp.ones((4, 2))
    return run_nuts(model, seed, init_params={"theta": start})


def moons_by_dynesty(seed):
    def log_likelihood(t):
        x, r = moon_coordinates(t)
        if x <= 0.0:
            return -1e10 - r
        return -0.5 * ((r - 0.1) / 0.01) ** 2 - np.log(0.01 * np.sqrt(2.0 * np.pi) * np.pi * r)

    return {"theta": run_dynesty(log_likelihood, lambda u: 2.0 * u - 1.0, 2, seed, nlive=1000)[0]}


def moons_by_mici(seed):
    import jax.numpy as jnp
    import mici
    from jax.scipy.special import ndtr

    # All inputs are standard normal; the uniform ones go through the normal distribution function.
    def theta(q):
        return 2.0 * ndtr(q[:2]) - 1.0

    def generate(q):
        t, a, r = theta(q), jnp.pi * (ndtr(q[2]) - 0.5), 0.1 + 0.01 * q[3]
        moon = jnp.stack([r * jnp.cos(a) + 0.25, r * jnp.sin(a)])
        return moon + jnp.stack([-jnp.abs(t[0] + t[1]), t[1] - t[0]]) / ROOT_2

    rng = np.random.default_rng(seed)
    system = mici.systems.DenseConstrainedEuclideanMetricSystem(
        lambda q: 0.5 * jnp.sum(q**2), generate, dens_wrt_hausdorff=False, backend="jax"
    )
    project, starts = mici.solvers.solve_projection_onto_manifold_newton, []
    while len(starts) < 4:
        try:
            state = mici.states.ChainState(pos=rng.standard_normal(4), mom=np.zeros(4), dir=1)
            starts.append(project(state, state.copy(), 1.0, system).pos)
        except mici.errors.ConvergenceError:
            continue
    sampler = mici.samplers.DynamicMultinomialHMC(
        system, mici.integrators.ConstrainedLeapfrogIntegrator(system), rng
    )
    found = sampler.sample_chains(
        1000,
        2000,
        starts,
        adapters=[mici.adapters.DualAveragingStepSizeAdapter(0.8)],
        trace_funcs=[lambda state: {"theta": np.asarray(theta(state.pos))}],
        display_progress=False,
    )
    return {"theta": np.stack(found.traces["theta"])}


def moons_by_pyabc(seed):
    import pyabc

    def simulate(p):
        a, r = np.random.uniform(-np.pi / 2, np.pi / 2), np.random.normal(0.1, 0.01)
        moon = np.array([r * np.cos(a) + 0.25, r * np.sin(a)])
        return {"x": moon + np.array([-abs(p["t0"] + p["t1"]), p["t1"] - p["t0"]]) / ROOT_2}

    found = run_pyabc(
        simulate,
        {"t0": ("uniform", -1.0, 2.0), "t1": ("uniform", -1.0, 2.0)},
        lambda a, b: np.linalg.norm(a["x"] - b["x"]),
        {"x": np.zeros(2)},
        seed,
        4000,
        {"minimum_epsilon": 0.01, "max_total_nr_simulations": 200_000},
        population_size=1000,
        transitions=pyabc.LocalTransition(k_fraction=0.2),
    )
    return {"theta": np.column_stack([found["t0"], found["t1"]])}


def modes_likelihood(x):
    """Log likelihood of two modes, in nats."""
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    left = jnp.log(0.3) + jnp.sum(norm.logpdf(x, -3.0, 0.5))
    return jnp.logaddexp(left, jnp.log(0.7) + jnp.sum(norm.logpdf(x, 3.0, 0.5)))


def modes_prior(x):
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    return jnp.sum(norm.logpdf(x, 0.0, 5.0))


def modes_by_auxmc(seed):
    import auxmc

    def log_density(v):
        likelihood = modes_likelihood(v["x"])
        return modes_prior(v["x"]) + likelihood

    result = auxmc.evidence(log_density, {"x": [0.1] * 10}, seed=seed, progress=False)
    return {"x": result.posterior["posterior"]["x"], "log_evidence": result.log_evidence}


def modes_by_blackjax(seed):
    import blackjax
    import jax
    import jax.numpy as jnp

    moves = {"step_size": 0.2, "inverse_mass_matrix": jnp.ones(10), "num_integration_steps": 10}
    smc = blackjax.adaptive_tempered_smc(
        modes_prior,
        modes_likelihood,
        blackjax.hmc.build_kernel(),
        blackjax.hmc.init,
        blackjax.smc.extend_params(moves),
        blackjax.smc.resampling.systematic,
        0.5,
        num_mcmc_steps=5,
    )
    # The estimate has no error of its own: eight runs give one.
    step, found = jax.jit(smc.step), []
    for run in range(8):
        start, main = jax.random.split(jax.random.fold_in(jax.random.key(seed), run))
        found.append(run_tempered(step, main, smc.init(5.0 * jax.random.normal(start, (1000, 10)))))
    log_evidence = jax.nn.logsumexp(jnp.stack([total for _, total in found])) - math.log(8.0)
    return {"x": jnp.concatenate([state.particles for state, _ in found]), "log_evidence": log_evidence}


def modes_by_numpyro(seed):
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    def model():
        x = numpyro.sample("x", dist.Normal(0.0, 5.0).expand([10]).to_event(1))
        left = jnp.log(0.3) + dist.Normal(-3.0, 0.5).log_prob(x).sum()
        right = jnp.log(0.7) + dist.Normal(3.0, 0.5).log_prob(x).sum()
        numpyro.factor("likelihood", jnp.logaddexp(left, right))

    return run_nuts(model, seed)


def modes_by_dynesty(seed):
    from scipy.stats import norm

    def log_likelihood(x):
        constant = -10.0 * np.log(0.5 * np.sqrt(2.0 * np.pi))
        left = np.log(0.3) - 2.0 * np.sum((x + 3.0) ** 2)
        return np.logaddexp(left, np.log(0.7) - 2.0 * np.sum((x - 3.0) ** 2)) + constant

    x, log_evidence = run_dynesty(log_likelihood, lambda u: norm.ppf(u, 0.0, 5.0), 10, seed)
    return {"x": x, "log_evidence": log_evidence}


def run_nuts(model, seed, **options):
    import jax
    from numpyro.infer import MCMC, NUTS

    chains = {"num_chains": 4, "chain_method": "vectorized", "progress_bar": False}
    run = MCMC(NUTS(model), num_warmup=1000, num_samples=2000, **chains)
    run.run(jax.random.key(seed), **options)
    return run.get_samples(group_by_chain=True)


def run_tempered(step, key, state):
    """Runs BlackJAX's tempering to its end: the last state, and the log evidence."""
    import jax

    total, i = 0.0, 0
    while state.tempering_param < 1.0:
        state, info = step(jax.random.fold_in(key, i), state)
        total, i = total + info.log_likelihood_increment, i + 1
    return state, total


def run_dynesty(log_likelihood, transform, dim, seed, **options):
    import dynesty

    random = np.random.default_rng(seed)
    sampler = dynesty.NestedSampler(log_likelihood, transform, dim, rstate=random, **options)
    sampler.run_nested(print_progress=False)
    return sampler.results.samples_equal(rstate=np.random.default_rng(seed)), sampler.results.logz[-1]


def run_pyabc(simulate, prior, distance, data, seed, n_draws, limits, **options):
    import pyabc

    np.random.seed(seed)  # pyABC draws from it
    prior = pyabc.Distribution({name: pyabc.RV(*words) for name, words in prior.items()})
    abc = pyabc.ABCSMC(simulate, prior, distance, sampler=pyabc.SingleCoreSampler(), **options)
    abc.new(f"sqlite:///{Path(tempfile.mkdtemp()) / 'abc.db'}", data)
    frame, weights = abc.run(**limits).get_distribution()
    rows = np.random.default_rng(seed).choice(len(frame), n_draws, p=weights / weights.sum())
    return frame.iloc[rows].to_dict("series")


PROGRAMS = {
    "eight schools": {
        "auxmc": schools_by_auxmc,
        "BlackJAX": schools_by_blackjax,
        "Mici": schools_by_mici,
        "NumPyro": schools_by_numpyro,
        "NumPyro in auxmc": schools_by_numpyro_in_auxmc,
        "dynesty": schools_by_dynesty,
        "pyABC": schools_by_pyabc,
    },
    "two moons": {
        "auxmc": moons_by_auxmc,
        "BlackJAX": moons_by_blackjax,
        "Mici": moons_by_mici,
        "NumPyro": moons_by_numpyro,
        "dynesty": moons_by_dynesty,
        "pyABC": moons_by_pyabc,
    },
    "two modes": {
        "auxmc": modes_by_auxmc,
        "BlackJAX": modes_by_blackjax,
        "NumPyro": modes_by_numpyro,
        "dynesty": modes_by_dynesty,
    },
}


def schools_exact():
    """Mean and standard deviation of each quantity under the posterior, and the log evidence, by quadrature."""
    from scipy.integrate import quad
    from scipy.stats import halfcauchy, multivariate_normal

    def weight(tau):
        covariance = np.diag(ERRORS**2 + tau**2) + 25.0
        return float(
            halfcauchy.pdf(tau, scale=5.0) * multivariate_normal.pdf(EFFECTS, np.zeros(8), covariance)
        )

    def mean(tau):
        return np.sum(EFFECTS / (ERRORS**2 + tau**2)) * variance(tau)

    def variance(tau):
        return 1.0 / (np.sum(1.0 / (ERRORS**2 + tau**2)) + 1.0 / 25.0)

    def integral(function):
        parts = [(0.0, 5.0), (5.0, 20.0), (20.0, 100.0), (100.0, 10_000.0)]
        return sum(quad(lambda t: weight(t) * function(t), a, b, epsabs=0.0)[0] for a, b in parts)

    total = integral(lambda tau: 1.0)
    tau, mu = integral(lambda tau: tau) / total, integral(mean) / total
    tau_square = integral(lambda tau: tau**2) / total
    mu_square = integral(lambda tau: mean(tau) ** 2 + variance(tau)) / total
    moments = {"mu": (mu, math.sqrt(mu_square - mu**2)), "tau": (tau, math.sqrt(tau_square - tau**2))}
    return moments, math.log(total)


def errors_of(problem, answer):
    """Largest error of a mean or standard deviation, in posterior standard deviations; error of log evidence, in nats.

    Args:
        problem: a key of PROGRAMS.
        answer: draws by name, `log_evidence` where there is an estimate.
    """
    log_evidence = None
    if problem == "eight schools":
        moments, log_evidence = schools_exact()
        draws = answer
    elif problem == "two moons":
        # Given radius and angle the parameters are known up to the side, with a constant derivative.
        square, cosine = (0.1**2 + 0.01**2) / 2.0, 0.1 * 2.0 / math.pi
        along = 0.25 + cosine, math.sqrt(square - cosine**2)
        moments = {"side": (0.0, 1.0), "along": along, "across": (0.0, math.sqrt(square))}
        theta = np.asarray(answer["theta"]).reshape(-1, 2)
        sums, differences = theta.sum(axis=1) / ROOT_2, np.diff(theta)[:, 0] / ROOT_2
        draws = {"side": np.sign(sums), "along": np.abs(sums), "across": differences}
    else:
        variance = 1.0 / (1.0 / 0.25 + 1.0 / 25.0)
        distance = 3.0 / 0.25 * variance, math.sqrt(variance)
        moments = {"side": (0.4, math.sqrt(1.0 - 0.16)), "distance": distance}
        log_evidence = -5.0 * math.log(2.0 * math.pi * 25.25) - 0.5 * 10 * 9.0 / 25.25
        first = np.asarray(answer["x"]).reshape(-1, 10)[:, 0]
        draws = {"side": np.sign(first), "distance": np.abs(first)}
    found = {name: np.ravel(draws[name]) for name in moments}
    errors = [
        max(abs(found[name].mean() - mean), abs(found[name].std() - sd)) / sd
        for name, (mean, sd) in moments.items()
    ]
    values = {"error of moments": float(max(errors))}
    if "log_evidence" in answer:
        values["error of log evidence"] = abs(float(answer["log_evidence"]) - log_evidence)
    return values


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    if "auxmc" not in sys.argv[2]:  # which sets it
        os.environ["JAX_ENABLE_X64"] = "1"
    answer = PROGRAMS[sys.argv[1]][sys.argv[2]](int(sys.argv[3]))
    answer = {name: np.asarray(values) for name, values in answer.items()}  # arrays of JAX may be to come
    found = {"CPU time": time.process_time()}  # the exact answer is no part of the program's time
    print(json.dumps(found | errors_of(sys.argv[1], answer)))
