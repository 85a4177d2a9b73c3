"""Solves a problem by one package with one seed, in this process, and prints CPU time and errors."""

import importlib
import json
import logging
import sys
import time
import warnings

import numpy as np


def main() -> None:
    """Arguments: problem, package, seed."""
    name, package, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    answer = importlib.import_module(f"benchmarks.library_comparison.{name}.by_{package}").solve(seed)
    answer = {
        quantity: np.asarray(values) for quantity, values in answer.items()
    }  # arrays of JAX may be to come
    found = {"CPU time": time.process_time()}

    # Not before: the exact answer is no part of the program's time.
    from benchmarks.library_comparison.problems import PROBLEMS

    problem = PROBLEMS[name]
    found["error of moments"] = float(problem.error(answer))
    if "log_evidence" in answer and problem.log_evidence is not None:
        found["error of log evidence"] = abs(float(answer["log_evidence"]) - problem.log_evidence)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
