"""Settings of the streaming evidence study. No JAX, no pandas: the Snakefile imports this."""

import dataclasses
from typing import Any, NamedTuple

from auxmc_pipeline.settings import CaseSettings, SettingsError, check_values, setting

MOVES = ("sghmc", "nose_hoover")  # As auxmc.kernels.streams.contract.DYNAMICS, which imports JAX

MODELS = {  # of simulated streams
    "linear": "linear",
    "softmax": "softmax",
    "softmax_sharp": "softmax",
    "mixture": "mixture",
    "mixture_intermediate": "mixture",
    "mixture_separated": "mixture",
    "mixture_from_prior": "mixture",
    "non_stationary": "mixture",
    "shuffled": "mixture",
}


class MethodSettings(NamedTuple):
    """What sets a method apart from the published annealed estimator."""

    estimator: str = "annealed"  # annealed or sequential; the last two methods are kernels of their own
    resampling: str = "none"  # when particles are drawn again
    cooling_rows: int = 0  # rows from which on the learning rate falls; 0 for never
    control_variates: bool = False  # whether gradients of past rows are taken relative to an anchor
    shared_rows: bool = False  # whether all particles see the same past rows in a step
    schedule: str = "constant"  # how the sizes of chunks begin


METHODS = {
    "annealed": MethodSettings(),
    "sequential": MethodSettings(estimator="sequential", schedule="split"),
    "resampled": MethodSettings(resampling="always"),
    "cooled": MethodSettings(cooling_rows=2000),
    "control_variates": MethodSettings(control_variates=True),
    "corrected": MethodSettings(control_variates=True, resampling="always"),
    "annealed_shared": MethodSettings(shared_rows=True),
    "sequential_shared": MethodSettings(estimator="sequential", shared_rows=True, schedule="split"),
    "running_laplace": MethodSettings(estimator="running_laplace"),
    "nested_updating": MethodSettings(estimator="nested_updating"),
}

BATCHABLE = (  # each is a program of its own, but they share a process and the data
    "stream",
    "method",
    "n_particles",
    "n_moves",
    "batch_size",
    "learning_rate",
    "friction",
    "target_share",
    "cooling_rows",
)
_VARIED = (*BATCHABLE, "n_rows", "chunk_size", "rate_times_moves", "moves")


@dataclasses.dataclass
class Settings(CaseSettings):
    """One case: streaming runs with one or several settings, or what they are compared with."""

    design: str = setting(
        "stream",
        "stream: estimators that see rows as they come; full_data: nested sampling and annealed importance sampling "
        "of all rows; stopping: rules for ending nested sampling; starts: particles that reach good modes; "
        "nested_pair: Bayes factors of two nested linear models; bounds: annealing from the prior and back",
        ("stream", "full_data", "stopping", "starts", "nested_pair", "bounds"),
    )
    stream: str = setting("linear", "simulated stream of rows", tuple(MODELS))
    n_components: int = setting(5, "components of a mixture model", (2, 100))
    n_rows: int = setting(20_000, "rows of the stream", (100, 10_000_000), unit="rows")
    method: str = setting("annealed", "streaming estimator", tuple(METHODS))
    n_repeats: int = setting(3, "independent runs", (1, 1000))
    n_particles: int = setting(10, "particles M", (2, 100_000))
    n_moves: int = setting(20, "stochastic-gradient steps after each change of the target", (1, None))
    rate_times_moves: float = setting(
        0.0, "learning rate times moves, which then gives the number of moves; 0 for n_moves", (0.0, 1e6)
    )
    batch_size: int = setting(500, "past rows in a stochastic gradient", (1, None), unit="rows")
    chunk_size: int = setting(0, "rows of a chunk; 0 for batch_size", (0, None), unit="rows")
    schedule: str = setting(
        "",
        "sizes of the first chunks: as later ones, growing by 20 rows from 20, or growing with an end at 100 rows; "
        "empty for that of the method",
        ("", "constant", "growing", "split"),
    )
    learning_rate: float = setting(0.1, "step size eta times the rows in the target", (1e-9, 1e3))
    friction: float = setting(0.2, "alpha", (1e-6, 1.0))
    moves: str = setting(
        "sghmc",
        "moves of particles: at this friction, or with a thermostat that starts there",
        MOVES,
        added=True,
    )
    target_share: float = setting(
        0.5,
        "effective size that an annealing step keeps, as a part of the particles; of one particle or less: a chunk "
        "comes in at once",
        (0.0, 0.999),
    )
    resampling: str = setting(
        "",
        "when particles are drawn again; empty for that of the method",
        ("", "none", "always", "effective_size", "chunk"),
    )
    cooling_rows: int = setting(
        0, "rows from which on the learning rate falls; 0 for that of the method", (0, None), unit="rows"
    )
    variations: list[str] = setting(
        [],
        "settings that change from run to run: each element changes some of them, as in 'learning_rate=1 n_moves=2' "
        "(design stream)",
    )
    redrawn: bool = setting(
        False, "whether every run has rows of its own (streams that change, design stream)", added=True
    )
    n_hybrid_runs: int = setting(
        0,
        "runs of nested sampling on the first 100 rows that replace the beginning of the sequential estimate",
        (0, 1000),
    )
    n_hybrid_live: int = setting(100, "live points of these runs", (2, None), added=True)
    running_laplace_repeats: int = setting(
        0,
        "runs of the running Laplace estimator, which takes long with many parameters; 0 for n_repeats",
        (0, 1000),
    )
    reference: str = setting(
        "auto",
        "near-exact log evidence of softmax and mixture streams: Laplace importance sampling, or none (linear "
        "regression is always exact)",
        ("auto", "none"),
    )
    sizes: list[int] = setting([100, 1000, 10_000], "rows (full_data, bounds)", (1, 10_000_000), unit="rows")
    annealed_rows: int = setting(
        10_000, "most rows for annealed importance sampling (design full_data)", (0, None), unit="rows"
    )
    few_runs_above: int = setting(
        100_000, "rows above which there are n_few_runs instead of n_repeats (design full_data)", unit="rows"
    )
    n_few_runs: int = setting(
        1, "runs with more rows than few_runs_above, n_repeats if that is fewer (design full_data)", (1, 1000)
    )
    n_temperatures: int = setting(300, "intervals of annealing (design bounds)", (1, 1_000_000), added=True)
    n_start_moves: int = setting(2000, "moves of particles that see all rows (design starts)", (1, None))


