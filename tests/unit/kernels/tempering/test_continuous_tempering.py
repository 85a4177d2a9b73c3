"""Tempered Hamiltonian Monte Carlo and no-U-turn sampler: integrators, momenta, failures, what a state carries."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from auxmc.diagnostics.tempered_evidence import log_evidence
from auxmc.kernels.tempering.continuous_tempering import (
    continuously_tempered_hmc,
    gibbs_continuous_tempering,
    plateau_tempered_hmc,
)
from auxmc.kernels.tempering.tempered_move import INTEGRATORS, tempered_hmc
from auxmc.kernels.tempering.tempered_nuts import tempered_nuts
from auxmc.models.bridge import bridge, gaussian_base
from auxmc.numerics.truncated_exponential import log_base_weight, log_target_weight
from tests.unit.kernels.toys import DIM, chain

LOG_ZETA = 0.7
MASS = 2.0


def target(x):
    return jnp.sum(0.5 * x**2 - 0.25 * x**4) - 0.3 * x[0] * x[1]


BRIDGE = bridge(target, gaussian_base(jnp.array([0.2, -0.1]), jnp.array([[1.2, 0.0], [0.4, 0.9]])), LOG_ZETA)
START, MOMENTUM = jnp.array([0.7, -1.1]), jnp.array([0.9, 0.4])
ALWAYS = jnp.asarray(-jnp.inf)


def _extended(step_size, n_steps, integrator):
    """Maps (x, u, p, v) to the end of a trajectory of the extended dynamics that is accepted whatever it does."""
    kernel = continuously_tempered_hmc(BRIDGE, step_size, n_steps, MASS, integrator=integrator)

    def flow(phase):
        start = kernel.init(phase[:DIM], phase[DIM], key=jax.random.key(0))
        momenta = {"normal": phase[DIM + 1 : -1], "control_normal": phase[-1] / MASS**0.5}
        noise = kernel.draw(jax.random.key(0))._replace(**momenta, log_uniform=ALWAYS)
        end, _ = kernel.apply(noise, start)
        return jnp.hstack([end.position, end.control, end.move.momentum, end.control_momentum])

    return flow


def _fixed(step_size, n_steps, integrator):
    """Maps (x, p) to the end of a trajectory at inverse temperature 0.6."""
    move = tempered_hmc(BRIDGE, step_size, n_steps, integrator=integrator)

    def flow(phase):
        start = move.init(phase[:DIM], key=jax.random.key(0))
        noise = move.draw(jax.random.key(0))._replace(normal=phase[DIM:], log_uniform=ALWAYS)
        end, _ = move.apply(noise, start, jnp.asarray(0.6))
        return jnp.concatenate([end.position, end.momentum])

    return flow


def _energies(x):
    """Of the target over zeta and of the base."""
    log_target, log_base = BRIDGE.log_densities(x)
    return LOG_ZETA - log_target, -log_base


def _energy_extended(phase):
    b = jax.nn.sigmoid(phase[DIM])
    phi, psi = _energies(phase[:DIM])
    kinetic = 0.5 * jnp.sum(phase[DIM + 1 : -1] ** 2) + 0.5 * phase[-1] ** 2 / MASS
    return b * phi + (1 - b) * psi - jnp.log(b) - jnp.log1p(-b) + kinetic


def _energy_fixed(phase):
    phi, psi = _energies(phase[:DIM])
    return 0.6 * phi + 0.4 * psi + 0.5 * jnp.sum(phase[DIM:] ** 2)


FLOWS = {
    "extended": (_extended, _energy_extended, jnp.hstack([START, 0.4, MOMENTUM, -0.5])),
    "fixed": (_fixed, _energy_fixed, jnp.hstack([START, MOMENTUM])),
}


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("name", FLOWS)
def test_trajectories_are_reversible_symplectic_and_of_second_order_in_energy(name, integrator):
    build, energy, start = FLOWS[name]
    half = len(start) // 2
    sign = jnp.concatenate([jnp.ones(half), -jnp.ones(half)])
    coarse, fine = (jax.jit(build(1.3 / n, n, integrator)) for n in (26, 52))
    ends = coarse(start), fine(start)
    assert float(jnp.max(jnp.abs(ends[0] - start))) > 0.1
    np.testing.assert_allclose(sign * coarse(sign * ends[0]), start, atol=1e-10)
    errors = [abs(float(energy(end) - energy(start))) for end in ends]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)
    jacobian = np.asarray(jax.jit(jax.jacfwd(build(0.2, 3, integrator)))(start))
    omega = np.block([[np.zeros((half, half)), np.eye(half)], [-np.eye(half), np.zeros((half, half))]])
    np.testing.assert_allclose(jacobian.T @ omega @ jacobian, omega, atol=1e-9)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_reported_energy_changes_are_those_of_the_hamiltonian(integrator):
    kernel = continuously_tempered_hmc(BRIDGE, 0.3, 4, 2.0, integrator=integrator)
    start = kernel.init(START, 0.4, key=jax.random.key(0))
    noise = kernel.draw(jax.random.key(5))
    _, info = jax.jit(kernel.apply)(noise, start)
    begin = jnp.hstack([START, 0.4, noise.normal, 2.0**0.5 * noise.control_normal])
    end = _extended(0.3, 4, integrator)(begin)
    change = float(_energy_extended(end) - _energy_extended(begin))
    assert float(info.energy_change) == pytest.approx(change, rel=1e-10)
    assert float(info.acceptance_rate) == pytest.approx(min(1.0, np.exp(-change)), rel=1e-10)
    assert bool(info.is_accepted) == (float(noise.log_uniform) < -change)
    assert int(info.n_gradients) == 4


@pytest.mark.parametrize(("integrator", "refreshment"), [(INTEGRATORS[0], 1.0), (INTEGRATORS[1], 0.6)])
@pytest.mark.parametrize(
    "build", [gibbs_continuous_tempering, partial(continuously_tempered_hmc, control_mass=2.0)]
)
def test_states_carry_what_belongs_to_their_position_and_rejections_reverse_momenta(
    build, integrator, refreshment
):
    kernel = build(BRIDGE, 0.4, 3, refreshment=refreshment, integrator=integrator)
    state, apply = kernel.init(START, key=jax.random.key(1)), jax.jit(kernel.apply)
    for key in range(20):
        noise = kernel.draw(jax.random.key(key))
        part = noise.move if hasattr(noise, "move") else noise
        kept = (1.0 - refreshment**2) ** 0.5
        refreshed = refreshment * part.normal + kept * state.move.momentum
        if key % 2:
            part = part._replace(log_uniform=jnp.asarray(jnp.inf))
            noise = noise._replace(move=part) if hasattr(noise, "move") else part
        new, info = apply(noise, state)
        assert not (key % 2 and info.is_accepted)
        if info.is_accepted:
            assert float(new.move.momentum @ refreshed) != pytest.approx(-float(refreshed @ refreshed))
        else:
            np.testing.assert_allclose(new.move.momentum, -refreshed, rtol=1e-14)
            np.testing.assert_array_equal(new.position, state.position)
            if build is not gibbs_continuous_tempering:
                turned = refreshment * 2.0**0.5 * noise.control_normal + kept * state.control_momentum
                assert float(new.control_momentum) == pytest.approx(-float(turned), rel=1e-14)
                assert float(new.control) == float(state.control)
        state = new
        assert int(info.n_not_finite) == 0
    fresh = BRIDGE.log_densities_and_gradients(state.position)
    energies = LOG_ZETA - fresh[0][0], -fresh[0][1]
    np.testing.assert_allclose((state.move.target_energy, state.move.base_energy), energies, rtol=1e-12)
    if integrator == "kick_drift_kick":
        np.testing.assert_allclose(state.move.gradients, -jnp.stack(fresh[1]), rtol=1e-10, atol=1e-12)
    else:
        assert state.move.gradients == ()
    delta = energies[0] - energies[1]
    assert float(state.delta) == pytest.approx(float(delta), rel=1e-12)
    weights = float(log_target_weight(delta)) + LOG_ZETA, float(log_base_weight(delta))
    np.testing.assert_allclose((state.log_target_weight, state.log_base_weight), weights, rtol=1e-10)
    assert 0.0 <= float(state.inverse_temperature) <= 1.0


def test_a_trajectory_that_overflows_is_rejected_and_counted():
    joined = bridge(lambda x: -jnp.sum(x**4), gaussian_base(jnp.zeros(1), jnp.ones(1)))
    for kernel in (gibbs_continuous_tempering(joined, 50.0, 30), continuously_tempered_hmc(joined, 50.0, 30)):
        state = kernel.init(jnp.array([2.0]), 0.9, key=jax.random.key(0))
        new, info = kernel.step(jax.random.key(1), state)
        assert not bool(info.is_accepted)
        assert int(info.n_not_finite) == 1
        assert float(info.energy_change) == np.inf
        assert float(info.acceptance_rate) == 0.0
        np.testing.assert_array_equal(new.position, state.position)
        assert np.isfinite(float(new.inverse_temperature))


def test_by_default_chains_start_at_the_base_and_none_is_stuck_there():
    """A target 200 times narrower than its base: from the middle of the temperatures no chain moves."""
    log_narrow = lambda x: -0.5 * jnp.sum(((x - 1.0) / 0.01) ** 2)
    narrow = bridge(log_narrow, gaussian_base(jnp.zeros(2), jnp.full(2, 2.0)), -7.4)
    kernel = continuously_tempered_hmc(narrow, 0.01, 20)
    keys = jax.random.split(jax.random.key(0), 16)

    def states(key):
        start = narrow.draw_base(jax.random.normal(jax.random.fold_in(key, 0), (2,)))
        return kernel.init(start, key=key), kernel.init(start, 0.0, key=key)

    def n_moves(state, key):
        _, (_, infos) = chain(kernel, state, jax.random.split(jax.random.fold_in(key, 1), 50))
        return infos.is_accepted.sum()

    count = jax.jit(jax.vmap(n_moves))
    by_default, from_the_middle = (count(state, keys) for state in jax.vmap(states)(keys))
    assert int(by_default.min()) > 40
    assert int(from_the_middle.max()) == 0


def test_a_far_control_stays_finite():
    kernel = continuously_tempered_hmc(BRIDGE, 0.1, 5)
    step = jax.jit(kernel.step)
    for control in (-800.0, -10.0, 800.0):
        state, info = step(jax.random.key(1), kernel.init(START, control, key=jax.random.key(0)))
        assert np.isfinite(float(info.energy_change))
        assert np.all(np.isfinite(state.position))


def test_single_precision_stays_single():
    base = gaussian_base(jnp.zeros(DIM, jnp.float32), jnp.ones(DIM, jnp.float32))
    joined = bridge(target, base)
    x = START.astype(jnp.float32)
    for build in (gibbs_continuous_tempering, continuously_tempered_hmc):
        kernel = build(joined, 0.2, 3, dtype=jnp.float32)
        step = lambda x, kernel=kernel: kernel.step(jax.random.key(1), kernel.init(x, key=jax.random.key(0)))
        state, _ = jax.eval_shape(step, x)
        assert {leaf.dtype for leaf in jax.tree.leaves(state)} == {np.dtype(np.float32)}


def test_plateaus_give_draws_of_the_target_without_weights_and_its_normaliser():
    """A normal target of twice the standard deviation of a normal base, unnormalised: log Z = log(2 sqrt(2 pi))."""
    wide = lambda x: -0.5 * jnp.sum(jnp.square((x - 1.0) / 2.0))
    joined = bridge(wide, gaussian_base(jnp.zeros(1), jnp.ones(1)), 1.0)
    kernel = plateau_tempered_hmc(joined, 0.5, 4, (1.0, 2.0))

    def run(key):
        _, (states, _) = chain(kernel, kernel.init(jnp.zeros(1), key=key), jax.random.split(key, 3000))
        return states.position[:, 0], states.log_target_weight, states.log_base_weight

    x, *weights = map(np.asarray, jax.jit(jax.vmap(run))(jax.random.split(jax.random.key(4), 20)))
    assert log_evidence(*weights) == pytest.approx(np.log(2.0 * np.sqrt(2 * np.pi)), abs=0.15)
    at_target, at_base = (x[np.isfinite(of_end)] for of_end in weights)
    assert at_target.size > 5000
    assert (at_target.mean(), at_target.std()) == pytest.approx((1.0, 2.0), abs=0.2)
    assert (at_base.mean(), at_base.std()) == pytest.approx((0.0, 1.0), abs=0.15)


# --- no-U-turn sampler ---------------------------------------------------------------------------------

NUTS = tempered_nuts(BRIDGE, 0.4, jnp.array([1.0, 1.0, 4.0]), max_doublings=5)
NUTS_STEP = jax.jit(NUTS.step)


def test_states_of_the_no_u_turn_sampler_carry_what_belongs_to_their_point_and_count_work():
    at_rest = lambda extended: -_energy_extended(jnp.concatenate([extended, jnp.zeros(DIM + 1)]))
    state = NUTS.init(jnp.array([0.5, -1.0]), 0.7)
    assert float(state.inverse_temperature) == pytest.approx(1.0 / (1.0 + np.exp(-0.7)))
    for i in range(4):
        value, slope = jax.value_and_grad(at_rest)(state.extended)
        assert float(state.log_density) == pytest.approx(float(value), rel=1e-10)
        np.testing.assert_allclose(state.gradient, slope, rtol=1e-9, atol=1e-12)
        phi, psi = _energies(state.position)
        assert float(state.delta) == pytest.approx(float(phi - psi), rel=1e-12)
        difference = float(state.log_base_weight - state.log_target_weight)
        assert difference == pytest.approx(float(state.delta) - LOG_ZETA)
        state, info = NUTS_STEP(jax.random.key(i), state)
        assert 2 ** (int(info.n_doublings) - 1) <= int(info.n_gradients) < 2**5
        assert not bool(info.is_divergent)
        assert 0.0 < float(info.acceptance_rate) <= 1.0


def test_a_step_that_is_far_too_long_diverges_stays_and_says_so():
    wild = tempered_nuts(BRIDGE, 1e3, jnp.ones(DIM + 1))
    start = wild.init(jnp.ones(DIM), 5.0)
    state, info = jax.jit(wild.step)(jax.random.key(0), start)
    assert bool(info.is_divergent)
    np.testing.assert_array_equal(state.extended, start.extended)
