"""Hamiltonian and Langevin Monte Carlo, and the adaptation of their step sizes."""
