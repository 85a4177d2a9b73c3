"""Changes in a stream of rows: chunks that a model which has followed the stream predicts worse than those before."""

import itertools
import math
import statistics
from collections import deque
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

# Median absolute deviation of a normal distribution in units of its standard deviation.
_DEVIATION = 0.6745
# Chunks that say how scores scatter, the last of them, which say what is expected next (few, for a model that learns),
# and those that must be there before any is judged.
_WINDOW, _RECENT, _FEWEST = 20, 6, 2
# Drop of one score that is flagged, in standard deviations of its prediction.
_JUMP = 5.0
# Lasting drop that is tolerated, in standard deviations of a chunk, and sum of drops beyond it that is flagged.
_DRIFT, _TOTAL = 0.75, 12.0
# Standard deviation of a row's score before anything is known of it, in nats, and chunks that it counts for. That of a
# normal distribution of d columns is sqrt(d / 2).
_ROW_SPREAD, _WEIGHT = 1.0, 4.0


class ChunkScores(NamedTuple):
    """Scores log p(chunk | rows before it) / rows of the chunk, in nats, and these rows [chunk]."""

    per_row: np.ndarray
    n_rows: np.ndarray


class ChangePoint(NamedTuple):
    """A chunk before or in which the stream has changed.

    Attributes:
        chunk: counted from 0.
        first_row: of the chunk, counted from 1.
        last_row: of the chunk.
        score: of the chunk, in nats a row.
        expected: median of those before.
        size: how many standard deviations the drop is (jump), or the sum of drops (drift).
        kind: "jump" or "drift".
    """

    chunk: int
    first_row: int
    last_row: int
    score: float
    expected: float
    size: float
    kind: str


def chunk_scores(
    log_evidence: ArrayLike, n_rows: ArrayLike, log_evidence_before: float = 0.0, n_rows_before: int = 0
) -> ChunkScores:
    """Predictive scores of chunks from a running record.

    Args:
        log_evidence: of all rows up to the end of each chunk, in nats [chunk].
        n_rows: rows up to there [chunk].
        log_evidence_before: of the rows before the first of these chunks.
        n_rows_before: rows before the first of these chunks.
    """
    counts = np.diff(np.asarray(n_rows), prepend=n_rows_before).astype(np.int64)
    with np.errstate(invalid="ignore"):
        gains = np.diff(np.asarray(log_evidence, dtype=np.float64), prepend=log_evidence_before)
    return ChunkScores(gains / counts, counts)


def change_points(log_scores_per_row: ArrayLike, n_rows: ArrayLike) -> list[ChangePoint]:
    """Finds chunks that are predicted worse than those before lead to expect.

    A score is compared with the median of the scores before it. Their standard deviation is taken from the median of
    the differences of neighbours, which a trend does not widen, with lengths of chunks allowed for. One large drop is a
    jump; small ones that last add up (a one-sided CUSUM, whose reference stays while the sum is positive). After a
    change the window begins again. Rises are no change: a model that learns predicts better and better.

    For scores of independent rows there are 0.01 to 0.2 false alarms in 200 chunks, the more the heavier their tails.

    Args:
        log_scores_per_row: see `ChunkScores` [chunk].
        n_rows: rows of each chunk, not of all up to it [chunk].

    Raises:
        ValueError: If the lengths differ.

    Source: Page 1954 (cumulative sums); the rule itself is this project's.

    >>> [found.first_row for found in change_points([-1.0, -1.1, -0.9, -1.0, -3.0, -1.0], [50] * 6)]
    [201]
    """
    scores, counts = np.asarray(log_scores_per_row, dtype=np.float64), np.asarray(n_rows)
    if scores.shape != counts.shape or scores.ndim != 1:
        raise ValueError(f"expected a score and a number a chunk, got {scores.shape} and {counts.shape}")
    detector = DropDetector()
    found = (detector.see(float(score), int(count)) for score, count in zip(scores, counts, strict=True))
    return [change for change in found if change is not None]


class DropDetector:
    """The rule of `change_points` for chunks as they come; its memory is the window."""

    def __init__(self) -> None:
        self._window: deque[tuple[float, int]] = deque(maxlen=_WINDOW)
        self._sum = self._reference = self._allowance = 0.0
        self._chunk = self._row = 0

    def see(self, score: float, n_rows: int) -> ChangePoint | None:
        """Judges the next chunk by its score log p(chunk | rows before it) / n_rows; None for no change."""
        change = self._judge(score, n_rows) if len(self._window) >= _FEWEST else None
        if change is None:
            self._window.append((score, n_rows))
        else:
            # The chunk itself is as badly predicted as no later one will be, so it says nothing of them.
            self._window.clear()
            self._sum = 0.0
        self._chunk += 1
        self._row += n_rows
        return change

    def _judge(self, score: float, n_rows: int) -> ChangePoint | None:
        scores = [before for before, _ in self._window]
        recent = scores[-_RECENT:]
        expected = statistics.median(recent)
        per_chunk = self._spread() / math.sqrt(n_rows)
        # The median of few is itself uncertain, here and in the allowance of the sum.
        jump = (expected - score) / (per_chunk * math.sqrt(1.0 + math.pi / (2.0 * len(recent))))
        if self._sum == 0.0:
            self._reference = statistics.median(scores)
            self._allowance = _DRIFT + math.sqrt(math.pi / (2.0 * len(scores)))
        self._sum = max(0.0, self._sum + (self._reference - score) / per_chunk - self._allowance)
        if jump > _JUMP:
            kind, size = "jump", jump
        elif self._sum > _TOTAL:
            kind, size, expected = "drift", self._sum, self._reference
        else:
            return None
        return ChangePoint(self._chunk, self._row + 1, self._row + n_rows, score, expected, size, kind)

    def _spread(self) -> float:
        """Standard deviation of a row's score, in nats: that of the window with the one assumed before it."""
        differences = [
            abs(score - before) / math.sqrt(1.0 / rows + 1.0 / rows_before)
            for (before, rows_before), (score, rows) in itertools.pairwise(self._window)
        ]
        n = len(differences)
        seen = statistics.median(differences) / _DEVIATION
        return math.sqrt((_WEIGHT * _ROW_SPREAD**2 + n * seen**2) / (_WEIGHT + n))
