"""Topics on small Boltzmann machines, variational approximations, differentiation and simulators."""
