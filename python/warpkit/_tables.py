"""Rows of words as a table: for a terminal, and for a notebook."""

from __future__ import annotations

import html
from collections.abc import Sequence

Rows = Sequence[Sequence[str]]


def text(title: str, head: Sequence[str], rows: Rows, right: str) -> str:
    """Columns below their heads; right has one character a column, ">" for numbers."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = (
        "  ".join(
            f"{word:{side}{width}}" for word, side, width in zip(line, right, widths, strict=True)
        )
        for line in (head, *rows)
    )
    return "\n".join([title, *(line.rstrip() for line in lines)])


def markup(title: str, head: Sequence[str], rows: Rows) -> str:
    """HTML's, with the title as its caption."""

    def row(line: Sequence[str], cell: str) -> str:
        return f"<tr>{''.join(f'<{cell}>{html.escape(word)}</{cell}>' for word in line)}</tr>"

    body = "".join(row(line, "td") for line in rows)
    return f"<table><caption>{html.escape(title)}</caption>{row(head, 'th')}{body}</table>"
