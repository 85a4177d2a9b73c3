"""`auxmc.sample`: names, groups, seeds, cores, executors, checkpoints; what it rejects and what it warns of."""

import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import auxmc
from auxmc.diagnostics.convergence import bulk_ess
from auxmc.driver.blocks import Program
from auxmc.interface import running
from auxmc.interface.advice import advise
from auxmc.interface.trees import dataset_of
from benchmarks import posterior_problems
from tests.copies import python_path
from tests.unit.interface import models

SHORT = {"draws": 30, "warm_up": 20, "chains": 3, "progress": False}


# Short chains are warned of; tests of warnings ask for them.
pytestmark = pytest.mark.filterwarnings("ignore::auxmc.SamplingWarning")


def _same(first, second):
    return all(
        first[group].to_dataset().identical(second[group].to_dataset())
        for group in ("posterior", "sample_stats", "warmup_posterior", "warmup_sample_stats")
    )


def test_variables_keep_names_and_shapes_and_warm_up_stands_apart():
    tree = auxmc.sample(auxmc.hmc(models.normal_density()), seed=3, **SHORT)
    assert tree.attrs["seed"] == 3
    sizes = {name: array.shape for name, array in tree["posterior"].to_dataset().data_vars.items()}
    assert sizes == {"a": (3, 30), "b": (3, 30, 2)}
    assert tree["warmup_posterior"]["b"].shape == (3, 20, 2)
    assert np.ptp(tree["sample_stats"]["step_size"].to_numpy(), axis=1).max() == 0.0
    assert np.ptp(tree["warmup_sample_stats"]["step_size"].to_numpy(), axis=1).min() > 0.0


@pytest.fixture
def compiled(monkeypatch):
    """Grows with every program that is compiled."""
    programs, compile_program = [], Program.compile
    monkeypatch.setattr(running, "_kept", {})
    monkeypatch.setattr(Program, "compile", lambda self: programs.append(self) or compile_program(self))
    return programs


def test_a_second_seed_shares_the_program_and_changed_data_do_not(compiled):
    """Draws are those of a call of its own, and data that changed in place count."""
    data = np.zeros(2)
    method = auxmc.hmc(auxmc.density(lambda v: -0.5 * jnp.sum((v["x"] - data) ** 2), {"x": np.zeros(2)}))
    auxmc.sample(method, seed=1, **SHORT)
    again = auxmc.sample(method, seed=2, checks="off", **SHORT)
    assert len(compiled) == 1
    data += 50.0
    moved = auxmc.sample(method, seed=2, checks="off", **SHORT)
    assert float(moved["posterior"]["x"].mean()) > 10.0 + float(again["posterior"]["x"].mean())
    assert len(compiled) == 2
    data -= 50.0
    assert _same(again, auxmc.sample(method, seed=2, checks="off", **SHORT))
    assert len(compiled) == 2
    # Blocks of three iterations serve 50 iterations and 51.
    longer = auxmc.sample(method, seed=2, checks="off", **(SHORT | {"draws": 31}))
    assert (longer["posterior"].sizes["draw"], len(compiled)) == (31, 2)


@pytest.mark.slow
def test_tempered_chains_of_a_second_seed_share_the_program(compiled):
    """What exploring runs found is an argument of the program, and a call of its own gives the same chains."""
    target = auxmc.density(lambda x: -0.5 * x**2, 0.1)
    options = {"draws": 50, "warm_up": 20, "progress": False, "checks": "off"}
    call = partial(auxmc.evidence, method="continuously_tempered_hmc", **options)
    call(target, seed=1)
    second = call(target, seed=2)
    assert len(compiled) == 1
    running._kept.clear()
    assert _same(second.chains, call(target, seed=2).chains)
    assert len(compiled) == 2


def test_draws_depend_on_the_seed_and_neither_on_cores_nor_on_executors():
    method = auxmc.constrained_hmc(models.sum_of_normals())
    one, two, other = (auxmc.sample(method, cores=n, seed=s, **SHORT) for n, s in ((1, 0), (2, 0), (2, 1)))
    with ThreadPoolExecutor(1) as threads:
        there = auxmc.sample(method, executor=threads, **SHORT)
    assert _same(one, two)
    assert _same(one, there)
    assert not _same(one, other)


