"""The stochastic Lotka-Volterra model."""
