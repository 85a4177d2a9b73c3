import pytest
from matplotlib.figure import Figure

from auxmc.plots.style import use_style


@pytest.fixture
def axis():
    with use_style():
        yield Figure(figsize=(3.0, 2.0), layout="constrained").subplots()
