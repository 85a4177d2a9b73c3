"""Benchmarks make their problems and name their programs; rows are kept, gone on with, and shown with their spread."""

import re
import tomllib
from functools import partial

import pandas as pd
import pytest

from benchmarks import __main__ as command
from benchmarks import harness, pages
from benchmarks.constrained_hmc import smallest_ess
from benchmarks.harness import ROOT, Benchmark, Program, add, measure, own_process, read

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
PEERS = {re.split(r"\W", requirement)[0] for requirement in EXTRAS["bench"]}


BENCHMARKS = {name: command.benchmark_of(name) for name in command.MODULES}


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_has_programs_with_names_of_their_own(name):
    benchmark = BENCHMARKS[name]
    assert set(benchmark.quick) <= set(benchmark.problems)
    for problem, programs in benchmark.problems.items():
        names = [program.name for program in programs]
        assert names
        assert len(set(names)) == len(names), problem
        assert set(benchmark.of_other_quality) & set(names) < set(names)


def test_the_page_has_the_tables_of_the_rows_that_were_kept():
    page = pages.PAGE.read_text()
    assert pages.with_tables(page, read(), BENCHMARKS) == page
    assert pages.with_tables(page, read()[:0], BENCHMARKS).count("Not measured yet.") == len(BENCHMARKS)


def test_every_package_that_the_comparisons_install_is_compared_with():
    problems = [problem for benchmark in BENCHMARKS.values() for problem in benchmark.problems.values()]
    assert {program.package for programs in problems for program in programs} == PEERS | {"jax", "blackjax"}
    locked = (ROOT / "benchmarks" / "requirements.lock").read_text()
    assert {re.split(r"\W", name)[0] for name in re.findall(r"^([\w.-]+)==", locked, re.M)} >= PEERS


def _toy(calls, **options):
    """Two programs of known time; the first takes half as long."""

    def run(name, seconds, i):
        calls.append((name, i))
        return {"CPU time": seconds * (1 + i % 3), "error": 0.5}

    programs = [
        Program("ours", lambda quick: partial(run, "ours", 1.0)),
        Program("other", lambda quick: partial(run, "other", 2.0)),
    ]
    return Benchmark(
        problems={"a": programs, "b": programs},
        units={"CPU time": "s", "error": "nats"},
        quick=["a"],
        **{"repeats": 3} | options,
    )


def test_programs_are_measured_in_turns_and_ratios_are_beside_the_first(tmp_path):
    calls = []
    assert measure("toy", _toy(calls), True, 2, path=tmp_path / "table.csv") == 0
    assert [name for name, _ in calls[:6]] == ["ours", "other", "other", "ours", "ours", "other"]
    assert {i for _, i in calls} == set(range(6)), "no two measurements share their random numbers"
    rows = read(tmp_path / "table.csv")
    assert set(rows["problem"]) == {"a"}
    assert len(rows) == 2 * 2 * 2, "medians over repeats: of two programs, seeds and quantities"
    ratios = {(program, seed): ratio for seed in (0, 1) for program, ratio in (("ours", 1.0), ("other", 2.0))}
    assert pages.ratios(rows, _toy([])).to_dict() == ratios
    assert rows["load"].notna().all()
    assert rows["versions"].str.contains("jax").all()


def test_what_is_kept_is_not_measured_again(tmp_path):
    calls = []
    path, benchmark = tmp_path / "table.csv", _toy(calls)
    measure("toy", benchmark, True, 1, path=path)
    kept = read(path)
    measure("toy", benchmark, True, 2, path=path)
    assert [i for _, i in calls[6:]] == [3, 3, 4, 4, 5, 5]
    # A load that happens to be an integer is read as one.
    pd.testing.assert_frame_equal(read(path)[: len(kept)], kept, check_dtype=False)
    add(kept.assign(value=7.0), True, path)
    measure("toy", benchmark, True, 1, again=True, path=path)
    assert [i for _, i in calls[12:]] == [0, 0, 1, 1, 2, 2]
    assert len(read(path)) == 2 * len(kept)
    assert (read(path)["value"] != 7.0).all(), "rows measured again take the place of the old ones"


