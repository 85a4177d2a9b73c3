"""Effective sample sizes, convergence statistics and error estimates of Monte Carlo output."""
