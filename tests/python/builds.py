# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Builds of the package, and environments to install it in."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig
from typing import Any

import tpuless

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "tpuless"
# The one that is tested: of `make build` the same, of tests/matrix.py not.
INSTALLED = pathlib.Path(tpuless.__file__).parent
SITE_PACKAGES = sysconfig.get_path("platlib")

# The one that setup.py takes.
CMAKE = (
    shutil.which("cmake", path=sysconfig.get_path("scripts"))
    or shutil.which("cmake")
    or "cmake"
)

# One name from each library.
IMPORT = "import tpuless; tpuless.Simulator; print(tpuless.__file__)"

# For setup.py: nothing of what `make` has it do.
CLEAN = {"TPULESS_BUILD_DIR": "", "TPULESS_LABEL": "", "CMAKE_ARGS": ""}


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def run(
    *command: Any, cwd: pathlib.Path = ROOT, **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environ},
        capture_output=True,
        text=True,
        check=False,
    )


def succeed(*command: Any, **arguments: Any) -> str:
    result = run(*command, **arguments)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def copy_source(folder: pathlib.Path) -> pathlib.Path:
    """Copies the source tree without anything built."""
    return pathlib.Path(
        shutil.copytree(
            ROOT,
            folder,
            ignore=shutil.ignore_patterns(
                *(".git", ".venv", "build", "dist", "*.so", "_build_info.py"),
                *("*.egg-info", "*_cache", "__pycache__", "bazel-*"),
            ),
        )
    )


def make_venv(folder: pathlib.Path, *packages: str) -> pathlib.Path:
    """Makes a virtual environment that sees packages of this one.

    With no packages named it sees all of them but tpuless, whose editable
    install is a .pth file, and those are not followed.
    """
    succeed(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    site = succeed(
        *(
            python,
            "-c",
            "import sysconfig; print(sysconfig.get_path('purelib'))",
        )
    ).strip()
    for package in packages:
        os.symlink(
            pathlib.Path(SITE_PACKAGES) / package, pathlib.Path(site) / package
        )
    if not packages:
        (pathlib.Path(site) / "all.pth").write_text(SITE_PACKAGES + "\n")
    return python