def test_times_of_another_machine_are_replaced_and_other_values_stay(tmp_path):
    path, rows = tmp_path / "table.csv", _rows([1.0, 2.0], load=1.0)
    add(rows.assign(machine="old"), True, path)
    add(rows[:1], False, path)
    assert list(read(path)["machine"]) == ["old", "m"]
    add(rows[:1], True, path)
    assert list(read(path)["machine"]) == ["m"]


def test_an_interrupted_run_keeps_the_seeds_that_are_finished(tmp_path):
    def stops(i):
        if i == 2:
            raise KeyboardInterrupt
        return {"CPU time": 1.0}

    benchmark = Benchmark({"a": [Program("ours", lambda quick: stops)]}, {"CPU time": "s"}, ["a"])
    with pytest.raises(KeyboardInterrupt):
        measure("toy", benchmark, False, 4, path=tmp_path / "table.csv")
    assert list(read(tmp_path / "table.csv")["seed"]) == [0, 1]


def test_a_program_that_fails_or_is_missing_leaves_the_others(tmp_path, monkeypatch, capsys):
    def broken(quick):
        raise ValueError("no such sampler\nsecond line")

    monkeypatch.setattr(harness, "PEERS", {"absent_package"})
    programs = [
        Program("ours", lambda quick: lambda i: {"CPU time": 1.0}),
        Program("broken", broken),
        Program("Absent_package, its sampler", broken),
    ]
    benchmark = Benchmark({"a": programs}, {"CPU time": "s"}, ["a"])
    assert measure("toy", benchmark, False, 1, path=tmp_path / "table.csv") == 1
    said = capsys.readouterr().out
    assert "error: broken failed: ValueError: no such sampler\n" in said
    assert "  a: without absent_package: not installed\n" in said
    rows = read(tmp_path / "table.csv")
    assert set(rows["program"]) == {"ours", "broken"}
    assert rows[rows["program"] == "broken"]["value"].isna().all()
    assert " | ours: 1 s | broken: failed |" in pages.table(rows, benchmark)


def _rows(values, load, **about):
    common = {"benchmark": "toy", "problem": "a", "program": "ours", "quantity": "CPU time", "form": "full"}
    common |= {"date": "2026-01-02", "machine": "m", "load": load, "versions": "jax 1"} | about
    return pd.DataFrame([common | {"seed": seed, "value": value} for seed, value in enumerate(values)])


def test_a_table_shows_medians_and_marks_a_high_load():
    benchmark = _toy([])
    assert "| a | ours: 2 s |" in pages.table(_rows([1.0, 4.0, 2.0], load=1.2), benchmark)
    assert r"| a\* | ours: 1 s |" in pages.table(_rows([1.0], load=1.6), benchmark)
    assert r"\*" not in pages.table(_rows([1.0], load=1.6), benchmark._replace(cores=2))


def test_a_table_prefers_the_whole_form():
    forms = [_rows([3.0], 1.0), _rows([2.0], 1.0, form="quick"), _rows([4.0], 1.0, form="earlier")]
    cells = [
        re.findall(r"^\| a \| ours: (\S+) s \|", pages.table(pd.concat(rows), _toy([])), re.M)
        for rows in (forms, forms[1:], forms[2:])
    ]
    assert cells == [["3"], ["2"], ["4"]]


def test_a_process_of_its_own_returns_its_output_and_its_cpu_seconds():
    output, seconds = own_process("-c", "sum(range(10**6)); print('done')")
    assert output == "done\n"
    assert seconds > 0.0
    with pytest.raises(RuntimeError, match=r"^ValueError: reason$"):
        own_process("-c", "raise ValueError('reason')")


def test_the_variable_that_stays_for_fifty_draws_decides_the_effective_sample_size():
    assert smallest_ess([[float(i // 50), float(i % 7)] for i in range(700)]) < 100.0
