"""Log normaliser and moments of Boltzmann machine relaxations by tempering."""
