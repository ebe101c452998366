"""What the production transposes do to the memory of a GPU, by its counters: needs ncu and a GPU.

    python bench/transpose_counters.py [--output PATH]

For a case of each kernel: sectors of 32 bytes per request of a warp, read and written, of 4 where
lanes access 4 neighbouring bytes each and 16 where they access 16, more where a row starts inside
a sector; and passes over the banks of shared memory beyond those that the bytes need.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import common
import numpy as np
import warpkit

METRICS = {
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio": "sectors_read",
    "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio": "sectors_written",
    "memory_l1_wavefronts_shared": "shared_passes",
    "memory_l1_wavefronts_shared_ideal": "shared_passes_needed",
}
CASES: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = [
    *((dtype, (4096, 4096), (1, 0)) for dtype in ("u1", "u2", "f4", "f8", "c16")),
    *((dtype, (4095, 4093), (1, 0)) for dtype in ("u1", "u2", "f4", "f8")),
    ("c16", (21, 33, 19, 25, 15), (4, 3, 1, 0, 2)),
    ("f4", (2**20 + 1, 12), (1, 0)),
    ("f4", (12, 2**20 + 1), (1, 0)),
    ("u1", (3, 2**22), (1, 0)),
    ("u1", (2**22, 3), (1, 0)),
    ("f4", (2**16, 16, 16), (0, 2, 1)),
    ("f4", (255, 257, 65), (1, 0, 2)),
]


def transposes() -> None:
    for dtype, shape, axes in CASES:
        a = warpkit.asarray(np.ones(shape, dtype), device="cuda")
        warpkit.transpose(a, axes).numpy()


def counted() -> list[dict[str, Any]]:
    command = ["ncu", "--csv", "--clock-control", "none", "-k", "regex:transpose"]
    command += ["--metrics", ",".join(METRICS), sys.executable, __file__, "--inner"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    table = csv.DictReader(io.StringIO(text[text.index('"ID"') :]))
    rows: dict[str, dict[str, Any]] = {}
    for line in table:
        row = rows.setdefault(
            line["ID"], {"kernel": re.sub(r"^.*::|\(.*$", "", line["Kernel Name"])}
        )
        row[METRICS[line["Metric Name"]]] = float(line["Metric Value"].replace(",", ""))
    cases = [{"dtype": d, "shape": list(s), "axes": list(p)} for d, s, p in CASES]
    return [case | row for case, row in zip(cases, rows.values(), strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--inner", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--output", type=Path, help="default: bench/results")
    options = parser.parse_args()
    if options.inner:
        transposes()
        return
    rows = counted()
    for row in rows:
        print(", ".join(f"{key} {value}" for key, value in row.items()))
    name = warpkit.memory_info("cuda")["name"]
    path = options.output or common.RESULTS / common.file_name("counters_transpose", name)
    common.write(path, {"machine": common.machine() | {"device": name}, "rows": rows})


if __name__ == "__main__":
    main()
