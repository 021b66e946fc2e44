# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Builds the libraries with CMake and puts them into the package."""

from __future__ import annotations

import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

_ROOT = Path(__file__).resolve().parent
_PACKAGE = _ROOT / "python" / "tpuless"
_OLDEST_CMAKE = (3, 20)

sys.path.insert(0, str(_ROOT / "cmake"))
from find_tensorflow import find_tensorflow  # noqa: E402


class FreshBuild(build):
    """Starts from an empty folder: what was removed must not be packaged."""

    def run(self) -> None:
        """Removes what an earlier build copied, then builds."""
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()


class CMakeBuild(build_ext):
    """Builds all libraries in place of the one extension setuptools sees."""

    def build_extension(self, ext: Extension) -> None:
        """Configures, builds and installs into setuptools' build folder."""
        _check_platform()
        _check_compiler()
        self._cmake = _find_cmake()
        self._folder = _build_folder()
        _drop_stale(self._folder, _generator()[1])
        _run(self._cmake, *_configure_arguments(self._folder))
        _run(
            self._cmake,
            *("--build", self._folder, "--target", "tpuless_python"),
            *("--parallel", _num_jobs()),
        )
        self._install(Path(self.get_ext_fullpath(ext.name)).parent)

    def copy_extensions_to_source(self) -> None:
        """Gives an editable install all libraries, not the extension alone."""
        self._install(_PACKAGE)

    def _install(self, package: Path) -> None:
        _run(
            self._cmake,
            *("--install", self._folder, "--strip"),
            *("--prefix", package.resolve()),
        )


def _version() -> str:
    """Returns the release, and for which TensorFlow where that is asked for.

    Only who passes a wheel on asks, as `make wheel` does: pip refuses an sdist
    whose build gives another version than the name of its file.
    """
    text = (_PACKAGE / "_version.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.*)"$', text, re.MULTILINE)
    assert found is not None
    if not os.environ.get("TPULESS_LABEL"):
        return found[1]
    major, minor = _tensorflow_version().split(".")[:2]
    return f"{found[1]}+tf{major}.{minor}"


def _check_platform() -> None:
    machine = platform.machine()
    if sys.platform != "linux" or machine not in ("x86_64", "aarch64"):
        raise SystemExit(
            "tpuless needs Linux on x86_64 or aarch64, got "
            f"{platform.system()} on {machine}"
        )


def _check_compiler() -> None:
    names = [os.environ.get("CXX", "").split(" ")[0], "c++", "g++", "clang++"]
    if not any(shutil.which(name) for name in names if name):
        raise SystemExit(
            "tpuless needs a C++17 compiler, found none; install g++ or set CXX"
        )


def _find_tool(name: str) -> list[str]:
    """Returns where `name` is: beside this Python, then on the path."""
    # Beside: a virtual environment need not be activated, and is to build the
    # same when it is not.
    scripts = sysconfig.get_path("scripts")
    beside = os.path.dirname(sys.executable)
    found = [shutil.which(name, path=path) for path in (scripts, beside, None)]
    return [path for path in found if path]


def _find_cmake() -> str:
    """Returns the first CMake that is new enough."""
    version = "none"
    for cmake in _find_tool("cmake"):
        output = subprocess.run(
            [cmake, "--version"], stdout=subprocess.PIPE, check=False
        ).stdout.decode()
        match = re.search(r"version (\d+)\.(\d+)\S*", output)
        if match and (int(match[1]), int(match[2])) >= _OLDEST_CMAKE:
            return cmake
        if match:
            version = match[0].split()[1]
    raise SystemExit(
        f"tpuless needs CMake {'.'.join(map(str, _OLDEST_CMAKE))} or later, "
        f"got {version}; 'pip install cmake' gives one"
    )


def _generator() -> list[str]:
    """Returns the arguments that choose Ninja where there is one."""
    ninja = _find_tool("ninja")
    if ninja:
        return ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja[0]}"]
    return ["-G", "Unix Makefiles"]


def _tensorflow_version() -> str:
    tensorflow = find_tensorflow()
    if tensorflow is None:
        raise SystemExit(
            "tpuless needs TensorFlow 2.16 or later, found none in "
            f"{sys.executable}; 'pip install tensorflow-cpu' gives it"
        )
    return tensorflow[1]


def _build_folder() -> Path:
    """Returns a fixed folder, so that only what changed is built again."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    name = f"cmake-{python}-tf{_tensorflow_version()}"
    return _ROOT / (os.environ.get("TPULESS_BUILD_DIR") or f"build/{name}")


def _drop_stale(folder: Path, generator: str) -> None:
    """Removes a build folder that CMake would refuse to go on with."""
    cache = folder / "CMakeCache.txt"
    if not cache.exists():
        return
    lines = cache.read_text(encoding="utf-8").splitlines()
    if not {
        f"CMAKE_GENERATOR:INTERNAL={generator}",
        f"CMAKE_HOME_DIRECTORY:INTERNAL={_ROOT}",
        f"CMAKE_CACHEFILE_DIR:INTERNAL={folder}",
    } <= set(lines):
        shutil.rmtree(folder)


def _configure_arguments(folder: Path) -> list[str | Path]:
    """Returns all that may differ from one isolated build to the next."""
    return [
        *("-S", _ROOT, "-B", folder),
        *_generator(),
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-DCMAKE_INSTALL_PREFIX={_PACKAGE}",
        "-DTPULESS_BUILD_TESTS=OFF",
        *shlex.split(os.environ.get("CMAKE_ARGS", "")),
    ]


def _num_jobs() -> str:
    return os.environ.get(
        "CMAKE_BUILD_PARALLEL_LEVEL", str(len(os.sched_getaffinity(0)))
    )


def _run(*command: str | Path) -> None:
    sys.stdout.flush()
    if subprocess.run([str(word) for word in command], check=False).returncode:
        raise SystemExit("tpuless was not built; CMake says why above")


setup(
    version=_version(),
    # Here, because setuptools before 77 and after it read different forms in
    # pyproject.toml, and this one alike.
    license="Apache-2.0",
    # What the extension is made of, CMake knows.
    ext_modules=[Extension("tpuless._engine", sources=[])],
    cmdclass={"build": FreshBuild, "build_ext": CMakeBuild},
)
