"""What `auxmc stream` lets a user set: estimators, and the settings of each with their defaults."""

from typing import Any, NamedTuple

__all__ = ["ESTIMATORS", "SETTINGS", "Setting"]

ESTIMATORS = {
    "running_laplace": "exact moves among the first rows, then a running Gaussian that every chunk corrects; the most "
    "accurate where one mode holds the mass",
    "annealed": "each chunk is brought in along a path of powers of its likelihood; the published method",
    "sequential": "each chunk is scored by particles that have not seen it; the quickest",
}
"""Estimators and what they are."""


class Setting(NamedTuple):
    """An option that is a setting of an estimator.

    Attributes:
        field: name in the settings of the kernel.
        kind: type of the value.
        help: what it does.
        defaults: value for each estimator that has it; None stands for what `help` says.
    """

    field: str
    kind: Any
    help: str
    defaults: dict[str, Any]


def _of_gradients(value: Any) -> dict[str, Any]:
    return {"annealed": value, "sequential": value}


# Repeated from the kernels, so that the help needs none of their libraries; a test holds them equal.
SETTINGS = {
    "--particles": Setting("n_particles", int, "particles", {**_of_gradients(10), "running_laplace": 100}),
    "--moves": Setting(
        "n_moves",
        int,
        "moves after each change of the target (running_laplace: among the first rows)",
        {**_of_gradients(20), "running_laplace": 3},
    ),
    "--batch-size": Setting(
        "batch_size",
        int,
        "past rows drawn for each stochastic-gradient step and particle",
        _of_gradients(500),
    ),
    "--learning-rate": Setting(
        "learning_rate", float, "step of the stochastic gradient times the number of rows", _of_gradients(0.1)
    ),
    "--friction": Setting(
        "friction", float, "share of velocity lost in a step, in (0, 1]", _of_gradients(0.2)
    ),
    "--gradient-noise": Setting(
        "gradient_noise",
        float,
        "half the variance of the gradient's noise, where it is known; at most friction times rows over learning rate",
        _of_gradients(0.0),
    ),
    "--control-variates": Setting(
        "control_variates",
        bool,
        "take gradients of past rows relative to those at an anchor of each particle: more work a row, a bias that "
        "is smaller by far",
        _of_gradients(False),
    ),
    "--cooling-rows": Setting(
        "cooling_rows",
        int,
        "rows from which on the learning rate falls with the number of rows (default: never)",
        _of_gradients(None),
    ),
    "--target-size": Setting(
        "target_size",
        float,
        "effective number of particles that an annealing step keeps (default: half of the particles)",
        {"annealed": None},
    ),
    "--resampling": Setting(
        "resampling",
        str,
        "when particles are drawn anew: none, always, effective_size or chunk",
        {"annealed": "none"},
    ),
    "--max-annealing-steps": Setting(
        "max_annealing_steps",
        int,
        "after which a chunk is given up as it is, and counted",
        {"annealed": 1000, "running_laplace": 1000},
    ),
    "--leapfrog": Setting(
        "n_leapfrog", int, "mean number of leapfrog steps of a move", {"running_laplace": 6}
    ),
    "--draws": Setting(
        "n_draws", int, "importance draws of a chunk once the Gaussian is there", {"running_laplace": 400}
    ),
    "--first-fit": Setting(
        "first_fit", int, "rows at which a Gaussian is first tried", {"running_laplace": 2000}
    ),
    "--least-fit": Setting(
        "least_fit",
        float,
        "effective share of draws from the Gaussian from which on it takes the place of the particles",
        {"running_laplace": 0.3},
    ),
    "--exact-rows": Setting(
        "exact_rows", int, "rows at which the Gaussian is taken in any case", {"running_laplace": 12_000}
    ),
}
"""Options that are settings of estimators."""
