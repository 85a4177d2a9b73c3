"""Boltzmann machines and their relaxations."""
