# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Tests the kernel library in a JVM, then compares the graphs of Java.

    python tests/java/run.py [LIBRARY]

Takes the tpuless that this Python has, and the release of TF Java that fits
its TensorFlow. LIBRARY is one for another TensorFlow, which must be refused.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

import tpuless
from releases import RELEASES
from tpuless import _build_info

_FOLDER = pathlib.Path(__file__).resolve().parent
_BUILD = _FOLDER.parents[1] / "build/java"

# What the tests need: its command.
_TOOLS = {"JDK": "javac", "Maven": "mvn"}


def main() -> None:
    """Runs Maven, then pytest."""
    release = _release(_build_info.TENSORFLOW_VERSION)
    _check_tools()
    graphs = _BUILD / release / "maven/graphs"
    shutil.rmtree(graphs, ignore_errors=True)
    properties = [
        f"-Dtensorflow-java.version={release}",
        f"-Dtpuless.library={os.path.abspath(tpuless.library_path())}",
        *(
            f"-Dtpuless.foreign.library={os.path.abspath(library)}"
            for library in sys.argv[1:]
        ),
    ]
    maven = ("mvn", "--batch-mode", "--no-transfer-progress")
    _run(*maven, "--file", _FOLDER / "pom.xml", *properties, "test")
    _run(sys.executable, "-m", "pytest", _FOLDER, f"--java-graphs={graphs}")


def _release(tensorflow: str) -> str:
    minor = ".".join(tensorflow.split(".")[:2])
    if minor not in RELEASES:
        raise SystemExit(
            "TF Java has releases for TensorFlow "
            f"{', '.join(RELEASES)}, and none for {minor}, which tpuless is "
            "built for"
        )
    return RELEASES[minor]


def _check_tools() -> None:
    missing = [
        tool for tool, command in _TOOLS.items() if not shutil.which(command)
    ]
    if missing:
        raise SystemExit(
            "tests/java needs a JDK of Java 11 or later and Maven, found no "
            f"{' and no '.join(missing)}; "
            "'apt-get install default-jdk-headless maven' gives both on Debian"
        )


def _run(*command: object) -> None:
    sys.stdout.flush()
    if subprocess.run(list(map(str, command)), check=False).returncode:
        raise SystemExit(f"{command[0]} failed; it says why above")


if __name__ == "__main__":
    main()
