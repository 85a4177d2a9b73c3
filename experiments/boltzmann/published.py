"""Numbers of the author's files and of the published figure, which claims compare with."""

from typing import NamedTuple

__all__ = ["FIGURE_ANNEALED", "FIGURE_CURVES", "FILES", "RUN_TIME_S", "PublishedFile"]


class PublishedFile(NamedTuple):
    """Values of one of the author's ten systems of 30 units.

    Attributes:
        weight_1_2: element (1, 2) of the weights.
        weight_13_30: element (13, 30).
        bias_1: first bias.
        log_z: log normaliser of the relaxation with the author's diagonal, in nats.
        mean_norm: Euclidean norm of E[x].
        largest_variance: largest eigenvalue of the covariance of x.
        log_zeta: log normaliser of the variational base, in nats.
    """

    weight_1_2: float
    weight_13_30: float
    bias_1: float
    log_z: float
    mean_norm: float
    largest_variance: float
    log_zeta: float


# Source: files params_and_moms_i.npz and var_moms_i.npz, i = 0 to 9, of the author's repository.
FILES = tuple(
    PublishedFile(*values)
    for values in (
        (-0.26258618642849463, -0.8284380516243898, 0.0532386000394117, 171.71477328237012, 4.659104027199995,
         163.29631281509518, 172.34495277746066),
        (0.07172659429772621, -0.03281482673553392, -0.0721017391273513, 173.82127491841243, 0.6251942995390302,
         215.50006184557947, 174.38267182703598),
        (-1.1148797007157658, -0.37768286021549624, 0.035289377681889576, 173.80047762691214, 7.3702172548149205,
         230.09471288577078, 174.86831764666377),
        (0.10248315231406546, 0.4483575445570557, -0.10207601767318158, 175.11981171132442, 2.7958218561610066,
         74.1140281275152, 174.61607965759492),
        (-0.3303722774350355, -0.757475478752724, -0.05007692811229175, 165.9045375446521, 3.814912310192584,
         157.9048368115184, 165.99651716159917),
        (0.7890070372774074, 0.731634345111261, -0.11108277602321899, 178.1572266659649, 7.27447351916677,
         114.06384989151067, 178.07324407424176),
        (0.30626960780884416, 0.7193472543288957, 0.16138308518628974, 173.09609021106976, 3.4376855263737203,
         272.6231895224679, 174.23484036676422),
        (0.4621739167702889, 1.4083475746896166, 0.08693434941279743, 174.55606727325895, 2.5614666640279915,
         104.8527323238053, 174.95533956958116),
        (-0.7527063829577189, -0.9109885020708384, -0.1476981671093796, 167.83060612819168, 1.0248058309118482,
         308.2369925889435, 169.6859080870072),
        (-0.09789162305101021, 1.7163773613897593, 0.10013085704750171, 174.2402915602906, 2.542259636053131,
         155.651762816646, 174.09351670368136),
    )
)  # fmt: skip

# Relative errors of thesis figure 5.2, by error and method: samples of a chain, value. Nested pooling.
FIGURE_CURVES: dict[str, dict[str, tuple[tuple[int, float], ...]]] = {
    "log_z": {
        "st": ((1, 34.17), (2001, 1.088), (9801, 0.3302), (19801, 0.191)),
        "gibbs_ct": ((1, 41.8), (2001, 0.7829), (9801, 0.2615), (29801, 0.1628)),
        "ct_hmc": ((1, 19.1), (2001, 0.4736), (9801, 0.1528), (24801, 0.1275)),
    },
    "mean": {
        "st": ((1, 6.202), (2001, 0.6303), (9801, 0.3434), (19801, 0.2685)),
        "gibbs_ct": ((1, 5.605), (2001, 0.564), (9801, 0.3299), (29801, 0.2587)),
        "ct_hmc": ((1, 4.243), (2001, 0.5662), (9801, 0.2926), (24801, 0.2125)),
    },
    "covariance": {
        "st": ((1, 3.305), (2001, 0.6882), (9801, 0.3515), (19801, 0.2591)),
        "gibbs_ct": ((1, 3.007), (2001, 0.5615), (9801, 0.3349), (29801, 0.2452)),
        "ct_hmc": ((1, 2.821), (2001, 0.5414), (9801, 0.3099), (24801, 0.2293)),
    },
}

# Relative errors of annealed importance sampling: number of temperatures, value, published band.
FIGURE_ANNEALED: dict[str, tuple[tuple[int, float, float, float], ...]] = {
    "log_z": ((1000, 1.257, 0.6453, 2.148), (5000, 0.4689, 0.3054, 0.6767), (10_000, 0.6245, 0.3669, 0.9412)),
    "mean": ((1000, 0.898, 0.7723, 1.04), (5000, 0.7704, 0.6622, 0.8876), (10_000, 0.6717, 0.571, 0.7864)),
    "covariance": (
        (1000, 0.8897, 0.8057, 0.9824),
        (5000, 0.8399, 0.7337, 0.9673),
        (10_000, 0.7373, 0.6398, 0.8455),
    ),
}

# Labels of the time axis at the ends of the curves, seconds a repeat.
RUN_TIME_S = {"st": 87.54, "gibbs_ct": 76.18, "ct_hmc": 72.11}
