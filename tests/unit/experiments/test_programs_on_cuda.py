"""Every program of every study at preset smoke has a CUDA version: it is lowered for CUDA, which needs no device."""

import contextlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import pjit

from auxmc.driver.blocks import Sampler, trace_sampler
from auxmc.kernels.metropolis.metropolis import random_walk_metropolis
from auxmc.numerics.programs import programs_within
from auxmc_pipeline.catalogue import load_study, studies
from auxmc_pipeline.chains import RunContext

# Cases that take at most four CPU seconds: `make test` runs these, and `make test-all` all of every study.
FAST = {
    "boltzmann": "annealed__system-0",
    "estimator_illustrations": "evidence",
    "gaussian_latent": "joint_hmc",
    "generalised_lambda": "modified_abc",
    "lotka_volterra": "summaries_wider",
    "streaming_evidence": "linear_full",
    "tempering_illustration": "weights",
}


@contextlib.contextmanager
def lowering_for_cuda():
    """Names of programs that JAX makes in the block, and what is wrong with each on CUDA, empty if nothing is."""
    # Private, because it is what blocks of the driver, `jax.jit` and operations outside of it have in common. Calls of
    # code of the host, which a GPU would wait for, are errors as well.
    lower, found = pjit._resolve_and_lower, []

    def lower_twice(*args, lowering_platforms, jaxpr, name, **params):
        wrong = ""
        try:
            lower(*args, lowering_platforms=("cuda",), jaxpr=jaxpr, name=name, **params)
        except (NotImplementedError, ValueError) as error:
            used = {one.primitive.name for inner, _ in programs_within(jaxpr) for one in inner.eqns}
            calls = sorted(operation for operation in used if "callback" in operation or "debug" in operation)
            wrong = " ".join([f"{error}", *calls])
        found.append((name, wrong))
        return lower(*args, lowering_platforms=lowering_platforms, jaxpr=jaxpr, name=name, **params)

    # Programs that are compiled already would not be lowered.
    jax.clear_caches()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pjit, "_resolve_and_lower", lower_twice)
        yield found


def check_programs(study, names, folder, run=None):
    """Fails with study, case, program and operation unless all programs of cases, by default all, are lowered for CUDA.

    `run` takes the place of the study's.
    """
    cases = [case for case in load_study(study).cases("smoke") if not names or case.name in names]
    run = run or load_study(study).module("run").run
    assert cases
    wrong = []
    for case in cases:
        context = RunContext(study, case.settings.seed, folder / case.name, "identity", "test")
        with lowering_for_cuda() as found:
            run(case.settings, context)
        assert found
        wrong += [f"{study}/{case.name}, program {name}: {error}" for name, error in found if error]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("study", FAST)
def test_programs_of_a_case_are_lowered_for_cuda(study, tmp_path):
    check_programs(study, [FAST[study]], tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("study", studies())
def test_all_programs_of_a_study_are_lowered_for_cuda(study, tmp_path):
    check_programs(study, [], tmp_path)


def schur(matrix):
    return jax.scipy.linalg.schur(matrix)[0]


def call_host(matrix):
    return jax.lax.map(lambda row: jax.pure_callback(np.sin, row, row), matrix)


def chain_with_schur(matrix):
    kernel = random_walk_metropolis(lambda x: -0.5 * x @ x, 1.0, 2)
    record = lambda state, info: {"x": schur(jnp.outer(state.position, state.position))}
    sampler = Sampler(lambda p: kernel, lambda key, p: kernel.init(matrix[0]), record)
    keys = jax.random.split(jax.random.key(0), 1)
    trace_sampler(sampler, {}, keys, n_draws=2, block_size=2, vectorise=False).compile()


@pytest.mark.parametrize(
    ("run", "program", "operation"),
    [
        (schur, "schur", "schur"),
        (jax.jit(call_host), "call_host", "pure_callback"),
        (chain_with_schur, "run_block", "schur"),
    ],
)
def test_an_operation_without_a_cuda_kernel_is_named(run, program, operation, tmp_path):
    with pytest.raises(AssertionError, match=rf"radon/nuts, program \S*{program}: .*\b{operation}\b"):
        check_programs("radon", ["nuts"], tmp_path, lambda settings, context: run(jnp.eye(2)))


def test_a_jitted_function_of_an_earlier_run_is_lowered_again():
    program = jax.jit(schur)
    program(jnp.eye(2))
    with lowering_for_cuda() as found:
        program(jnp.eye(2))
    assert any("schur" in error for _, error in found)
