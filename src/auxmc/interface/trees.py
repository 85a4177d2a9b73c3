"""Draws of chains as an ArviZ tree."""

import datetime
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from auxmc.driver.blocks import Samples
from auxmc.driver.provenance import package_versions
from auxmc.interface.advice import DIVERGED_NATS


def tree_of(samples: Sequence[Samples], n_warm_up: int) -> xr.DataTree:
    """Groups of the draws of chains, recorded as "group.variable" [1, iteration, ...], and of their warm-up."""
    groups: dict[str, dict[str, np.ndarray]] = {}
    for name in samples[0].draws:
        group, _, variable = name.partition(".")
        array = np.concatenate([chain.draws[name] for chain in samples], axis=0)
        groups.setdefault(group, {})[variable] = array[:, n_warm_up:]
        if n_warm_up:
            groups.setdefault(f"warmup_{group}", {})[variable] = array[:, :n_warm_up]
    for name, variables in groups.items():
        if name.endswith("sample_stats") and "energy_change" in variables:
            variables["diverging"] = ~(variables["energy_change"] <= DIVERGED_NATS)
    return xr.DataTree.from_dict({name: dataset_of(groups[name]) for name in sorted(groups)})


def dataset_of(variables: Mapping[str, np.ndarray]) -> xr.Dataset:
    """Arrays [chain, draw, ...] as a dataset whose dimensions are named and numbered as ArviZ does it."""
    found = xr.Dataset(
        {
            name: (("chain", "draw", *(f"{name}_dim_{i}" for i in range(array.ndim - 2))), array)
            for name, array in variables.items()
        }
    )
    return found.assign_coords({str(dim): np.arange(size) for dim, size in found.sizes.items()})


def library_attributes() -> dict[str, str]:
    """What made a tree, and when: attributes as ArviZ names them."""
    about = package_versions()
    return {
        "created_at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "inference_library": "auxmc",
        "inference_library_version": about["packages"]["auxmc"],
        **{f"{name}_version": about["packages"][name] for name in ("jax", "jaxlib", "numpy")},
        "python_version": about["python"],
    }
