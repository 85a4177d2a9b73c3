"""Where in the code something stands: what draws a figure, measures a claim, or is used by a study."""
