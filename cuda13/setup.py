"""The plug-in for GPUs as a wheel of its own, of no Python version: warpkit_cuda13/_cuda.so, which
warpkit's core finds beside its own package. Built by ../setup.py: make wheels."""

import re
import runpy
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel

ROOT = Path(__file__).resolve().parent.parent
CORE = runpy.run_path(str(ROOT / "setup.py"))
TEXT = (ROOT / "python" / "warpkit" / "__init__.py").read_text()
(VERSION,) = re.findall(r'^__version__ = "(.*)"', TEXT, re.MULTILINE)


class AnyPython(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(
    version=VERSION,
    install_requires=[f"pywarpkit=={VERSION}"],  # the parts of one version belong together
    ext_modules=[Extension("warpkit_cuda13._cuda", sources=[])],
    cmdclass={"build_ext": CORE["BuildExt"], "bdist_wheel": AnyPython},
)
