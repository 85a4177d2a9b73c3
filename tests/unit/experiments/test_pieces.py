"""A case that several jobs make in pieces has the arrays of one job."""

import contextlib

import pytest
import xarray as xr

from auxmc.errors import UnitsMissing
from auxmc_pipeline.catalogue import ROOT, load_study
from auxmc_pipeline.chains import RunContext
from auxmc_pipeline.units import Share, Units
from experiments.streaming_evidence import designs
from tests.unit.experiments.test_image_models import saved

pytestmark = pytest.mark.slow

OF_LABELS = f"data={ROOT}/docs/examples/labelled.csv label=class method=apm_ss_mh n_chains=5 n_draws=10 "
OF_LABELS += "n_importance=3 batch_size=2 n_batches=2 block_size=7"
OF_IMAGES = "n_images=5 n_generated=6 n_repetitions=2 n_chains=2 n_draws=10 n_runs=2 annealed_repetitions=2 "
OF_IMAGES += "st_temperatures=10 bound_temperatures=8 n_steps=2 lanes_per_unit=4 precision=float64 "
OF_IMAGES += "++batch.method=[ais,bidirectional,gibbs_ct] ++batch.n_temperatures=[5,7] weights="
OF_ROWS = "n_repeats=2 n_moves=3 batch_size=60 n_particles=4 n_rows=130 "
CASES = {
    "labels": ("gp_probit", OF_LABELS),
    "images": ("image_models", OF_IMAGES),
    "linear": (
        "streaming_evidence",
        f"{OF_ROWS} n_hybrid_runs=1 n_repeats=3 +batch.method=[annealed,sequential]",
    ),
    "linear_full": ("streaming_evidence", f"{OF_ROWS} design=full_data sizes=[100,200] annealed_rows=100"),
    "softmax": ("streaming_evidence", f"{OF_ROWS} stream=softmax n_rows=1000"),
    "pair": ("streaming_evidence", f"{OF_ROWS} design=nested_pair"),
    "starts": ("streaming_evidence", f"{OF_ROWS} design=starts stream=mixture_separated n_start_moves=5"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_case_is_the_same_in_one_job_and_in_pieces(case, tmp_path, monkeypatch):
    monkeypatch.setattr(designs, "PAIR_METHODS", ("annealed",))
    monkeypatch.setattr(designs, "STARTS", ("growing", "at_once"))
    name, words = CASES[case]
    study = load_study(name)
    settings = study.settings(["preset=smoke", *(words + saved(tmp_path) * (case == "images")).split()])

    def result(folder, units):
        context = RunContext(name, settings.seed, tmp_path / folder, "identity", "test", units)
        return study.module("run").run(settings, context)

    whole = result("whole", Units())
    # Too few units for more.
    for n_pieces in (3,) if case in ("softmax", "pair", "starts") else (3, 5):
        merged = in_pieces(result, n_pieces, makes_last_stage=case == "starts")
        assert merged.keys() == whole.keys()
        for group, dataset in whole.items():
            assert set(merged[group]) == set(dataset)
            for quantity, values in dataset.items():
                if not any(word in quantity for word in ("second", "time")):
                    xr.testing.assert_identical(merged[group][quantity], values)


def in_pieces(run, n_pieces, makes_last_stage):
    """The result of a case whose units so many jobs have made; `run` maps a name and Units to a result."""
    given = {}
    for piece in range(n_pieces):
        units = Units(Share(piece, n_pieces))
        with contextlib.suppress(UnitsMissing):
            run(f"{piece}-of-{n_pieces}", units)
        given |= units.made
    # Its part begins after all units, so that a unit that is not given would be missed, but for what needs them all.
    own = None if makes_last_stage else Share(len(given), len(given) + 1)
    return run(f"merged-{n_pieces}", Units(own, given))