def test_interrupted_run_goes_on_bit_for_bit(tmp_path, monkeypatch):
    method = auxmc.hmc(models.normal_density())
    whole = auxmc.sample(method, cores=1, **SHORT)
    calls = count(1)
    advanced = running.Reporter.advanced

    def killed(self, chain, done, run_s):
        if next(calls) == 6:
            raise KeyboardInterrupt
        advanced(self, chain, done, run_s)

    monkeypatch.setattr(running.Reporter, "advanced", killed)
    with pytest.raises(KeyboardInterrupt):
        auxmc.sample(method, cores=1, checkpoint=tmp_path, **SHORT)
    again = auxmc.sample(method, cores=1, checkpoint=tmp_path, **SHORT)
    assert again.attrs["n_resumed"] > 0
    assert _same(whole, again)
    longer = SHORT | {"draws": 10 * SHORT["draws"]}
    rejected = f"checkpoint {tmp_path} holds a run of something else .*another folder"
    for model, changed in (method, {"seed": 5}), (method, {"thin": 2}), (method._replace(scale=0.2), {}):
        with pytest.raises(ValueError, match=rejected):
            auxmc.sample(model, cores=1, checkpoint=tmp_path, **(SHORT | changed))
    assert _same(whole, auxmc.sample(method, cores=1, checkpoint=tmp_path, **SHORT))
    # A finished run continues with more draws, and has the first of them where fewer are wanted.
    again = auxmc.sample(method, cores=1, checkpoint=tmp_path, **longer)
    assert again.attrs["n_resumed"] > 0
    assert _same(auxmc.sample(method, cores=1, **longer), again)
    assert _same(whole, auxmc.sample(method, cores=1, checkpoint=tmp_path, **SHORT))


def test_thinned_draws_are_those_of_all_iterations():
    method = auxmc.hmc(models.normal_density())
    whole = auxmc.sample(method, draws=60, warm_up=30, chains=2, progress=False)
    thin = auxmc.sample(method, draws=20, warm_up=30, chains=2, thin=3, keep=["a"], progress=False)
    for group in ("posterior", "warmup_posterior"):
        assert set(thin[group].data_vars) == {"a"}
    for name in ("posterior/a", "warmup_posterior/a", "sample_stats/lp"):
        np.testing.assert_allclose(thin[name], whole[name].to_numpy()[:, 2::3], rtol=1e-6)


def test_starts_for_each_chain():
    start = {"a": jnp.array([5.0, -5.0, 0.0]), "b": jnp.zeros((3, 2))}
    method = auxmc.hmc(models.normal_density(), step_size=1e-9)
    tree = auxmc.sample(method, start, draws=2, warm_up=0, chains=3, progress=False)
    assert np.allclose(tree["posterior"]["a"].to_numpy()[:, 0], start["a"], atol=1e-6)


def test_checkpoint_that_is_no_folder_is_rejected(tmp_path):
    method = auxmc.hmc(models.normal_density())
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="file is a file: give another path"):
        auxmc.sample(method, checkpoint=tmp_path / "file", **SHORT)


def test_a_density_is_sampled_by_nuts():
    model = models.normal_density()
    assert _same(auxmc.sample(model, **SHORT), auxmc.sample(auxmc.nuts(model), **SHORT))


