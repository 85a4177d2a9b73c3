"""Bone lengths of the human pose study: a log-normal distribution from published proportions. NumPy only.

Fractions of stature are of Drillis and Contini (*Body segment parameters*, New York University, 1966), in D. A. Winter,
*Biomechanics and Motor Control of Human Movement*, figure 4.1: heights of 0.285 (knee), 0.530 (hip), 0.630 (elbow,
at the waist), 0.818 (shoulder) and 0.870 (chin), and a foot of 0.152. Ours are stature, spreads, the lower spine at
the height of the waist, and the fraction of the foot behind the toes.
"""

import math

import numpy as np

from auxmc.numerics.array_types import FloatArray
from experiments.human_pose.model.skeleton import BONE_NAMES

FRACTIONS = {  # Length of each bone as a fraction of stature.
    "waist": 0.100,
    "mid-spine": 0.188,
    "spine": 0.240,
    "head": 0.130,
    "half-shoulder": 0.129,
    "upper-arm": 0.186,
    "lower-arm": 0.146,
    "hand": 0.108,
    "half-hip": 0.0955,
    "upper-leg": 0.245,
    "lower-leg": 0.246,
    "back-foot": 0.105,
    "fore-foot": 0.047,
}

MEDIAN_STATURE_M = 1.70  # Median stature of adults of both sexes, in metres
STATURE_SPREAD = 0.055  # Standard deviation of the log of stature: 9.5 cm about the median
# Standard deviation of the log of a bone's fraction of stature, independent between bones.
RESIDUAL_SPREAD = 0.04


def log_length_distribution() -> tuple[FloatArray, FloatArray]:
    """Mean [13] and upper Cholesky factor R [13, 13] of log lengths in log metres; stature correlates bones by 0.65."""
    mean = np.array([math.log(FRACTIONS[name] * MEDIAN_STATURE_M) for name in BONE_NAMES])
    n_bones = len(BONE_NAMES)
    covariance = STATURE_SPREAD**2 * np.ones((n_bones, n_bones)) + RESIDUAL_SPREAD**2 * np.eye(n_bones)
    factor = np.asarray(np.linalg.cholesky(covariance).T, dtype=np.float64)
    return mean, factor
