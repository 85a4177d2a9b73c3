"""Trees of draws are what ArviZ expects: coordinates, energy, versions; summaries, plots and both NetCDF engines."""

import pickle

import arviz_stats
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr

import auxmc
from auxmc.interface.trees import dataset_of
from tests.unit.interface import models


def _vector(v):
    return -0.5 * (v["s"] ** 2 + jnp.sum(v["b"] ** 2))


@pytest.fixture(scope="module", name="tree")
def make_tree():
    method = auxmc.hmc(auxmc.density(_vector, {"s": 0.1, "b": [0.1, 0.2]}))
    return auxmc.sample(method, draws=200, warm_up=200, chains=2, progress=False)


def test_every_dimension_has_coordinates(tree):
    for group in tree.children.values():
        assert set(group.coords) == set(group.sizes)
        for dim, size in group.sizes.items():
            np.testing.assert_array_equal(group[str(dim)], np.arange(size))
    assert tree["posterior/b"].dims == ("chain", "draw", "b_dim_0")
    assert dataset_of({"m": np.zeros((2, 3, 4, 5))})["m_dim_1"].size == 5


@pytest.mark.parametrize("name", ["hmc", "constrained_hmc", "constrained_nuts"])
def test_energy_is_potential_and_kinetic(tree, name):
    """The kinetic energy of d independent directions has the mean d / 2 and the variance d / 2; 5 errors."""
    n_directions = 3
    if name != "hmc":
        n_directions = 1
        method = getattr(auxmc, name)(models.sum_of_normals())
        tree = auxmc.sample(method, draws=200, warm_up=200, chains=2, progress=False)
    stats = tree["sample_stats"]
    kinetic = (stats["energy"] + stats["lp"]).to_numpy()
    kinetic = kinetic - (0.0 if name == "hmc" else kinetic.min())
    assert np.all(kinetic >= 0.0)
    error = np.sqrt(n_directions / 2.0 / float(arviz_stats.ess(kinetic)))
    assert kinetic.mean() == pytest.approx(n_directions / 2.0, abs=5.0 * error)


def test_attributes_say_what_made_it_and_when(tree):
    assert tree.attrs["inference_library_version"] == auxmc.__version__
    assert tree.attrs["created_at"].startswith("20")
    assert {"jax_version", "jaxlib_version", "numpy_version", "python_version"} <= set(tree.attrs)


def test_methods_and_models_are_values():
    first, second = (auxmc.hmc(models.normal_density()) for _ in range(2))
    assert first == first
    assert first != second
    assert first not in [second]
    assert first == first._replace()
    base = lambda scale: auxmc.gaussian({"x": [0.0, 1.0]}, {"x": [1.0, scale]})
    assert base(2.0) == base(2.0) != base(3.0)
    model, other = models.normal_density(), auxmc.density(_vector, {"s": 0.1, "b": [0.1, 0.2]})
    assert model in [other, model]
    assert model not in [other]
    again = pickle.loads(pickle.dumps(first))
    settings = {"draws": 20, "warm_up": 20, "chains": 1, "progress": False}
    assert auxmc.sample(again, **settings)["posterior"].equals(auxmc.sample(first, **settings)["posterior"])


@pytest.mark.parametrize("engine", ["h5netcdf", "netcdf4"])
def test_files_of_both_engines_hold_it(tree, tmp_path, engine):
    pytest.importorskip({"netcdf4": "netCDF4"}.get(engine, engine))
    tree.to_netcdf(tmp_path / "tree.nc", engine=engine)
    with xr.open_datatree(tmp_path / "tree.nc", engine=engine) as found:
        assert found["posterior"].to_dataset().equals(tree["posterior"].to_dataset())


def test_arviz_takes_it(tree, tmp_path):
    assert set(arviz_stats.summary(tree).index) == {"s", "b[0]", "b[1]"}
    arviz = pytest.importorskip("arviz")
    pytest.importorskip("matplotlib").use("Agg")
    # Log likelihoods are the user's to give.
    tree = tree.copy()
    tree["log_likelihood"] = xr.DataTree(xr.Dataset({"y": tree["posterior/b"].rename(b_dim_0="y_dim_0")}))
    tree.to_netcdf(tmp_path / "tree.nc", engine="h5netcdf")
    data = arviz.from_netcdf(tmp_path / "tree.nc")
    if hasattr(data, "to_dataframe"):
        assert {("posterior", "b[0]", 0), ("posterior", "s")} <= set(data.to_dataframe().columns)
    arviz.compare({"one": data, "two": data})
    arviz.loo(data)
    arviz.plot_trace(data)
    arviz.plot_energy(data)
