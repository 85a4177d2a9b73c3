"""Panels, marks of published values and factor graphs that figures of studies share."""
