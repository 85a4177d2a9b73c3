"""Addresses of files that the page names: in the project around it, or in pages of code beside it."""

import html
import os
from collections.abc import Callable
from pathlib import Path

__all__ = ["Address", "CodePages", "in_project"]

Address = Callable[[str, int], str]
"""Where a file is, from its path relative to the root of the project and a line or 0; empty where nothing is."""

_FOLDER = "code"
# What is code or settings; results lie in no page.
_SHOWN = (".py", ".yaml")
_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{path}</title>
<style>:root {{ color-scheme: light dark; }} body {{ margin: 1rem; }}
pre {{ font-size: .85rem; line-height: 1.45; overflow-x: auto; }}
h1 {{ font: 600 1.1rem ui-monospace, monospace; overflow-wrap: anywhere; }} b {{ font-weight: inherit; }}
b:target {{ background: #ffe9a8; color: #000; }}</style>
<h1>{path}</h1>
<pre tabindex="0">{code}</pre>
</html>
"""


def in_project(out: Path) -> Address:
    """Addresses relative to the folder of a page that lies in the project, which is the working directory.

    Args:
        out: the page.
    """
    up = Path(os.path.relpath(Path.cwd(), out.parent.resolve())).as_posix()
    return lambda path, line: f"{up}/{path}"


class CodePages:
    """Pages of the code that a page names, for a page that is read where the project is not.

    Args:
        root: root of the project.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lines: dict[str, set[int]] = {}

    def address(self, path: str, line: int) -> str:
        """Address of a file of code, at a line if that is not 0, which `write` then makes; empty for other files."""
        if not path.endswith(_SHOWN):
            return ""
        self._lines.setdefault(path, set()).add(line)
        return f"{_FOLDER}/{path}.html" + f"#L{line}" * (line > 0)

    def write(self, folder: Path) -> int:
        """Writes what was asked for, lines marked that were; returns the size of all in bytes.

        Args:
            folder: folder of the page.
        """
        size = 0
        for path, lines in self._lines.items():
            code = enumerate(
                html.escape((self._root / path).read_text(encoding="utf-8"), quote=False).split("\n"), start=1
            )
            marked = "\n".join(f'<b id="L{n}">{text}</b>' if n in lines else text for n, text in code)
            page = _PAGE.format(path=html.escape(path), code=marked)
            place = folder / _FOLDER / f"{path}.html"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(page, encoding="utf-8")
            size += len(page.encode())
        return size
