"""Settings of the tempering illustrations. No JAX, no pandas: the Snakefile imports this."""

import dataclasses

from auxmc_pipeline.settings import CaseSettings, SettingsError, setting

TITLE = "Tempering on the line, and variational approximations"
DOCUMENT = "PhD thesis"
SWEEP_QUANTITIES = ("mass_left", "mass_left_error", "acceptance", "base_to_target_fraction")
FIGURES: dict[str, str] = {
    "fig_2_13": "Densities along the path from a broad Gaussian (bottom) to a target with two modes (top), at inverse "
    "temperatures 0 to 1 in fifths, scaled by 3/4 and shifted by their inverse temperature; the energy of the base is "
    "lowered by one nat, as published. Exact: no bands.",
    "fig_bimodal": "Sampling a target with two modes. Top left: densities of target and base. Top right: potential "
    "energy of position and temperature control (lighter is higher), with one long trajectory of the dynamics. Bottom "
    "left: joint density of position and inverse temperature, with the states of one chain as discs whose area grows "
    "with their weight. Bottom right: histogram of one chain of HMC in the target, and weighted histogram of the chain "
    "of continuously tempered HMC.",
    "fig_temperature": "Left: histograms of the inverse temperature of all chains for several log zeta, with the exact "
    "densities as dashed lines. Right: mass left of zero from each of the chains with log zeta = log Z, weighted, with "
    "the exact value.",
    "fig_ladder": "Simulated tempering. Left: estimates of log Z from each chain, from counts of visits to both ends "
    "and from their probabilities given the position (exact value 0). Right: mean number of updates from one end of a "
    "flat ladder to the other; bars +- 3 standard errors over chains, dashed lines of slope 2 and 1.",
    "fig_c_1": "A density on the line and its Laplace approximation: logs (left) and densities (right). Exact: no "
    "bands.",
    "fig_c_2": "A density with a narrow and a broad mode (grey), and the Gaussians that minimise the Kullback-Leibler "
    "divergence KL(p, q) (a), the Renyi divergence of order 1/2 (b) and KL(q, p) (c). Dotted in (b): the published "
    "Gaussian. Quadrature: no bands.",
    "fig_orders": "Standard deviation and mean of the Gaussian with the smallest Renyi divergence from the density of "
    "figure C.2, against the order (left), and the variational Renyi bound of a fixed Gaussian against the order "
    "(right, log Z = 0). Quadrature: no bands.",
}


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: chains on a target with two modes, or quantities that need no chains."""

    design: str = setting(
        "bimodal",
        "chains on the target with two modes, simulated tempering, checks of single steps and of annealed runs, or "
        "exact quantities and variational fits",
        ("bimodal", "ladder", "kernels", "exact"),
    )
    step_size: float = setting(1.0, "leapfrog step of all chains", (1e-6, 100.0))
    n_steps: int = setting(20, "leapfrog steps of an update", (1, 10_000))
    log_zetas: list[float] = setting(
        [-5.0, 0.0, 5.0],
        "guesses of the log normaliser, which is 0 (design bimodal); 0 must be one of them",
        (-100.0, 100.0),
        unit="nats",
    )
    n_hmc_chains: int = setting(100, "chains of HMC in the target (design bimodal)", (1, 100_000))
    n_annealed_temperatures: int = setting(
        10, "intervals of the longest ladder of annealed runs (design kernels)", (3, 1_000_000)
    )
    n_ladder: int = setting(
        20, "intervals of the ladder of simulated tempering (design ladder)", (1, 100_000)
    )
    passage_intervals: list[int] = setting(
        [10, 20, 40, 80], "intervals of the flat ladders that are crossed (design ladder)", (2, 10_000)
    )
    n_passage_draws: int = setting(
        20_000, "updates of a chain on a flat ladder (design ladder)", (100, 100_000_000)
    )
    n_index_draws: int = setting(
        100_000,
        "draws of an index or of an inverse temperature for each energy difference (designs ladder, kernels), and "
        "annealed runs (design kernels)",
        (1000, None),
    )
    n_gradient_draws: int = setting(
        20_000, "draws of gradients of the lower bound (design exact)", (100, 100_000_000)
    )
    gradient_dim: int = setting(20, "dimension in which gradients are compared (design exact)", (1, 10_000))


def check(settings: Settings) -> None:
    """Rules across fields.

    Raises:
        SettingsError: settings that contradict each other.
    """
    if 0.0 not in settings.log_zetas:
        raise SettingsError(f"log_zetas must hold 0, the log normaliser itself, got {settings.log_zetas}")
    if len(set(settings.log_zetas)) < len(settings.log_zetas):
        raise SettingsError(f"log_zetas must be different values, got {settings.log_zetas}")
    if len(set(settings.passage_intervals)) < 2:
        raise SettingsError(
            f"passage_intervals must be at least two different values, got {settings.passage_intervals}"
        )
