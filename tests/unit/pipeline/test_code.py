"""The digest of code changes with code and with nothing else."""

import pytest

from auxmc_pipeline import code
from auxmc_pipeline.code import code_digest, imported_files


@pytest.fixture
def project(tmp_path):
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text("")
    (tmp_path / "pack" / "run.py").write_text("import numpy\nfrom pack.helper import f\n")
    (tmp_path / "pack" / "helper.py").write_text("from . import deep\ndef f():\n    return 1\n")
    (tmp_path / "pack" / "deep.py").write_text("X = 1\n")
    (tmp_path / "pack" / "other.py").write_text("Y = 1\n")
    return tmp_path


def _digest(project):
    return code_digest("pack.run", [project])


def test_imports_are_followed_at_any_depth(project):
    names = {path.name for path in imported_files("pack.run", [project])}
    assert names == {"__init__.py", "run.py", "helper.py", "deep.py"}


@pytest.mark.parametrize(
    ("file", "text", "changes"),
    [
        ("helper.py", "from . import deep\ndef f():\n    return 2\n", True),
        ("deep.py", "X = 2\n", True),
        ("helper.py", 'from . import deep\n\n# why\ndef f():\n    """What."""\n    return 1\n', False),
        ("helper.py", "from . import deep\ndef f() -> int:\n    return 1\n", False),
        ("other.py", "Y = 2\n", False),
    ],
)
def test_digest_sees_code_not_comments(project, file, text, changes):
    before = _digest(project)
    (project / "pack" / file).write_text(text)
    assert (_digest(project) != before) == changes


def test_a_missing_module_is_named(project):
    with pytest.raises(ModuleNotFoundError, match=r"no module 'pack\.nothing'"):
        code_digest("pack.nothing", [project])


def test_a_parsed_file_is_kept_and_a_damaged_one_is_parsed_again(project, monkeypatch):
    before = _digest(project)
    kept = sorted((project / ".cache" / "code").glob("*.json"))
    assert len(kept) == 4
    parsed = []
    parse = code._parse
    monkeypatch.setattr(code, "_parse", lambda content: parsed.append(content) or parse(content))
    code._parsed_at.cache_clear()
    assert _digest(project) == before
    assert parsed == []
    for path, text in zip(kept, ("", "[]", '["x", [[0, "pack", ["f"]]', "null"), strict=True):
        path.write_text(text)
    code._parsed_at.cache_clear()
    assert _digest(project) == before
    assert len(parsed) == 4
