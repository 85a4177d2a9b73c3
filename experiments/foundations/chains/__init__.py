"""Topics on Markov kernels, slice sampling, Hamiltonian and stochastic-gradient dynamics, coupling from the past."""
