# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Installs requirements into a virtual environment, making it where needed.

    python3 requirements/install.py .venv requirements/dev.txt

Needs nothing but a Python of its own; says in one sentence what that lacks.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

# The Pythons that the pinned TensorFlow has wheels for.
_OLDEST, _NEWEST = (3, 10), (3, 13)


def main() -> None:
    """Installs what the command line names."""
    venv, *requirements = sys.argv[1:]
    python = os.path.join(venv, "bin", "python")
    if not _succeeds(python, "-m", "pip", "--version"):
        _check_python()
        _create(venv, python)
    print(f"Installing {' '.join(requirements)} into {venv}", flush=True)
    # uv is only for speed, so it may be missing and may fail. First it trusts
    # the certificates that it brings, then those of the system, as pip does.
    _succeeds(python, "-m", "pip", "install", "--quiet", "uv")
    uv = (python, "-m", "uv", "pip", "install", "--python", python)
    # The files name all there is to install. Some of it asks for the package
    # `tensorflow`, and is content with the module of tensorflow-cpu.
    arguments = ["--no-deps"]
    arguments += [word for file in requirements for word in ("-r", file)]
    system = {**os.environ, "UV_NATIVE_TLS": "1", "UV_SYSTEM_CERTS": "1"}
    if _succeeds(*uv, *arguments) or _succeeds(*uv, *arguments, env=system):
        return
    pip = (python, "-m", "pip", "install")
    if subprocess.run([*pip, *arguments], check=False).returncode:
        raise SystemExit(
            f"could not install {' '.join(requirements)} into {venv}; "
            "pip says why above"
        )


def _check_python() -> None:
    if not _OLDEST <= sys.version_info[:2] <= _NEWEST:
        raise SystemExit(
            "tpuless needs Python {}.{} to {}.{}, got {}.{} at {}; "
            "'make PYTHON=...' chooses another".format(
                *_OLDEST, *_NEWEST, *sys.version_info[:2], sys.executable
            )
        )


def _create(venv: str, python: str) -> None:
    """Makes a virtual environment with pip in it, by whatever there is."""
    bootstrap = os.path.join(os.path.dirname(venv), "build", "bootstrap")
    uv = shutil.which("uv") or "uv"
    ways = [
        # Debian ships venv without the part that brings pip along.
        [sys.executable, "-m", "venv", venv],
        [uv, "venv", "--quiet", "--seed", "--python", sys.executable, venv],
        [sys.executable, "-m", "virtualenv", "--quiet", venv],
    ]
    for way in ways:
        shutil.rmtree(venv, ignore_errors=True)
        if _succeeds(*way) and _succeeds(python, "-m", "pip", "--version"):
            return
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--target")
    if _succeeds(*pip, bootstrap, "virtualenv"):
        shutil.rmtree(venv, ignore_errors=True)
        environ = {**os.environ, "PYTHONPATH": bootstrap}
        if _succeeds(*ways[-1], env=environ):
            return
    shutil.rmtree(venv, ignore_errors=True)
    raise SystemExit(
        f"{sys.executable} cannot make a virtual environment; install one of "
        "python3-venv (Debian), virtualenv or uv"
    )


def _succeeds(*command: str, env: dict[str, str] | None = None) -> bool:
    """Returns whether a command runs and succeeds, silently."""
    try:
        return not subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
            env=env,
        ).returncode
    except OSError:
        return False


if __name__ == "__main__":
    main()