class Point(NamedTuple):
    """One combination of settings."""

    settings: Settings  # with the combination put in
    axes: dict[str, str | int | float]  # batched settings, and the variation as it is written


def points(settings: Settings) -> list[Point]:
    """All combinations of batched settings and variations of a case; raises SettingsError for an unreadable one."""
    changes = {name: [(value, {name: value}) for value in values] for name, values in settings.batch.items()}
    if settings.variations:
        changes["variation"] = [(text, _changes(text)) for text in settings.variations]
    found = [Point(dataclasses.replace(settings, batch={}, variations=[]), {})]
    for name, values in changes.items():
        found = [
            Point(dataclasses.replace(p.settings, **change), {**p.axes, name: value})
            for p in found
            for value, change in values
        ]
    return [Point(_resolved(p.settings), p.axes) for p in found]


def check(settings: Settings) -> None:
    """Raises SettingsError for settings that contradict each other."""
    if (settings.batch or settings.variations) and settings.design != "stream":
        raise SettingsError(f"design={settings.design} runs with one setting: leave batch, variations empty")
    for point in points(settings):
        _check_point(point.settings)


def _changes(text: str) -> dict[str, Any]:
    metadata = {field.name: field.metadata for field in dataclasses.fields(Settings)}
    found: dict[str, Any] = {}
    for word in text.split():
        name, _, value = word.partition("=")
        if name not in _VARIED:
            known = ", ".join(_VARIED)
            raise SettingsError(f"variations: {word!r} of {text!r} is not NAME=VALUE with one of {known}")
        kind: type[str] | type[int] | type[float] = type(getattr(Settings, name))
        try:
            found[name] = kind(value)
        except ValueError as error:
            raise SettingsError(f"variations: {name} must be {kind.__name__}, got {value!r}") from error
        check_values(name, [found[name]], metadata[name], "variations")
    if not found:
        raise SettingsError("variations: an element is empty")
    return found


def _resolved(settings: Settings) -> Settings:
    """The settings with the numbers of moves and repeats that others of them give."""
    if settings.rate_times_moves:
        n_moves = max(1, round(settings.rate_times_moves / settings.learning_rate))
        settings = dataclasses.replace(settings, n_moves=n_moves, rate_times_moves=0.0)
    if settings.method == "running_laplace" and settings.running_laplace_repeats:
        settings = dataclasses.replace(settings, n_repeats=settings.running_laplace_repeats)
    return settings


def _check_point(settings: Settings) -> None:
    if settings.stream in ("non_stationary", "shuffled") and settings.n_rows > 100_000:
        raise SettingsError(
            f"n_rows must be at most 100000 for stream={settings.stream}, which has no more rows, got {settings.n_rows}"
        )
    if MODELS[settings.stream] != "linear" and settings.design in ("nested_pair", "stopping", "bounds"):
        raise SettingsError(f"design={settings.design} is about stream=linear, got {settings.stream}")
    if MODELS[settings.stream] != "mixture" and settings.design == "starts":
        raise SettingsError(f"design=starts is about streams of mixtures, got {settings.stream}")
    if settings.design in ("full_data", "bounds") and settings.sizes != sorted(set(settings.sizes)):
        raise SettingsError(f"sizes must be different and increase, got {settings.sizes}")
    smallest = 20 if settings.schedule or METHODS[settings.method].schedule != "constant" else 1
    if (size := settings.chunk_size or settings.batch_size) < smallest:
        raise SettingsError(
            f"chunk_size must be at least {smallest} rows, where growing chunks begin, got {size}"
        )
