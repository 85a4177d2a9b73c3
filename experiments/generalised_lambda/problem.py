"""The data and the priors of a case."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from auxmc.data.tables import read_matrix
from auxmc.numerics.array_types import FloatArray
from experiments.generalised_lambda.model import generator
from experiments.generalised_lambda.settings import Settings, batch_values


class Problem(NamedTuple):
    """What a case is about."""

    observations: FloatArray  # data [datum]
    # priors by name, in the order in which chains run under them
    priors: dict[str, generator.LambdaPrior]
    label: str  # name of the data, part of the names of random streams

    def model(self, prior: str) -> generator.GeneralisedLambdaModel:
        """The model under the prior of a name."""
        chosen = self.priors[prior]
        return generator.generalised_lambda_model(self.observations, float(chosen.sd), float(chosen.rate))

    def traced_prior(self, index: Array) -> generator.LambdaPrior:
        """The prior of a number, which may be traced."""
        sd = jnp.asarray([prior.sd for prior in self.priors.values()], dtype=jnp.float64)
        rate = jnp.asarray([prior.rate for prior in self.priors.values()], dtype=jnp.float64)
        place = index.astype(jnp.int32)
        return generator.LambdaPrior(sd[place], rate[place])


def build_problem(settings: Settings) -> Problem:
    """Reads or simulates the data, and resolves the priors; raises DataError or ValueError for unusable data."""
    if settings.data:
        observations, label = read_matrix(settings.data)[:, 0], "own"
    else:
        observations = generator.simulate_observations(settings.data_seed, settings.n_data)
        label = f"seed_{settings.data_seed}_n_{settings.n_data}"
    known = {**generator.PRIORS, "own": generator.LambdaPrior(settings.prior_sd, settings.prior_rate)}
    priors = {str(name): known[str(name)] for name in batch_values(settings, "prior")}
    return Problem(observations, priors, label)
