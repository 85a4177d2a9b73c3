"""Names of the study's main cases."""

__all__ = ["MAIN_METHODS", "main_case"]

MAIN_METHODS = ("pm_mh", "apm_mi_mh", "apm_ss_mh", "apm_ss_ss")
"""Methods of the main runs, in the order of the published figures."""


def main_case(method: str) -> str:
    """Name of the case that holds the main run of a method."""
    return f"main__method-{method}"
