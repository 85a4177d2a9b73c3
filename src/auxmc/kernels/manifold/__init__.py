"""Constrained Hamiltonian Monte Carlo on manifolds, and its relaxation that allows a distance."""
