"""Poses of a body, seen by cameras."""
