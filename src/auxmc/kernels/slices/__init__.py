"""Slice samplers: along a line or a direction, with reflections, on ellipses."""
