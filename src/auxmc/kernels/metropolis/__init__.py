"""Metropolis-Hastings, Gibbs and other kernels that need values of the density alone."""
