"""Evidence of data sets that grow: time and error in nats, next to dynesty, UltraNest and BlackJAX.

Three models of rows with simulated data: linear regression (6 parameters), softmax regression (44) and a mixture of
five separated normals (25). Float64, the same rows and priors for all. Errors are against the exact evidence of the
linear model, and against importance sampling with 20 000 draws at the mode (the best of 40 optima, times 120 equal
modes, for the mixture) of the others, whose standard errors are below 0.01 nats. Programs of one kind stand together:

* nested sampling: ours with five moves a parameter; dynesty with slices in random directions and multi-ellipsoidal
  bounds, the likelihood compiled; UltraNest with a population of simple slice samplers in mixed directions, as many
  walkers as half the live points, five steps a parameter, one round, the likelihood compiled and vectorised;
* sequential Monte Carlo: ours over chunks that grow by a quarter, moves where the weights ask for them, evidence of
  every such prefix; BlackJAX's adaptive tempered one with an effective sample size of a half, five Hamiltonian moves of
  a quarter of a period at each temperature, their metric the particles' covariance;
* streams, which give the evidence of every prefix: running Laplace and the published estimator with ten particles,
  chunks of 500 rows; and importance sampling with 2000 draws at the best of eight optima (mixture) or at the one from
  zero.

Sizes at which a run of nested sampling or sequential Monte Carlo takes more than some minutes are left out.
"""

from collections.abc import Sequence
from functools import partial

from benchmarks import streaming_peers, streaming_programs
from benchmarks.contract import Benchmark, Program, Run
from benchmarks.streaming_problems import MODELS, Prepare, Sizes, make_problem

__all__ = ["BENCHMARK"]

CPU, ERROR = "CPU time", "error of log evidence"
KINDS: dict[str, dict[str, tuple[Prepare, str]]] = {
    "nested sampling": {
        "auxmc, nested sampling": (streaming_programs.nested, "jax"),
        "dynesty": (streaming_peers.nested_by_dynesty, "dynesty"),
        "UltraNest": (streaming_peers.nested_by_ultranest, "ultranest"),
    },
    "sequential Monte Carlo": {
        "auxmc, growing data": (streaming_programs.growing, "jax"),
        "BlackJAX, tempered SMC": (streaming_peers.tempered_by_blackjax, "blackjax"),
    },
    "streams": {
        "auxmc, running Laplace": (streaming_programs.running, "jax"),
        "auxmc, annealed": (streaming_programs.annealed, "jax"),
        "auxmc, Laplace importance sampling": (streaming_programs.laplace, "jax"),
    },
}
LARGEST = {"nested sampling": 1000, "sequential Monte Carlo": 10_000, "streams": 100_000}


def _programs(kind: str, model: str, n_rows: int, quick: bool) -> Sequence[Program]:
    sizes = Sizes(n_live=50 if quick else 100, n_particles=200)

    def prepared(prepare: Prepare) -> Run:
        problem = make_problem(model, n_rows)
        run = prepare(problem, sizes)

        def measured(seed: int) -> dict[str, float]:
            log_evidence, seconds = run(seed)
            return {CPU: seconds, ERROR: log_evidence - problem.truth}

        return measured

    settings = {
        "nested sampling": f"{sizes.n_live} live points",
        "sequential Monte Carlo": f"{sizes.n_particles} particles",
    }
    return [
        # The published stream estimator is far off, whose time says nothing next to the others'.
        Program(name, partial(prepared, prepare), settings.get(kind, ""), package, "annealed" not in name)
        for name, (prepare, package) in KINDS[kind].items()
    ]


BENCHMARK = Benchmark(
    problems={
        f"{model}, {n_rows:,} rows, {kind}": partial(_programs, kind, model, n_rows)
        for kind in KINDS
        for model in MODELS
        for n_rows in (1000, 10_000, 100_000)
        if n_rows <= LARGEST[kind]
    },
    units={CPU: "s", ERROR: "nats"},
    page_problems=[
        "linear, 1,000 rows, nested sampling",
        "mixture, 1,000 rows, nested sampling",
        "linear, 100,000 rows, sequential Monte Carlo",
        "mixture, 10,000 rows, sequential Monte Carlo",
        "linear, 10,000 rows, streams",
        "mixture, 100,000 rows, streams",
    ],
    quick=[
        "linear, 1,000 rows, nested sampling",
        "linear, 1,000 rows, sequential Monte Carlo",
        "linear, 10,000 rows, streams",
    ],
)
