"""What the noise of mini-batch gradients costs stochastic-gradient Hamiltonian Monte Carlo, to first order.

Both distributions hold once the posterior is narrow, for a learning rate of each row (the step is the rate over the
number of rows) and gradients whose noise is not taken away.
"""


def evidence_loss_per_row(rate: float, batch_size: float, friction: float, trace: float) -> float:
    """Loss of log evidence for each row that gradient noise causes, in nats: lr tr(I) / (4 alpha B), negative.

    The trace is that of the Fisher information of a row, whose eigenvalues count as 1 in the discretisation's factor.
    """
    return -rate * trace / (4.0 * friction * batch_size) / (1.0 - rate / (2.0 * (2.0 - friction)))


def particle_variance_ratio(rate: float, batch_size: float, friction: float, n_rows: float) -> float:
    """Variance of particles over that of the posterior of n_rows rows: 1 + lr n / (2 alpha B)."""
    return 1.0 + rate * n_rows / (2.0 * friction * batch_size)
