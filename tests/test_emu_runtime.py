"""CUDA's runtime API as the emulated devices give it: kernels/runtime_api.cu asks call by call."""

import os
import re
import shutil
import subprocess

import helpers
import pytest

pytestmark = [
    pytest.mark.skipif("emu" not in helpers.devices, reason="the emulated device is not tested"),
    pytest.mark.unsanitized,  # it runs programs of its own
]

COMPILERS = [c for c in ("g++", "clang++") if shutil.which(c)] or ["c++"]


@pytest.fixture(scope="module", params=[*COMPILERS, "sanitized"])
def api(request, tmp_path_factory):
    """Runs the program, and gives its exit status and what it says."""
    program = tmp_path_factory.mktemp("runtime_api") / "runtime_api"
    sanitized = request.param == "sanitized"
    helpers.emulate(
        helpers.KERNELS / "runtime_api.cu",
        program,
        None if sanitized else request.param,
        sanitize="1" if sanitized else "0",
    )

    def run(what, **settings):
        env = {k: v for k, v in os.environ.items() if k[:12] != "WARPKIT_EMU_"}
        env |= {f"WARPKIT_EMU_{name}": value for name, value in settings.items()}
        if sanitized:
            env |= {"RUNTIME_API_SANITIZED": "1"}
            env["ASAN_OPTIONS"] = "detect_stack_use_after_return=0"
        done = subprocess.run([program, what], env=env, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout + done.stderr

    return run


@pytest.mark.parametrize("devices", ["", "1", "3", "32"])
def test_each_call_gives_and_refuses_what_cuda_does(api, devices):
    assert api("calls", DEVICES=devices) == (0, f"{devices or 1} devices, all is right\n")


@pytest.mark.parametrize(
    "settings",
    [{"LATE": "1"}, {"LATE": "7", "SCHEDULE": "random"}, {"MEMORY": "weak"}],
    ids=lambda s: "-".join(s.values()),
)
def test_no_setting_changes_what_the_calls_give(api, settings):
    assert api("calls", **settings) == (0, "1 devices, all is right\n")


def test_memory_streams_and_events_belong_to_their_device(api):
    assert api("devices", DEVICES="3") == (0, "3 devices, all is right\n")


def test_a_late_event_is_ready_after_so_many_queries_or_a_wait(api):
    assert api("late", LATE="2") == (0, "1 devices, all is right\n")


def test_a_planned_failure_comes_once_at_its_call(api):
    assert api("failures") == (0, "1 devices, all is right\n")


@pytest.mark.parametrize("value", ["0", "33", "-1", "1.5", "two", "nan"])
def test_a_number_of_devices_that_cannot_be_is_told(api, value):
    code, text = api("calls", DEVICES=value)
    assert code == 2
    assert re.search(
        f"^0 devices, error 100: WARPKIT_EMU_DEVICES is '{value}', and must be a whole number, at "
        "least 1 and at most 32$",
        text,
        re.MULTILINE,
    )
