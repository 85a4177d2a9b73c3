"""Foundations: every line is measured, exact lines do not depend on the seed, closed forms, arrays of the figures."""

import csv
import functools
import math
from pathlib import Path

import numpy as np
import pytest

from auxmc_pipeline.tables import load_tables
from experiments.boltzmann.model.machine import relax
from experiments.foundations import run
from experiments.foundations.chains import slices
from experiments.foundations.chains.inputs import mixture_density
from experiments.foundations.models.differentiation import random_graph
from experiments.foundations.models.machines import five_units, relaxation_by_quadrature
from experiments.foundations.models.tape import Arithmetic, evaluate, jacobian_by_rows
from experiments.foundations.topic import Work, measurements
from tests.unit.experiments.record import RECORDED

EFFORTS = {"numbers": 1e-3, "chains": 0.01, "evidence": 1e-4, "models": 0.02}
# Simulations that take long even so.
SLOW = {"FN-IS-03", "FN-EX-01", "FN-HM-09", "FN-SL-05"}
SLOW |= {"FN-SM-01", "FN-SM-02", "FN-SM-03", "FN-SM-04", "FN-SM-05"}


@functools.cache
def work(design, seed):
    return Work(seed, "foundations", EFFORTS[design])


@functools.cache
def measured(claim, seed=1):
    design = next(name for name in run.TOPICS if claim in run.claims_of(name))
    return measurements(run.claims_of(design)[claim](work(design, seed)))


def value(claim, setting):
    return measured(claim)[setting].value


def curves(design, figure):
    return run.curves_of(design)[figure](work(design, 1))


def listed():
    """Settings of every claim: lines of the table of claims, and numbers of findings."""
    found = {
        claim: set(settings)
        for topics in run.TOPICS.values()
        for module in topics
        for claim, settings in module.TOPIC.numbers.items()
    }
    with Path(run.__file__).with_name("claims.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            found[row["claim_id"]].add(row["setting"])
    return found


@pytest.mark.parametrize(
    "design",
    ["numbers", "evidence", *(pytest.param(name, marks=pytest.mark.slow) for name in ("chains", "models"))],
)
def test_every_line_is_measured_and_the_exact_ones_are_the_same_for_every_seed(design):
    for claim in set(run.claims_of(design)) - SLOW:
        assert set(measured(claim)) == listed()[claim]
        for setting, found in measured(claim).items():
            line = f"{claim} {setting}"
            others = [measured(claim, seed)[setting].value for seed in (2, 3)]
            assert math.isfinite(found.value), line
            if found.exact:
                assert found.error == 0.0, line
                assert found.value == others[0], line
                continue
            # A fraction of 0 or 1 may stay so, and knows how large it could be.
            assert found.error > 0.0, line
            # Few trials can agree by chance, but hardly with two others.
            alike = all(found.value == other for other in others)
            assert not alike or found.value in (0.0, 1.0), f"{line} is a constant that is not declared exact"


@pytest.mark.parametrize(
    ("claim", "setting", "expected", "tolerance"),
    [
        ("FN-MC-03", "mean of the covariances", 11.0 / 18.0, 1e-9),
        ("FN-MC-03", "error of the formula as printed", -1.0 / 6.0, 1e-9),
        ("FN-IS-02", "linear coefficient as printed", -100.0, 1e-9),
        ("FN-MK-02", "systematic order 1, 2, 3, detailed balance", 0.0502152, 1e-6),
        # Decay 0.1 and eta = 0.01: 2 (2 - decay) / (4 - 2 decay - eta).
        ("FN-SG-02", "position, step 0.01, gradient noise 0", 3.8 / 3.79, 1e-10),
        ("FN-SG-01", "step 0.1, gradient noise 4, estimate 4", 2.0 / 1.9 - 0.4 / 1.9, 1e-10),
        ("FN-EV-14", "largest likelihood over evidence", 2.4712373, 1e-7),
        ("FN-NS-03", "M/(M+1), 10 live points", 1.458963, 1e-5),
        ("FN-NS-03", "as printed", 1.313067, 1e-5),
        ("FN-VI-02", "Renyi 1/2, mean", 0.657313, 1e-5),
        ("FN-VI-03", "as printed", math.log(2.0), 1e-8),
        ("FN-AD-04", "derivative in x as drawn", 0.8 / 0.7**2, 1e-8),
        ("FN-AD-04", "accumulator of x by the drawn rule", 0.8 / 0.7, 1e-12),
    ],
)
def test_known_values(claim, setting, expected, tolerance):
    assert value(claim, setting) == pytest.approx(expected, abs=tolerance)


def test_the_quadrature_of_the_relaxation_has_settled():
    machine = five_units()
    relaxed = relax(machine, np.full(5, -np.linalg.eigvalsh(machine.weights)[0]))
    first, second = (relaxation_by_quadrature(relaxed, n) for n in (20, 24))
    assert first[0] == pytest.approx(second[0], abs=1e-5)
    np.testing.assert_allclose(first[2], second[2], atol=1e-4)


def test_derivatives_of_random_graphs_are_those_of_differences():
    rng = np.random.default_rng(8)
    graph, point = random_graph(rng, 4, 40, n_outputs=2), rng.uniform(0.3, 1.0, 4)
    found = jacobian_by_rows(graph, point, Arithmetic())
    for i in range(4):
        high, low = (
            np.array(evaluate(graph, point + side * 1e-6 * np.eye(4)[i], Arithmetic()))
            for side in (1.0, -1.0)
        )
        slopes = (high - low)[list(graph.outputs)] / 2e-6
        np.testing.assert_allclose(found[:, i], slopes, rtol=1e-5, atol=1e-7)


def test_the_first_bit_of_the_raster_alternates():
    bits = curves("numbers", "fig_2_1")["bits"]
    np.testing.assert_array_equal(bits.sel(bit=0), np.arange(128) % 2 == 0)


def test_the_build_up_of_a_slice_update_ends_in_the_other_mode():
    arrays = curves("chains", "slides_slice")
    first, grown, once, twice = arrays["bracket"].values
    assert grown[0] < -0.2 < first[0]
    lengths = [np.ptp(ends) for ends in (grown, once, twice)]
    assert lengths[0] > lengths[1] > lengths[2]
    start, height, new, _ = arrays["mark"].values
    assert twice[0] < new < 0.0 < start < twice[1]
    assert mixture_density(slices.OVERLAPPING, new) > height


def test_the_cost_of_a_draw_grows_faster_for_random_walks():
    tables = load_tables(RECORDED / "foundations" / "tables")
    cost = tables["fig_hmc_cost_method_fig_hmc_cost_dimension"]
    powers = {
        method: np.polyfit(
            np.log(rows["fig_hmc_cost_dimension"]), np.log(rows["fig_hmc_cost_operations"]), 1
        )[0]
        for method, rows in cost[cost["fig_hmc_cost_dimension"] > 50].groupby("fig_hmc_cost_method")
    }
    # Powers 2 and 5/4 of the source, from a few dozen replicates.
    assert powers["random walk"] == pytest.approx(2.0, abs=0.2)
    assert powers["HMC"] == pytest.approx(1.25, abs=0.15)


def test_particles_of_the_figure_descend_from_their_ancestors():
    ancestors = curves("evidence", "slides_particle_filter")["ancestor"]
    n = ancestors.sizes["particle"]
    assert np.all(ancestors.sel(tree="none") == np.arange(n))
    resampled = ancestors.sel(tree="each step").values
    assert all(len(set(step)) < n for step in resampled)
