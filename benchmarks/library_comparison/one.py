"""Solves a problem by one package with one seed and prints how far the answer is off, for `run.py`."""

import importlib
import json
import logging
import sys
import warnings

from exact import PROBLEMS


def main() -> None:
    """Arguments: problem, package, seed."""
    name, package, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    problem = PROBLEMS[name]
    answer = importlib.import_module(f"{name}.by_{package}").solve(seed)
    found = {"error": float(problem.error(answer))}
    if "log_evidence" in answer:
        found["log_evidence"] = float(answer["log_evidence"])
        found["standard_error"] = float(answer["standard_error"])
    print(json.dumps(found))


if __name__ == "__main__":
    main()
