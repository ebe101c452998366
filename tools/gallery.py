"""Renew docs/gallery.md's table: which test notices each barrier, fence and atomic that is gone.

It runs tests/test_gallery.py with --cuda-mutate. tests/test_gallery.py sees to it that the table
has the statements that the sources have.
"""

from __future__ import annotations

import re
import subprocess
import sys

from pages import ROOT, table

PAGE = ROOT / "docs" / "gallery.md"
TABLE = re.compile(r"(?<=<!-- mutations -->\n).*?(?=<!-- /mutations -->)", re.DOTALL)
LINE = re.compile(
    r"^\S*examples/gallery/(?P<file>\w+\.cu):(?P<line>\d+) (?P<what>.*): "
    r"(?:(?P<not>NOT NOTICED)|noticed by \S+\[emu-(?P<by>[\w-]+?)(?:-(?P<case>[a-z]+))?\])$",
    re.MULTILINE,
)


def rows(told: str) -> list[tuple[str, str, str]]:
    """File, statement and condition of each mutation, as the plugin tells them."""
    return [
        (f"{m['file']}:{m['line']}", f"`{m['what']}`", m["by"] or "no test")
        for m in LINE.finditer(told)
    ]


def main() -> int:
    command = [sys.executable, "-m", "pytest", "tests/test_gallery.py", "-k", "not page"]
    done = subprocess.run([*command, "--cuda-mutate"], cwd=ROOT, capture_output=True, text=True)
    found = rows(done.stdout)
    count = re.search(r"^(\d+) one at a time", done.stdout, re.MULTILINE)
    if count is None or len(found) != int(count[1]):
        sys.exit(f"the mutations did not run:\n{done.stdout}\n{done.stderr}")
    text = table(("where", "without", "noticed by"), found, "<<<")
    PAGE.write_text(TABLE.sub(lambda _: f"\n{text}\n", PAGE.read_text()))
    print(f"{PAGE.relative_to(ROOT)}: written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
