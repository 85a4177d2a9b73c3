"""Programs that solve three problems with known answers, each as the package's documentation says.

`python -m benchmarks.library_comparison PROBLEM PACKAGE SEED` prints the CPU time of the whole process, imports and
compilation included, and the errors of its answer. Packages are imported where they are used, for the same reason.

Problems: the effects of coaching in eight schools (Rubin 1981, Table 1); sbibm's two moons at the observation (0, 0);
modes of 30 and 70 % in ten dimensions, 6 apart in each, under a normal prior of standard deviation 5.
"""

import json
import logging
import math
import os
import sys
import time
import warnings

import numpy as np

from benchmarks import peers

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
ROOT_2 = math.sqrt(2.0)


def schools_density(v):
    """Log density of eight schools, in nats; effects are `mu + exp(log_tau) * z`."""
    import jax.numpy as jnp
    from jax.scipy.stats import cauchy, norm

    tau = jnp.exp(v["log_tau"])
    prior = norm.logpdf(v["mu"], 0.0, 5.0) + cauchy.logpdf(tau, 0.0, 5.0) + jnp.log(2.0) + v["log_tau"]
    return prior + jnp.sum(norm.logpdf(v["z"]) + norm.logpdf(EFFECTS, v["mu"] + tau * v["z"], ERRORS))


def schools_by_auxmc(seed):
    import auxmc

    start = {"mu": 0.0, "log_tau": 0.0, "z": [0.0] * 8}
    method = auxmc.hmc(auxmc.density(schools_density, start))
    x = auxmc.sample(method, draws=2000, seed=seed, progress=False)["posterior"]
    result = auxmc.evidence(schools_density, start, seed=seed, progress=False)
    return {"mu": x["mu"], "tau": np.exp(x["log_tau"].to_numpy()), "log_evidence": result.log_evidence}


def schools_by_blackjax(seed):
    import blackjax
    import jax
    import jax.numpy as jnp

    def chain(key):
        warm, main = jax.random.split(key)
        start = {"mu": jnp.zeros(()), "log_tau": jnp.zeros(()), "z": jnp.zeros(8)}
        adaptation = blackjax.window_adaptation(blackjax.nuts, schools_density)
        (state, parameters), _ = adaptation.run(warm, start, 1000)
        kernel = blackjax.nuts(schools_density, **parameters)
        keys = jax.random.split(main, 2000)
        return jax.lax.scan(lambda state, key: (kernel.step(key, state)[0], state.position), state, keys)[1]

    x = jax.jit(jax.vmap(chain))(jax.random.split(jax.random.key(seed), 4))
    return {"mu": x["mu"], "tau": jnp.exp(x["log_tau"])}


def schools_by_mici(seed):
    import mici

    def potential(q):
        return -schools_density({"mu": q[0], "log_tau": q[1], "z": q[2:]})

    options = {"backend": "jax", "seed": seed, "display_progress": False}
    options["adapters"] = [mici.adapters.DualAveragingStepSizeAdapter(0.8)]
    options["trace_funcs"] = [lambda state: {"mu": state.pos[0], "tau": np.exp(state.pos[1])}]
    found = mici.sample_hmc_chains(1000, 2000, [np.zeros(10) for _ in range(4)], potential, **options)
    return {name: np.stack(found.traces[name]) for name in ("mu", "tau")}


def schools_in_numpyro():
    import numpyro
    import numpyro.distributions as dist

    mu = numpyro.sample("mu", dist.Normal(0.0, 5.0))
    tau = numpyro.sample("tau", dist.HalfCauchy(5.0))
    with numpyro.plate("schools", 8):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(mu + tau * z, ERRORS), obs=EFFECTS)


def schools_by_numpyro_in_auxmc(seed):
    import auxmc

    density = auxmc.from_numpyro(schools_in_numpyro)
    return auxmc.sample(auxmc.hmc(density), draws=2000, seed=seed, progress=False)["posterior"]


