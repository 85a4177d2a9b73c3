"""Steps so long that many lead back to another point: what the check of reversibility in constrained HMC is for."""

from auxmc.kernels.manifold.constrained_hmc import constrained_hmc
from tests.statistical.kernel_checks import check_invariance
from tests.statistical.test_constrained_invariance import NEWTON, TORUS, draw_torus, run, torus_transform


def test_the_area_of_the_torus_is_unchanged_though_many_steps_cannot_be_reversed() -> None:
    """Steps of 1 on a tube of radius 0.4, in one piece: one trajectory in twenty ends at such a step.

    Accepted, these would move the angle about the tube by seven standard errors of 20 000 replicas.
    """
    kernel = constrained_hmc(TORUS, 1.0, (1, 3), 3, projection=NEWTON)
    check_invariance(run(kernel, draw_torus, torus_transform, "torus/irreversible"), floor=0.2)
