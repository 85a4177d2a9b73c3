"""What a figure shows where the tables lack its data."""

from collections.abc import Iterator
from contextlib import contextmanager

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from auxmc.plots.panels import missing_figure, missing_panel
from auxmc_pipeline.tables import MissingData

_MESSAGE = "not run at this preset"


@contextmanager
def empty_where_missing(place: Figure | Axes) -> Iterator[None]:
    """Says on the face of a figure or a panel that there is nothing to draw, where the tables lack what a block reads.

    The block should read before it draws: what it drew stays behind the message.

    Args:
        place: a panel, or a figure with all its panels; a figure without panels gets one.

    >>> with empty_where_missing(figure := Figure()):
    ...     raise MissingData("ess for case nuts: not run at this preset")
    >>> figure.axes[0].texts[0].get_text()
    'not run at this preset'
    """
    try:
        yield
    except MissingData:
        if isinstance(place, Axes):
            missing_panel(place, _MESSAGE)
        else:
            missing_figure(place, _MESSAGE)
