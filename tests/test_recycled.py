"""Large NumPy results lie in memory that earlier ones left: nothing of that may show."""

import gc
import os
import pickle
import threading
import tracemalloc

import numpy as np
import pytest
import warpkit
from helpers import python

SIDE = 2912  # float32: 32.3 MiB
A = np.arange(SIDE * SIDE, dtype=np.float32).reshape(SIDE, SIDE)


@pytest.fixture(autouse=True)
def nothing_waits():
    warpkit.release_memory("cpu")
    yield
    warpkit.release_memory("cpu")


def new(rows=SIDE):
    return warpkit.transpose(A[:rows], device="cpu")


def waiting():
    gc.collect()
    return warpkit.memory_info("cpu")["results"]


def test_memory_is_used_again():
    a = new()
    address = a.ctypes.data
    assert a.flags.owndata
    assert a.base is None
    assert waiting() == 0
    del a
    assert waiting() >= A.nbytes
    b = new()
    assert b.ctypes.data == address
    assert waiting() == 0
    np.testing.assert_array_equal(b, A.T)


def test_small_results_are_numpys():
    new(2000)
    assert waiting() == 0


def test_a_much_smaller_result_takes_no_large_memory():
    large = warpkit.stencil1d(np.ones(1 << 24, np.float32), [1.0], device="cpu")
    del large
    before = waiting()
    a = new()
    assert waiting() == before > 0
    del a


def test_views_and_exports_outlive_the_array():
    a = new()
    view, shared, exported = a[5:7], memoryview(a), np.from_dlpack(a)
    del a
    b = new()
    b[:] = -1
    np.testing.assert_array_equal(view, A.T[5:7])
    np.testing.assert_array_equal(np.asarray(shared), A.T)
    np.testing.assert_array_equal(exported, A.T)


def test_resized_arrays_keep_their_elements():
    a = new()
    a.resize(10, refcheck=False)
    np.testing.assert_array_equal(a, A.T.ravel()[:10])
    a.resize(A.size + 10, refcheck=False)
    np.testing.assert_array_equal(a[:10], A.T.ravel()[:10])
    assert not a[10:].any()


def test_pickles():
    a = new()
    for protocol in (2, 5):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(a, protocol)), a)


def test_tracemalloc_sees_them():
    tracemalloc.start()
    try:
        a = new()
        alive = tracemalloc.get_traced_memory()[0]
        assert alive >= a.nbytes
        del a
        assert tracemalloc.get_traced_memory()[0] < alive - A.nbytes / 2
    finally:
        tracemalloc.stop()


def test_threads_share_no_memory():
    mixed = []

    def work(k):
        for _ in range(8):
            a = new()
            a[:, 0] = k
            b = new()
            b[:, 0] = -k
            if (a[:, 0] != k).any() or (b[:, 0] != -k).any():
                mixed.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not mixed


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_has_memory_of_its_own():
    a, b = new(), new()
    del b
    child = os.fork()
    if child == 0:
        c = new()
        c[:] = 8
        right = (a == A.T).all()
        a[:] = 0
        del a, c
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
    np.testing.assert_array_equal(a, A.T)


def test_through_a_device_too():
    a = warpkit.asarray(A, device="emu").numpy()
    del a
    assert waiting() >= A.nbytes
    b = warpkit.asarray(A, device="emu").numpy()
    assert waiting() == 0
    np.testing.assert_array_equal(b, A)


LEFT = """
import numpy as np, warpkit
a = warpkit.transpose(np.ones((6000, 3000), np.float32), device="cpu")
del a
info = warpkit.memory_info("cpu")
print(info["results"], info["results_keep"])
np.kept = warpkit.transpose(np.ones((6000, 3000), np.float32), device="cpu")
"""


def test_as_much_waits_as_is_allowed():
    """And an array that is alive when Python ends does no harm."""
    assert python(LEFT, env={"WARPKIT_RESULTS_KEEP": "0"}).split() == ["0", "0"]
    results, keep = map(int, python(LEFT, env={"WARPKIT_RESULTS_KEEP": "100M"}).split())
    assert 72_000_000 <= results <= keep == 100 << 20
