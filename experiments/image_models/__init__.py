"""Evidence of images under generative models by continuous tempering, simulated tempering and annealing."""
