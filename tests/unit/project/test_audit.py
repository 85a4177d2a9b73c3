"""The audit of locked packages claims nothing of what it could not look up."""

from pathlib import Path

import pytest

from scripts import audit

CLEAN = {"name": "jax", "version": "1.0", "vulns": []}
BAD = {"name": "jinja2", "version": "2.4", "vulns": [{"id": "CVE-1", "fix_versions": ["2.5", "3.0"]}]}
SKIPPED = {"name": "numpy", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("packages", "text", "status"),
    [
        ([], "the lock: not audited: no network", 0),
        ([SKIPPED, SKIPPED], "the lock: not audited: not found", 0),
        ([CLEAN], "the lock: 1 of 1 packages looked up; 0 known vulnerabilities", 0),
        (
            [CLEAN, SKIPPED],
            "the lock: 1 of 2 packages looked up, 1 not (not found); 0 known vulnerabilities",
            0,
        ),
        (
            [CLEAN, BAD],
            "the lock: 2 of 2 packages looked up; 1 known vulnerabilities\n  jinja2 2.4: CVE-1, mended in 2.5, 3.0",
            1,
        ),
    ],
)
def test_what_is_said_of_a_lock(packages: list[dict[str, object]], text: str, status: int) -> None:
    assert audit.verdict("the lock", packages, "no network") == (text, status)


def test_every_lock_is_put_to_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$@" >&2\nexit 1\n')
    program.chmod(0o755)
    assert audit.main([str(program)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == ["requirements.lock", "benchmarks/requirements.lock"]
    assert all("--require-hashes --disable-pip -r" in line for line in lines)
