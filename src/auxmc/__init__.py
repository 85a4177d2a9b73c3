"""Auxiliary-variable Markov chain Monte Carlo and evidence estimation.

The names here are what a user types; each is imported when it is first asked for, so that `import auxmc` takes no time
and changes no setting of JAX.
"""

import importlib
from typing import Any

from auxmc import errors
from auxmc.errors import SamplingWarning

_NAMES = {
    "constrained_hmc": "simulators",
    "constrained_nuts": "simulators",
    "simulator": "simulators",
    "start_on_manifold": "simulators",
    "auxiliary_pseudo_marginal": "estimates",
    "estimated": "estimates",
    "pseudo_marginal": "estimates",
    "from_blackjax": "others.blackjax",
    "from_numpyro": "others.numpyro",
    "from_pymc": "others.pymc",
    "to_blackjax": "others.blackjax",
    "density": "densities",
    "hmc": "densities",
    "nuts": "densities",
    "evidence": "tempered.evidence",
    "evidence_of": "tempered.draws",
    "gaussian": "tempered.bases",
    "replicate": "executors",
    "sample": "sampling",
    "with_symmetry": "symmetry",
    "growing_data": "streams.growing",
    "laplace_evidence": "streams.laplace",
    "row_model": "streams.rows",
    "stream_evidence": "streams.estimate",
    "use_float64": "arguments",
}
_MODULES = ("prior",)

__all__ = ["SamplingWarning", "__version__", "errors", *_MODULES, *_NAMES]  # noqa: F822


def __getattr__(name: str) -> Any:
    """A public name, or the version, which stands in pyproject.toml alone; found when it is asked for.

    Raises:
        AttributeError: there is no such name.
        importlib.metadata.PackageNotFoundError: the package is on the path and was never installed.
    """
    if name == "__version__":
        # Read here alone: the import takes time.
        from importlib.metadata import version

        return version("auxmc")
    if name in _MODULES:
        return importlib.import_module(f"auxmc.interface.{name}")
    if name in _NAMES:
        return getattr(importlib.import_module(f"auxmc.interface.{_NAMES[name]}"), name)
    raise AttributeError(f"module 'auxmc' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
