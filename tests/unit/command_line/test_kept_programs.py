"""Compiled programs that the commands keep."""

from pathlib import Path

import jax
import pytest

from auxmc.command_line.kept_programs import keep_programs

_OPTIONS = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")


@pytest.fixture(autouse=True)
def no_folder(monkeypatch, tmp_path):
    """JAX without a folder for programs, and as it was before afterwards."""
    before = [getattr(jax.config, name) for name in _OPTIONS]
    monkeypatch.delenv("AUXMC_COMPILATION_CACHE", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / name)
    jax.config.update(_OPTIONS[0], None)
    yield
    for name, value in zip(_OPTIONS, before, strict=True):
        jax.config.update(name, value)


def test_programs_are_kept_in_the_users_cache(tmp_path):
    keep_programs()
    assert Path(jax.config.jax_compilation_cache_dir) == tmp_path / "auxmc" / "programs"
    assert (tmp_path / "auxmc" / "programs").is_dir()


def test_nothing_is_kept_where_it_is_switched_off_or_cannot_be(monkeypatch, tmp_path):
    (tmp_path / "auxmc").write_text("a file stands where the folder should")
    keep_programs()
    assert jax.config.jax_compilation_cache_dir is None
    (tmp_path / "auxmc").unlink()
    monkeypatch.setenv("AUXMC_COMPILATION_CACHE", "off")
    keep_programs()
    assert jax.config.jax_compilation_cache_dir is None
    assert not (tmp_path / "auxmc").exists()


def test_a_folder_of_the_users_own_stays(tmp_path):
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "own"))
    keep_programs()
    assert jax.config.jax_compilation_cache_dir == str(tmp_path / "own")
