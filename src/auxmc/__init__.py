"""Auxiliary-variable Markov chain Monte Carlo and evidence estimation.

The names here are what a user types; each is imported when it is first asked for, so that `import auxmc` takes no time
and changes no setting of JAX. Methods take a model and go to `auxmc.sample`; a kernel of the same name, in
`auxmc.kernels`, is the algorithm on functions and positions.
"""

from typing import Any

from auxmc import errors
from auxmc.errors import SamplingWarning
from auxmc.numerics.lazy import lazy_names

_names, _find, _ = lazy_names(
    __name__,
    {
        "auxmc.diagnostics": "",
        "auxmc.interface.arguments": "use_float64",
        "auxmc.interface.calibration": "check",
        "auxmc.interface.densities": "density hmc nuts",
        "auxmc.interface.estimates": "auxiliary_pseudo_marginal estimated pseudo_marginal",
        "auxmc.interface.executors": "replicate",
        "auxmc.interface.others.blackjax": "from_blackjax to_blackjax",
        "auxmc.interface.others.numpyro": "from_numpyro",
        "auxmc.interface.others.pymc": "from_pymc",
        "auxmc.interface.prior": "",
        "auxmc.interface.recording": "record",
        "auxmc.interface.sampling": "sample",
        "auxmc.interface.simulators": "constrained_hmc constrained_nuts simulator start_on_manifold",
        "auxmc.interface.streams.estimate": "stream_evidence",
        "auxmc.interface.streams.growing": "growing_data",
        "auxmc.interface.streams.laplace": "laplace_evidence",
        "auxmc.interface.streams.rows": "row_model",
        "auxmc.interface.symmetry": "with_symmetry",
        "auxmc.interface.tempered.bases": "gaussian",
        "auxmc.interface.tempered.draws": "evidence_of",
        "auxmc.interface.tempered.evidence": "evidence",
        "auxmc.kernels": "",
    },
)
__all__ = ["SamplingWarning", "__version__", "errors", *_names]  # noqa: F822


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
    return _find(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
