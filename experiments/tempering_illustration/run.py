# Question: how does continuous tempering move between modes, and what do variational approximations miss, where
# everything is known? Source: PhD thesis, figure 2.13, sections 2.3.3 and 5.2 to 5.5, appendix C.
# One case: python -m auxmc_pipeline.steps.run study=tempering_illustration design=bimodal out=x.nc
"""Dispatches a case to its design."""

import xarray as xr

from auxmc.driver.seeds import stream
from auxmc_pipeline.chains import RunContext
from experiments.tempering_illustration.bimodal import run_bimodal, run_moments
from experiments.tempering_illustration.exact import path_curves, path_statistics
from experiments.tempering_illustration.fits import fit_groups
from experiments.tempering_illustration.kernel_checks import annealing_statistics, kernel_statistics
from experiments.tempering_illustration.ladder import run_ladder, run_weights
from experiments.tempering_illustration.settings import Settings


def run(settings: Settings, context: RunContext) -> dict[str, xr.Dataset]:
    """Runs one case; returns group `statistics`, and `curves` where there are any."""
    of_chains = {"bimodal": run_bimodal, "moments": run_moments, "ladder": run_ladder, "weights": run_weights}
    if settings.design in of_chains:
        return of_chains[settings.design](settings, context)
    if settings.design == "kernels":
        checks = kernel_statistics(settings, context).merge(annealing_statistics(settings, context))
        return {"statistics": checks}
    key = stream(context.seed, context.study, "gradients")
    statistics, curves = fit_groups(settings.n_gradient_draws, settings.gradient_dim, key)
    return {"statistics": statistics.merge(path_statistics()), "curves": curves.merge(path_curves())}