def schools_by_dynesty(seed):
    from scipy.stats import halfcauchy, norm

    def log_likelihood(v):
        residuals = (EFFECTS - v[0] - v[1] * v[2:]) / ERRORS
        return -0.5 * np.sum(residuals**2) - np.sum(np.log(ERRORS)) - 4.0 * np.log(2.0 * np.pi)

    def from_cube(u):
        return np.concatenate([[norm.ppf(u[0], 0.0, 5.0), halfcauchy.ppf(u[1], 0.0, 5.0)], norm.ppf(u[2:])])

    x, log_evidence = equal_draws(peers.dynesty(log_likelihood, from_cube, 10, seed), seed)
    return {"mu": x[:, 0], "tau": x[:, 1], "log_evidence": log_evidence}


def schools_by_pyabc(seed):
    def simulate(p):
        effects = p["mu"] + p["tau"] * np.random.normal(size=8)
        return {"y": effects + ERRORS * np.random.normal(size=8)}

    def distance(a, b):
        return np.linalg.norm((a["y"] - b["y"]) / ERRORS)

    prior = {"mu": ("norm", 0.0, 5.0), "tau": ("halfcauchy", 0.0, 5.0)}
    limits = {"max_total_nr_simulations": 100_000, "min_acceptance_rate": 0.01}
    return peers.pyabc(simulate, prior, distance, {"y": EFFECTS}, seed, 2000, limits, population_size=500)


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


def moons_by_auxmc(seed):
    import auxmc

    method = auxmc.constrained_hmc(two_moons_model())
    return auxmc.sample(method, draws=2000, seed=seed, progress=False)["posterior"]


def moons_by_dynesty(seed):
    def log_likelihood(t):
        # By hand: the moon around (0.25, 0) has points to the right, normal in their distance from it.
        x, y = abs(t[0] + t[1]) / ROOT_2 - 0.25, (t[0] - t[1]) / ROOT_2
        r = (x**2 + y**2) ** 0.5
        if x <= 0.0:
            return -1e10 - r
        return -0.5 * ((r - 0.1) / 0.01) ** 2 - np.log(0.01 * np.sqrt(2.0 * np.pi) * np.pi * r)

    found = peers.dynesty(log_likelihood, lambda u: 2.0 * u - 1.0, 2, seed, nlive=1000)
    return {"theta": equal_draws(found, seed)[0]}


def modes_likelihood(x, xp):
    """Log likelihood of two modes, in nats."""
    constant = -10.0 * math.log(0.5 * math.sqrt(2.0 * math.pi))
    left = math.log(0.3) - 2.0 * xp.sum((x + 3.0) ** 2)
    return xp.logaddexp(left, math.log(0.7) - 2.0 * xp.sum((x - 3.0) ** 2)) + constant


def modes_prior(x):
    import jax.numpy as jnp
    from jax.scipy.stats import norm

    return jnp.sum(norm.logpdf(x, 0.0, 5.0))


def modes_by_auxmc(seed):
    import jax.numpy as jnp

    import auxmc

    def log_density(v):
        return modes_prior(v["x"]) + modes_likelihood(v["x"], jnp)

    result = auxmc.evidence(log_density, {"x": [0.1] * 10}, seed=seed, progress=False)
    return {"x": result.posterior["posterior"]["x"], "log_evidence": result.log_evidence}


def modes_by_blackjax(seed):
    import jax
    import jax.numpy as jnp

    def sample(key):
        particles = 5.0 * jax.random.normal(jax.random.fold_in(key, 0), (1000, 10))
        return peers.tempered_smc(key, modes_prior, lambda x: modes_likelihood(x, jnp), particles, 0.2, 10)

    # The estimate has no error of its own: eight runs give one.
    keys, program = jax.random.split(jax.random.key(seed), 8), jax.jit(sample)
    runs = [program(key) for key in keys]
    log_evidence = jax.nn.logsumexp(jnp.stack([run.log_evidence for run in runs])) - math.log(8.0)
    return {"x": jnp.concatenate([run.particles for run in runs]), "log_evidence": log_evidence}


