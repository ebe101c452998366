"""Reductions give the bits that tests/golden_reductions.txt records.

tools/golden.py checks all of the calls; this file checks the first.
"""

import helpers
import numpy as np
import pytest

golden = helpers.script(helpers.ROOT / "tools" / "golden.py")


def seeds(count):
    most = helpers.LARGE if helpers.options["small"] else golden.golden_calls.LARGE
    return golden.seeds_of(range(count), most)


def check(device, calls, **options):
    """How many results differ, how many are as recorded, and what the check says."""
    told = []
    same, differ, others = golden.check(device, calls, say=told.append, **options)
    if others and np.__version__ != golden.numpy_of():
        pytest.skip(f"the record is of NumPy {golden.numpy_of()}, whose random numbers are others")
    assert others == 0, "the calls have changed: tools/golden.py record"
    return differ, same, "\n".join(told)


def test_reductions_give_the_recorded_bits(device):
    calls = seeds(1000)
    differ, same, told = check(device, calls)
    assert differ == 0, told
    assert same == len(calls)


def test_reductions_of_what_lies_on_a_device_give_the_recorded_bits(device):
    if device == "cpu":
        pytest.skip("what lies on the host is its own")
    calls = seeds(300)
    differ, same, told = check(device, calls, there=True)
    assert differ == 0, told
    assert same > 0.9 * len(calls)  # rounded products go by the order of the memory


def test_a_result_that_differs_is_told(device, tmp_path):
    """One digit of the record is changed, and one result replaced by an exception."""
    first, *lines = golden.RECORD.read_text().splitlines()
    tokens = lines[0].split()
    tokens[3] = tokens[3][:-1] + ("1" if tokens[3][-1] != "1" else "2")
    tokens[5] = tokens[5][:2] + "ValueError"
    path = tmp_path / "record.txt"
    path.write_text("\n".join([first, " ".join(tokens)]))
    differ, same, told = check(device, list(range(10)), path=path)
    assert (differ, same) == (2, 8)
    for seed in (3, 5):
        call = golden.golden_calls.call(seed)
        assert f"call {seed}: {call.op} of {call.a.dtype} {call.a.shape}, axis {call.axis}" in told
        assert f"by {device}: " in told
    assert "recorded: ValueError; now: " in told


def test_the_record_has_every_op_and_dtype_and_few_exceptions():
    recorded = golden.read()
    assert len(recorded) == golden.COUNT
    assert sum(out.endswith("Error") for _, out in recorded) < golden.COUNT / 50
    calls = [golden.golden_calls.call(seed) for seed in seeds(1000)]
    assert {op for call in calls for op in call.ops} == set(golden.golden_calls.OPS)
    assert {call.a.dtype.name for call in calls} == set(helpers.ALL_DTYPES)
    assert {call.layout for call in calls} == {"free", *golden.golden_calls.LAYOUTS}
