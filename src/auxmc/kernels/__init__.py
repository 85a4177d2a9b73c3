"""Transition operators, one folder a family; `base` holds their contract."""
