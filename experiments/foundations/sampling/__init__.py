"""Independent draws by transforms, inversion and nested sampling, and product quadrature."""
