"""Runs kernels and streams: blocks of iterations, chains, checkpoints, progress, seeds, result files."""
