"""Evidence of data sets that grow: time and error in nats, next to dynesty, UltraNest and BlackJAX.

Linear regression (6 parameters) and a mixture of five separated normals (25), with simulated data. Float64, the same
rows and priors for all. Errors are against the exact evidence of the linear model, and against importance sampling with
20 000 draws at the best of 40 optima, times 120 equal modes, of the mixture. Programs of one kind stand together:

* nested sampling: ours with five moves a parameter; dynesty with slices in random directions and multi-ellipsoidal
  bounds, the likelihood compiled; UltraNest with a population of simple slice samplers in mixed directions, as many
  walkers as half the live points, five steps a parameter, one round, the likelihood compiled and vectorised;
* sequential Monte Carlo: ours over chunks that grow by a quarter, moves where the weights ask for them, evidence of
  every such prefix; BlackJAX's adaptive tempered one with an effective sample size of a half, five Hamiltonian moves of
  a quarter of a period at each temperature, their metric the particles' covariance;
* streams, which give the evidence of every prefix: running Laplace and the published estimator with ten particles,
  chunks of 500 rows; and importance sampling with 2000 draws at the best of eight optima (mixture) or at the one from
  zero.
"""

from collections.abc import Sequence
from functools import partial

from benchmarks import streaming_peers, streaming_programs
from benchmarks.contract import Benchmark, Program, Run
from benchmarks.streaming_problems import Prepare, make_problem

__all__ = ["BENCHMARK"]

CPU, ERROR = "CPU time", "error of log evidence"
NESTED, MONTE_CARLO, STREAMS = "nested sampling", "sequential Monte Carlo", "streams"
KINDS: dict[str, dict[str, tuple[Prepare, str]]] = {
    NESTED: {
        "auxmc, nested sampling": (streaming_programs.nested, "jax"),
        "dynesty": (streaming_peers.nested_by_dynesty, "dynesty"),
        "UltraNest": (streaming_peers.nested_by_ultranest, "ultranest"),
    },
    MONTE_CARLO: {
        "auxmc, growing data": (streaming_programs.growing, "jax"),
        "BlackJAX, tempered SMC": (streaming_peers.tempered_by_blackjax, "blackjax"),
    },
    STREAMS: {
        "auxmc, running Laplace": (streaming_programs.running, "jax"),
        "auxmc, annealed": (streaming_programs.annealed, "jax"),
        "auxmc, Laplace importance sampling": (streaming_programs.laplace, "jax"),
    },
}


def _programs(kind: str, model: str, n_rows: int, quick: bool) -> Sequence[Program]:
    size, word = (50 if quick else 100, "live points") if kind == NESTED else (200, "particles")

    def prepared(prepare: Prepare) -> Run:
        problem = make_problem(model, n_rows)
        run = prepare(problem, size)

        def measured(seed: int) -> dict[str, float]:
            log_evidence, seconds = run(seed)
            return {CPU: seconds, ERROR: log_evidence - problem.truth}

        return measured

    settings = "" if kind == STREAMS else f"{size} {word}"
    return [
        # The published stream estimator is far off, whose time says nothing next to the others'.
        Program(name, partial(prepared, prepare), settings, package, "annealed" not in name)
        for name, (prepare, package) in KINDS[kind].items()
    ]


BENCHMARK = Benchmark(
    problems={
        f"{model}, {n_rows:,} rows, {kind}": partial(_programs, kind, model, n_rows)
        for kind, model, n_rows in [
            (NESTED, "linear", 1000),
            (NESTED, "mixture", 1000),
            (MONTE_CARLO, "linear", 100_000),
            (MONTE_CARLO, "mixture", 10_000),
            (STREAMS, "linear", 10_000),
            (STREAMS, "mixture", 100_000),
        ]
    },
    units={CPU: "s", ERROR: "nats"},
    quick=["linear, 1,000 rows, nested sampling", "linear, 10,000 rows, streams"],
)
