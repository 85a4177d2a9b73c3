"""Human pose from images of joints: constrained HMC against HMC."""
