"""For docs/errors.md: calls that are wrong, and what each of them says."""

from __future__ import annotations

import ast
import contextlib
import io
from typing import Any

from pages import ROOT

WRONG = ROOT / "tests" / "wrong_calls.py"
LONGEST = 200  # characters of a message

# What no type checker can see. `a` and `d` are those of WRONG.
HIDDEN = """
warpkit.reduce([1, None])
warpkit.reduce(np.array([1, "a"], object))
warpkit.reduce([[1, 2], [3]])
warpkit.reduce(scipy.sparse.csr_array(a))
warpkit.reduce(np.ma.masked_less(a, 2))
warpkit.reduce(np.ones(3, np.longdouble))
warpkit.reduce(a, device="cuad")
warpkit.reduce(a, axis=2)
warpkit.reduce([], "max")
warpkit.reduce(a, out=np.empty(2, np.float32))
warpkit.transpose(a, (0, 0))
warpkit.stencil1d([1, 2, 1], a)
warpkit.stencil1d(a, [1, 2, 1], origin=2)
warpkit.gradient1d([1.0, 2.0])
warpkit.histogram([1.0, np.nan])
warpkit.histogram(a, bins=[3, 1, 2])
warpkit.bincount([3, -1])
warpkit.bincount([1.5])
warpkit.dot(a[0], a[:, 0])
warpkit.segment_reduce(a[0], [0, 9])
warpkit.group_reduce([0, -1], [1.0, 2.0])
warpkit.explain("transposed", a)
warpkit.reduce(d, device="cpu")
d == d.copy()
1.0 in d
bool(d)
hash(d)
"""


def said(code: str, space: dict[str, Any]) -> str:
    """The error of a call, which must be one."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(code, space)
    except Exception as error:
        text = str(error)
        if len(text) > LONGEST:
            text = text[: text.rindex(", ", 0, LONGEST)] + ", ..."
        return f"{type(error).__name__}: {text}"
    raise SystemExit(f"refusals.py: {code} is no error")


def rows(calls: list[str], space: dict[str, Any]) -> str:
    """A table, not padded: messages are long."""
    lines = [f"| `{call}` | {_escaped(said(call, space))} |" for call in calls]
    return "\n".join(["| call | error |", "|---|---|", *lines]) + "\n"


def _escaped(text: str) -> str:
    for mark in "\\|*_<[`":
        text = text.replace(mark, f"\\{mark}")
    return text


def _wrong() -> tuple[list[str], dict[str, Any]]:
    """The calls of WRONG, in order, and the names that they use."""
    import warpkit

    calls: list[str] = []
    space: dict[str, Any] = {}
    with warpkit.device("cpu"):
        for statement in ast.parse(WRONG.read_text()).body:
            code = ast.unparse(statement).replace("\n    ", " ")
            if isinstance(statement, ast.Import | ast.Assign):
                exec(code, space)
            elif code.startswith(("warpkit", "with", "print", "d")):
                calls.append(code)
    return calls, space


def wrong() -> str:
    """What type checkers see: the file that holds them to it."""
    import warpkit

    with warpkit.device("cpu"):
        return rows(*_wrong())


def hidden() -> str:
    """What they do not."""
    import scipy.sparse
    import warpkit

    space = _wrong()[1] | {"scipy": scipy}
    with warpkit.device("cpu"):
        return rows(HIDDEN.strip().splitlines(), space)