@pytest.mark.parametrize(
    ("make", "mass"),
    [
        (auxmc.nuts, "dense"),
        (auxmc.hmc, "diagonal"),
        pytest.param(auxmc.nuts, "diagonal", marks=pytest.mark.slow),
        pytest.param(auxmc.hmc, "dense", marks=pytest.mark.slow),
    ],
)
def test_masses_follow_the_scales_of_a_density(make, mass):
    """Standard deviations from 1e-5 to 1e3: those of the draws, and effective draws as on a round density.

    Errors of 12 standard deviations, each known to about 3 %, beyond 20 %: under 1e-8.
    """
    sds = np.array([1e-5, 1.0, 1e3])
    model = auxmc.density(lambda x: -0.5 * jnp.sum((x / sds) ** 2), np.zeros(3))
    tree = auxmc.sample(make(model, mass=mass), draws=1000, warm_up=2000, chains=4, progress=False)
    draws = tree["posterior"]["x"].to_numpy()
    assert np.allclose(draws.std(axis=(0, 1)), sds, rtol=0.2)
    assert min(bulk_ess(draws[..., i]) for i in range(3)) > 400
    with pytest.raises(ValueError, match="mass must be one of diagonal, dense, unit, got 'full'"):
        make(model, mass="full")


@pytest.mark.parametrize("make", [auxmc.pseudo_marginal, auxmc.auxiliary_pseudo_marginal])
def test_a_random_walk_follows_scales_and_correlations(make):
    """Standard deviations of 0.1 and 10, correlation 0.9: effective draws as on a round density, right moments."""
    sds, rho = np.array([0.1, 10.0]), 0.9

    def log_estimate(x, u):
        z = x / sds
        return -0.5 * (z @ z - 2 * rho * z[0] * z[1]) / (1 - rho**2) + 1e-3 * u

    model = auxmc.estimated(lambda x: 0.0 * x[0], log_estimate, (), np.zeros(2), checks="off")
    tree = auxmc.sample(make(model), draws=2000, warm_up=2000, chains=4, progress=False)
    draws = tree["posterior"]["x"].to_numpy()
    assert min(bulk_ess(draws[..., i]) for i in range(2)) > 300
    assert np.allclose(draws.std(axis=(0, 1)), sds, rtol=0.25)
    assert np.corrcoef(draws.reshape(-1, 2).T)[0, 1] == pytest.approx(rho, abs=0.07)


def _sticking():
    """An estimate with a huge variance holds a chain for long."""
    log_estimate = lambda p, u: jnp.sum(6.0 * u) + 0.0 * p["x"]
    model = auxmc.estimated(lambda p: -0.5 * p["x"] ** 2, log_estimate, auxiliary=4, start={"x": 0.0})
    return auxmc.pseudo_marginal(model)


@pytest.mark.parametrize(
    ("make", "settings", "words"),
    [
        (lambda: auxmc.hmc(models.normal_density(), step_size=1e4), (30, 0, 3), "chain 0, 1, 2 never moved"),
        (lambda: auxmc.hmc(models.normal_density()), (200, 50, 1), "one chain alone"),
        (lambda: auxmc.hmc(models.normal_density()), (1, 50, 4), "each chain has 1 draw, too few"),
        (lambda: auxmc.hmc(models.normal_density()), (7, 50, 4), "has 7 draws, too few"),
        (_sticking, (400, 200, 4), r"stayed the same for \d+ of 400 draws"),
    ],
    ids=["no step is accepted", "one chain", "one draw", "seven draws", "sticking estimate"],
)
def test_chains_that_show_nothing_are_warned_of(make, settings, words):
    """One chain cannot show what it missed; below eight draws neither R-hat nor an ESS says anything."""
    draws, warm_up, chains = settings
    with pytest.warns(auxmc.SamplingWarning, match=words):
        auxmc.sample(make(), draws=draws, warm_up=warm_up, chains=chains, progress=False)


@pytest.mark.slow
def test_mode_that_no_chain_began_in_is_warned_of():
    """Two moons, all chains from one point: R-hat cannot see it, fresh points on the manifold do (trap 3)."""
    model = posterior_problems.two_moons_model()
    points = auxmc.start_on_manifold(model, chains=1, seed=2)
    start = {name: value[0] for name, value in points.items()}
    with pytest.warns(auxmc.SamplingWarning, match="as probable as the draws, but no draw is near"):
        tree = auxmc.sample(auxmc.constrained_hmc(model), start, draws=200, warm_up=100, progress=False)
    assert any("Leave `start` out" in text for text in tree.attrs["warnings"])


