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
    """
    diagnostics
    interface.arguments enable_x64
    interface.calibration check
    interface.densities density hmc nuts
    interface.estimates auxiliary_pseudo_marginal estimated pseudo_marginal
    interface.executors replicate
    interface.others from_blackjax from_numpyro from_pymc
    interface.prior
    interface.recording record
    interface.sampling sample
    interface.simulators constrained_hmc constrained_nuts simulator start_on_manifold
    interface.streams.estimate stream_evidence
    interface.streams.in_memory growing_data laplace_evidence
    interface.streams.rows row_model
    interface.symmetry with_symmetry
    interface.tempered.bases gaussian
    interface.tempered.draws evidence_of
    interface.tempered.evidence evidence
    kernels
    """,
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
