"""What the study declares. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.streaming_evidence.settings import BATCHABLE, Settings, check

_BAND = "Lines: median over runs; bands: their whole range."
_TIMES = (
    "Processor time on one core, compiling excluded: one run of a streaming method gives all numbers of rows, the "
    "others are run again for each (dotted: what they need for all numbers of rows up to there)."
)
_SENSITIVITY = (
    "the annealed estimator on the mixture stream. (a) Log evidence per row; grey: near-exact value at the largest "
    f"number of rows. (b) Processor time. (c) Annealing steps of a chunk. {_BAND}"
)
FIGURES = {
    "fig_5_1": "The non-stationary stream: two-dimensional histograms of its rows in the three phases, which have "
    "three, five and seven clusters, and of all rows. Colours: rows in a cell, as a part of the fullest cell.",
    "fig_5_2": f"Linear regression: (a) log evidence per row; (b) processor time. {_BAND} {_TIMES}",
    "fig_5_3": f"Softmax regression: (a) log evidence per row; (b) processor time. {_BAND} {_TIMES}",
    "fig_5_4": f"Gaussian mixture: (a) log evidence per row; (b) processor time. {_BAND} {_TIMES}",
    "fig_5_5": f"Linear regression: (a) log evidence per row; (b) processor time. {_BAND} {_TIMES}",
    "fig_5_6": f"Softmax regression: (a) log evidence per row; (b) processor time. {_BAND} {_TIMES}",
    "fig_5_7": f"Gaussian mixture: (a) log evidence per row; (b) processor time. {_BAND} {_TIMES}",
    "fig_5_8": "The non-stationary stream. (a) Log evidence per row of mixtures of 3, 5 and 7 components, rows in "
    "order (solid) and shuffled (dashed). (b) Annealing steps of a chunk, rows in order. Vertical lines: changes of "
    f"the data. {_BAND}",
    "fig_5_9": f"Number of particles (target size half of it): {_SENSITIVITY}",
    "fig_5_10": f"Moves after each annealing step: {_SENSITIVITY}",
    "fig_5_11": f"Rows of a mini-batch and of a chunk: {_SENSITIVITY}",
    "fig_5_12": f"Target size, of 10 particles: {_SENSITIVITY}",
    "fig_5_13": f"Learning rate per row, 20 moves: {_SENSITIVITY}",
    "fig_5_14": f"Learning rate per row, learning rate times moves kept: {_SENSITIVITY}",
    "fig_errors": "Absolute error in nats of all methods against rows absorbed, with lines at one nat and at a "
    f"thousandth of the log evidence. Exact values for linear regression, Laplace importance sampling else. {_BAND}",
    "fig_floor": "Linear regression, where everything is known. Left: error per row of the annealed estimator against "
    "the learning rate, with the prediction as a dashed line. Middle: variance of the particles over the "
    "posterior variance, with the prediction. Right: errors with the published settings and with what lowers them. "
    f"{_BAND}",
}

STUDY = Study(
    name="streaming_evidence",
    title="Evidence of streams of rows by annealed importance sampling with stochastic gradients",
    document="MSc thesis",
    schema=Settings,
    sweep_quantities=(
        "final_log_evidence_per_row",
        "final_error_per_row",
        "final_error",
        "steps_per_chunk",
        "seconds_total",
    ),
    batchable=BATCHABLE,
    claims=("claims_annealed", "claims_evidence", "claims_settings"),
    check=check,
    figures=FIGURES,
)
