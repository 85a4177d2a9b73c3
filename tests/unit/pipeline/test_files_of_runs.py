"""Files that a run reads and no digest of its result covers are those with which kept results were made.

Results say what they were made of by digests of settings, code, and the data that settings name. Files that stand in
the project and are read by code are in none of these: if one changed, kept results would still count as current, and be
wrong without a word. Who changes one on purpose changes its sum here, and makes the results of its study again.
"""

import hashlib

import pytest

from auxmc_pipeline.catalogue import ROOT

# As `sha256sum` prints them.
SUMS = """\
7cc968991a28b3806f6a26927e343d1a7a2e3d109b9c95c85f0673e088b8a158  experiments/generalised_lambda/published_values.csv
4586bd72aa24f847d4f6fba2d13d00b86308b7c777a9e321d3cd132eeb0e6b5e  experiments/lotka_volterra/published_data.csv
df28caf94f4b76d455ada9ada2d084003d9b16f131deb8918f36a8dd4fa0f449  experiments/gp_probit/biopsy.csv
0493e11ce13f3a3510307cba4b200e9e39b6f4c258adf32c60ecd261536fed1c  experiments/image_models/model/digits.npy.xz
dc27a04139923ed425e6246f48ecb4d26b761e350e54c6b2fbf7a85bf8ffa3ef  experiments/radon/radon.csv
"""


@pytest.mark.parametrize("line", SUMS.splitlines())
def test_a_file_that_runs_read_is_that_of_kept_results(line: str) -> None:
    wanted, name = line.split("  ")
    assert hashlib.sha256((ROOT / name).read_bytes()).hexdigest() == wanted