def test_second_mode_of_a_density_is_warned_of():
    """All chains begin at one point and stay in its mode: R-hat is 1.00, short chains from far out end elsewhere."""

    def log_density(v):
        squares = [jnp.sum((v["x"] - centre) ** 2) for centre in (-4.0, 4.0)]
        return jnp.logaddexp(-0.5 * squares[0], -0.5 * squares[1])

    method = auxmc.hmc(auxmc.density(log_density, {"x": np.full(2, 4.0)}))
    with pytest.warns(auxmc.SamplingWarning, match="the chains miss a mode: .* Give starts that differ"):
        tree = auxmc.sample(method, draws=1000, warm_up=300, progress=False)
    assert float(tree["posterior"]["x"].min()) > -2.0


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_single_modes_of_odd_shapes_are_not_warned_of(seed):
    """Short chains from far out find nothing else in heavy tails, in a funnel, along a valley, in thirty dimensions."""
    for log_density, dim in (
        (lambda x: -2.5 * jnp.sum(jnp.log1p(x**2 / 4.0)), 2),
        (lambda x: -0.5 * x[0] ** 2 - 0.5 * jnp.sum(x[1:] ** 2 * jnp.exp(-x[0]) + x[0]), 3),
        (lambda x: -0.5 * x[0] ** 2 - 0.5 * ((x[1] - x[0] ** 2) / 0.5) ** 2, 2),
        (lambda x: -0.5 * jnp.sum(x**2), 30),
    ):
        method = auxmc.hmc(auxmc.density(log_density, np.full(dim, 0.5)))
        tree = auxmc.sample(method, draws=1000, warm_up=300, seed=seed, progress=False)
        assert not any("miss a mode" in text for text in tree.attrs["warnings"])


