"""Forks while another thread begins to use a device: the child hangs nowhere."""

import os

import pytest
from helpers import python

# The child ends by SIGALRM if it hangs. It may find the device as it was, or lost.
FORK = """
import faulthandler, os, signal, sys, threading, time, warnings
import warpkit
warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads is the point here
device, delay = sys.argv[1] or None, float(sys.argv[2])
began = threading.Event()
def use():
    began.set()
    try:
        warpkit.reduce([1.0, 2.0], device=device)
    except warpkit.DeviceError:  # none of this kind is here
        pass
other = threading.Thread(target=use)
other.start()
began.wait()
time.sleep(delay)
pid = os.fork()
if pid == 0:
    signal.alarm(20)
    faulthandler.dump_traceback_later(10, file=sys.stdout)  # where it hangs
    ok = warpkit.reduce([1.0, 2.0], device="cpu") == 3
    for name in (None, device):
        try:
            ok &= warpkit.reduce([1.0, 2.0], device=name) == 3
        except warpkit.DeviceError as error:
            ok &= "fork" in str(error) or "no device" in str(error)
    os._exit(not ok)
code = os.waitpid(pid, 0)[1]
other.join()
try:  # the parent goes on
    right = warpkit.reduce([1.0, 2.0], device=device) == 3
except warpkit.DeviceError as error:
    right = "no device" in str(error)
print(code, right)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.unsanitized
@pytest.mark.parametrize("delay", [0, 0.5, 1, 2, 3, 5, 8, 12], ids="{} ms".format)
def test_a_child_forked_while_a_device_starts_does_not_hang(device, delay):
    asked = "" if device == "cpu" else device  # none: the first GPU is looked for
    assert python(FORK, asked, str(delay / 1000)).strip() == "0 True"
