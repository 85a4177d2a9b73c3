"""The generalised lambda distribution, known by its quantile function alone."""