def test_looking_at_draws_silences_no_warning():
    """ArviZ silences warnings by a filter of the whole process, which threads that overlap left behind."""
    model = auxmc.density(lambda v: -0.5 * jnp.sum(v["x"] ** 2), start={"x": np.zeros(200)})
    method = auxmc.hmc(model, n_steps=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        before = list(warnings.filters)
        with pytest.raises(auxmc.SamplingWarning, match="R-hat is"):
            auxmc.sample(method, draws=50, warm_up=0, progress=False)
        assert warnings.filters == before


def test_trajectories_that_gain_energy_are_counted_and_warned_of():
    """A wall that is much narrower than a step: energies rise by thousands of nats and stay finite."""
    model = auxmc.density(lambda v: -0.5 * v["x"] ** 2 * jnp.where(v["x"] < 0.0, 1e6, 1.0), start={"x": 1.0})
    with pytest.warns(auxmc.SamplingWarning, match=r"\d+ of 90 trajectories diverged: their energy rose"):
        tree = auxmc.sample(auxmc.hmc(model, step_size=0.3), **(SHORT | {"warm_up": 0}))
    stats = tree["sample_stats"]
    assert int(stats["diverging"].sum()) == int(np.sum(~(stats["energy_change"].to_numpy() <= 1000.0))) > 0


def test_importing_changes_no_setting():
    """`import auxmc` takes no time; single precision, also that of threads alone, is rejected until it is left."""
    code = """
import sys, auxmc
assert "jax" not in sys.modules
import jax
def model(): return auxmc.density(lambda v: -0.5 * v["x"] ** 2, {"x": 0.0}, checks="off")
def rejected():
    try: model()
    except auxmc.errors.PrecisionError: return True
assert rejected() and not jax.config.jax_enable_x64
with jax.enable_x64(True): assert rejected()
auxmc.enable_x64()
assert auxmc.sample(model(), draws=2, warm_up=0, chains=1, progress=False, checks="off")
"""
    env = {name: value for name, value in os.environ.items() if not name.startswith("JAX")}
    env["PYTHONPATH"] = python_path()
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert jax.config.jax_enable_x64


@pytest.mark.parametrize(
    "call",
    [
        lambda: auxmc.evidence(models.normal_density()),
        lambda: auxmc.evidence_of({"x": np.zeros((4, 100))}, lambda v: 0.0),
        lambda: auxmc.simulator(lambda inputs: inputs["x"], 1.0, {"x": auxmc.prior.normal(2)}),
        lambda: auxmc.record(jax.random.normal),
        lambda: auxmc.estimated(lambda p: p, lambda p, u: u, 1, 0.0),
        lambda: auxmc.row_model(lambda p, rows: rows, lambda p: p, lambda key: 0.0),
        lambda: auxmc.stream_evidence(None, np.zeros((2, 1))),
        lambda: auxmc.laplace_evidence(None, np.zeros((2, 1))),
        lambda: auxmc.growing_data(None, np.zeros((2, 1))),
        lambda: auxmc.check(None, None, None),
        lambda: auxmc.replicate(abs, 1),
    ],
)
def test_single_precision_is_rejected_with_the_line_to_add(call):
    rejected = pytest.raises(auxmc.errors.PrecisionError, match=r"call auxmc.enable_x64\(\) \(or")
    with jax.enable_x64(False), rejected:
        call()


@pytest.mark.parametrize("make", [auxmc.hmc, auxmc.nuts])
def test_a_hard_bound_is_named_where_trajectories_cross_it(make):
    model = auxmc.density(lambda v: jnp.where(v["x"] > 0.0, -v["x"], -jnp.inf), start={"x": 1.0})
    warned = "trajectories ended where .*a hard bound.*bounds="
    with pytest.warns(auxmc.SamplingWarning, match=warned) as caught:
        auxmc.sample(make(model), draws=200, warm_up=200, progress=False)
    assert not any("target_acceptance" in str(one.message) for one in caught)


def test_advice_is_for_the_method_at_hand():
    """auxmc.evidence takes no estimated likelihood, and nobody typed the name of the kernel."""
    method = auxmc.pseudo_marginal(models.estimated_normal(), scale=1e-3)
    tree = auxmc.sample(method, draws=100, warm_up=0, progress=False)
    text = " ".join(tree.attrs["warnings"])
    assert "effective sample size" in text
    assert "auxmc.evidence" not in text
    assert method.name not in text


def test_the_worst_of_many_variables_is_judged_as_the_worst_of_many():
    """Independent chains of AR(0.43) have 399 effective draws, the worst of a thousand estimates 230 or so."""
    random, method = np.random.default_rng(0), auxmc.hmc(models.normal_density())
    draws = random.normal(size=(4, 300, 1000))
    for i in range(1, 300):
        draws[:, i] = 0.43 * draws[:, i - 1] + np.sqrt(1.0 - 0.43**2) * draws[:, i]
    many = draws[:, 50:]
    worst = np.argmin(bulk_ess(np.moveaxis(many, -1, 0)))
    assert not advise(method, _tree(many))
    (one,) = advise(method, _tree(many[..., [worst]]))
    assert "effective sample size" in one.text


def _tree(draws):
    groups = {"posterior": dataset_of({"x": draws}), "sample_stats": dataset_of({"lp": draws[..., 0]})}
    return xr.DataTree.from_dict(groups)


def test_inputs_with_an_edge_have_the_right_draws():
    """Two exponentials of a given sum, that is recorded too: the flat ends of the manifold are left by rejections."""
    generate, inputs = auxmc.record(lambda key: jnp.sum(jax.random.exponential(key, (2,))))
    model = auxmc.simulator(generate, 2.0, inputs)
    tree = auxmc.sample(auxmc.constrained_hmc(model), draws=500, warm_up=200, progress=False)
    assert float(tree["posterior"]["exponential_0"][..., 0].var()) == pytest.approx(1.0 / 3.0, rel=0.2)


@pytest.mark.parametrize("seed", [-1, 2**63, 2**70, 1.5, True])
def test_seeds_out_of_range_are_rejected(seed):
    model = models.normal_density()
    for call, *given in (auxmc.sample, model), (auxmc.evidence, model), (auxmc.replicate, abs, 1):
        with pytest.raises(ValueError, match="seed must be an integer"):
            call(*given, seed=seed)
