"""Tempering between a base and a target on the line, where everything is known."""
