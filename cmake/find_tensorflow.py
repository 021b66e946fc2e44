# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Prints TensorFlow's folder, then its version, without importing it.

Prints nothing where this Python has no TensorFlow. CMake, setup.py and Bazel
ask this one file.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import subprocess
import sys


def find_tensorflow() -> tuple[str, str] | None:
    """Returns (folder, version) of the TensorFlow that would be imported."""
    spec = importlib.util.find_spec("tensorflow")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = os.path.realpath(list(spec.submodule_search_locations)[0])
    if not os.path.isdir(os.path.join(folder, "include")):
        return None
    return folder, _version(folder)


def _version(folder: str) -> str:
    """Returns the version by the metadata of whatever wheel holds `folder`."""
    # tensorflow, tensorflow-cpu, a TPU wheel and others give this module.
    for distribution in importlib.metadata.distributions():
        name = distribution.metadata["Name"] or ""
        if not name.lower().startswith(("tensorflow", "tf-nightly", "tf_")):
            continue
        init = distribution.locate_file("tensorflow/__init__.py")
        files = {str(file) for file in distribution.files or ()}
        if (
            "tensorflow/__init__.py" in files
            and os.path.realpath(os.path.dirname(str(init))) == folder
        ):
            return distribution.version
    # No metadata, as in a build from source: TensorFlow itself knows.
    code = "import tensorflow; print(tensorflow.__version__)"
    output = subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, check=True
    ).stdout
    return output.decode().split()[-1]


if __name__ == "__main__":
    print("\n".join(find_tensorflow() or ()))