def modes_by_numpyro(seed):
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist

    def model():
        x = numpyro.sample("x", dist.Normal(0.0, 5.0).expand([10]).to_event(1))
        numpyro.factor("likelihood", modes_likelihood(x, jnp))

    return peers.numpyro_nuts(model, seed)


def modes_by_dynesty(seed):
    from scipy.stats import norm

    found = peers.dynesty(lambda x: modes_likelihood(x, np), lambda u: norm.ppf(u, 0.0, 5.0), 10, seed)
    x, log_evidence = equal_draws(found, seed)
    return {"x": x, "log_evidence": log_evidence}


def equal_draws(found, seed):
    """Draws of equal weight [draw, dim], and the log evidence, of dynesty's results."""
    return found.samples_equal(rstate=np.random.default_rng(seed)), found.logz[-1]


PROGRAMS = {
    "eight schools": {
        "auxmc": schools_by_auxmc,
        "BlackJAX": schools_by_blackjax,
        "Mici": schools_by_mici,
        "NumPyro": lambda seed: peers.numpyro_nuts(schools_in_numpyro, seed),
        "NumPyro in auxmc": schools_by_numpyro_in_auxmc,
        "dynesty": schools_by_dynesty,
        "pyABC": schools_by_pyabc,
    },
    "two moons": {"auxmc": moons_by_auxmc, "dynesty": moons_by_dynesty},
    "two modes": {
        "auxmc": modes_by_auxmc,
        "BlackJAX": modes_by_blackjax,
        "NumPyro": modes_by_numpyro,
        "dynesty": modes_by_dynesty,
    },
}


def schools_exact():
    """Mean and standard deviation of each quantity under the posterior, and the log evidence, by quadrature."""
    from scipy.integrate import quad_vec
    from scipy.stats import halfcauchy, multivariate_normal

    def integrands(tau):
        covariance = np.diag(ERRORS**2 + tau**2) + 25.0
        weight = halfcauchy.pdf(tau, scale=5.0) * multivariate_normal.pdf(EFFECTS, np.zeros(8), covariance)
        variance = 1.0 / (np.sum(1.0 / (ERRORS**2 + tau**2)) + 1.0 / 25.0)
        mean = np.sum(EFFECTS / (ERRORS**2 + tau**2)) * variance
        return weight * np.array([1.0, mean, mean**2 + variance, tau, tau**2])

    parts = ((0, 5), (5, 20), (20, 100), (100, 1e4))
    total, *sums = sum(quad_vec(integrands, a, b, epsabs=0.0)[0] for a, b in parts)
    mu, mu_square, tau, tau_square = sums / total
    moments = {"mu": (mu, math.sqrt(mu_square - mu**2)), "tau": (tau, math.sqrt(tau_square - tau**2))}
    return moments, math.log(total)


def errors_of(problem, answer):
    """Largest error of a moment, in posterior standard deviations; of the log evidence, in nats, if there is one."""
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
    errors = []
    for name, (mean, sd) in moments.items():
        found = np.ravel(draws[name])
        errors.append(max(abs(found.mean() - mean), abs(found.std() - sd)) / sd)
    values = {"error of moments": float(max(errors))}
    if "log_evidence" in answer:
        values["error of log evidence"] = abs(float(answer["log_evidence"]) - log_evidence)
    return values


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    os.environ["JAX_ENABLE_X64"] = "1"
    answer = PROGRAMS[sys.argv[1]][sys.argv[2]](int(sys.argv[3]))
    answer = {name: np.asarray(values) for name, values in answer.items()}  # arrays of JAX may be to come
    found = {"CPU time": time.process_time()}  # the exact answer is no part of the program's time
    print(json.dumps(found | errors_of(sys.argv[1], answer)))
