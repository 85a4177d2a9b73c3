"""What the noise of gradients is predicted to do to the annealed estimator on the linear stream."""

from auxmc.kernels.streams.gradient_noise import evidence_loss_per_row, particle_variance_ratio

_RATE, _BATCH, _FRICTION, _TRACE = 0.1, 500, 0.2, 6.0  # published; tr(I) of a row of the linear stream

NOISES = {  # variations of the linear case: learning rate, batch size, friction
    "default": (_RATE, _BATCH, _FRICTION),
    "learning_rate=0.03": (0.03, _BATCH, _FRICTION),
    "learning_rate=0.3": (0.3, _BATCH, _FRICTION),
    "learning_rate=1": (1.0, _BATCH, _FRICTION),
    "batch_size=200 chunk_size=500": (_RATE, 200, _FRICTION),
    "batch_size=2000 chunk_size=500": (_RATE, 2000, _FRICTION),
    "friction=0.1": (_RATE, _BATCH, 0.1),
    "friction=0.5": (_RATE, _BATCH, 0.5),
}

RATES = {  # of the variations that differ in nothing else
    name: rate for name, (rate, batch, friction) in NOISES.items() if (batch, friction) == (_BATCH, _FRICTION)
}


def predicted_loss(rate: float = _RATE, batch: float = _BATCH, friction: float = _FRICTION) -> float:
    """Loss of log evidence for each row of the linear stream, in nats."""
    return evidence_loss_per_row(rate, batch, friction, _TRACE)


def predicted_ratio(n_rows: float) -> float:
    """Variance of particles over that of the posterior, published settings."""
    return particle_variance_ratio(_RATE, _BATCH, _FRICTION, n_rows)
