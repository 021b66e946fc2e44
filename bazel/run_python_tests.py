# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Runs Python tests on the libraries that Bazel built.

    bazel build //... && python bazel/run_python_tests.py

Makes an installed package of them in build/bazel/site-packages/, and takes
nothing that CMake built.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_BUILT = _ROOT / "bazel-bin"
_SITE_PACKAGES = _ROOT / "build/bazel/site-packages"

# Numbers, how it loads, and a training step by each way in.
_TESTS = ("golden", "load", "simulator_steps", "training_ops")

# The plugin alone makes cores here, out of the kernel library beside it.
_CORES = """
import sys
import tensorflow as tf

devices = tf.config.list_logical_devices("TPU")
assert len(devices) == 2, devices
assert sys.modules["tpuless"].__file__.startswith(sys.argv[1])
"""

sys.path.insert(0, str(_ROOT / "cmake"))
from find_tensorflow import find_tensorflow  # noqa: E402


def main() -> None:
    """Makes the package, and runs the tests in processes that find it."""
    _make_package()
    tests = [_ROOT / f"tests/python/test_{name}.py" for name in _TESTS]
    _run("-c", _CORES, _SITE_PACKAGES, TPULESS_CORES="2")
    _run("-m", "pytest", *tests)


def _make_package() -> None:
    tensorflow = find_tensorflow()
    assert tensorflow is not None, "Bazel found it, by the same file"
    package = _SITE_PACKAGES / "tpuless"
    plugins = _SITE_PACKAGES / "tensorflow-plugins"
    shutil.rmtree(_SITE_PACKAGES, ignore_errors=True)
    shutil.copytree(
        _ROOT / "python/tpuless",
        package,
        ignore=shutil.ignore_patterns("*.so", "_build_info.py", "__pycache__"),
    )
    plugins.mkdir()
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    shutil.copy(_BUILT / "libtpuless_ops.so", package)
    shutil.copy(_BUILT / "_engine.so", package / f"_engine{suffix}")
    shutil.copy(_BUILT / "libtpuless_plugin.so", plugins)
    (package / "_build_info.py").write_text(
        f'TENSORFLOW_VERSION = "{tensorflow[1]}"\n', encoding="utf-8"
    )


def _run(*arguments: str | pathlib.Path, **environ: str) -> None:
    command = [sys.executable, *map(str, arguments)]
    environ = {**os.environ, "PYTHONPATH": str(_SITE_PACKAGES), **environ}
    if subprocess.run(command, env=environ, check=False).returncode:
        raise SystemExit("what Bazel built does not work; see above")


if __name__ == "__main__":
    main()
