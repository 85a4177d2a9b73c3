"""One figure style and the panels that studies share."""
