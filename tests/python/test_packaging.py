# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""A build says what is missing, and gives what can be imported.

Most ways to install are `slow`, because each compiles everything.
"""

from __future__ import annotations

import pathlib
import shutil
import sys

import pytest
from builds import (
    CLEAN,
    CMAKE,
    IMPORT,
    INSTALLED,
    ROOT,
    copy_source,
    make_venv,
    run,
    succeed,
)
from tpuless import _build_info
from tpuless._version import __version__

# Some compile everything, perhaps on a busy machine.
pytestmark = pytest.mark.timeout(3600)

# A build says in one sentence what it lacks.


def refuse_build(tmp_path: pathlib.Path, patch: str, **environ: str) -> str:
    """Returns what setup.py says last when `patch` ran before it."""
    code = (
        "import platform, runpy, sys, sysconfig\n"
        f"{patch}\n"
        f"sys.argv = ['setup.py', '-q', 'build_ext', '-b', {str(tmp_path)!r}]\n"
        "runpy.run_path('setup.py', run_name='__main__')\n"
    )
    result = run(sys.executable, "-c", code, **environ)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "Traceback" not in result.stderr
    return result.stderr.splitlines()[-1]


def test_build_without_tensorflow_is_refused(tmp_path):
    message = refuse_build(tmp_path, "sys.modules['tensorflow'] = None")

    assert message == (
        f"tpuless needs TensorFlow 2.16 or later, found none in "
        f"{sys.executable}; 'pip install tensorflow-cpu' gives it"
    )


def test_build_without_compiler_is_refused(tmp_path):
    message = refuse_build(tmp_path, "", PATH=str(tmp_path), CXX="")

    assert message == (
        "tpuless needs a C++17 compiler, found none; install g++ or set CXX"
    )


def test_build_with_old_cmake_is_refused(tmp_path):
    for name, line in (("cmake", "cmake version 3.18.4"), ("c++", "")):
        tool = tmp_path / name
        tool.write_text(f"#!/bin/sh\necho '{line}'\n")
        tool.chmod(0o755)
    hide = (
        "get_path = sysconfig.get_path\n"
        "sysconfig.get_path = lambda name, *arguments: ("
        "None if name == 'scripts' else get_path(name, *arguments))\n"
        "sys.executable = '/none/python'"
    )

    message = refuse_build(tmp_path, hide, PATH=str(tmp_path))

    assert message == (
        "tpuless needs CMake 3.20 or later, got 3.18.4; "
        "'pip install cmake' gives one"
    )


def test_build_on_another_platform_is_refused(tmp_path):
    patch = (
        "platform.machine = lambda: 'arm64'; "
        "platform.system = lambda: 'Darwin'; "
        "sys.platform = 'darwin'"
    )

    # Imported first: it asks sysconfig for the data of the true platform.
    imported = "import setuptools.command.build_ext"
    message = refuse_build(tmp_path, f"{imported}; {patch}")

    assert message == (
        "tpuless needs Linux on x86_64 or aarch64, got Darwin on arm64"
    )


def test_cmake_without_tensorflow_is_refused(tmp_path):
    # A Python that finds pybind11 and nothing else of this environment.
    python = make_venv(tmp_path / "venv", "pybind11")

    result = run(
        CMAKE,
        *("-S", ROOT, "-B", tmp_path / "build"),
        f"-DPython_EXECUTABLE={python}",
    )

    assert result.returncode == 1
    assert " ".join(result.stderr.split()).count(
        f"tpuless needs TensorFlow 2.16 or later, found none in {python}; "
        "'pip install tensorflow-cpu' gives it"
    )


# What is built can be imported, and holds what it should.


@pytest.mark.parametrize("folder", [ROOT, INSTALLED.parent, pathlib.Path("/")])
def test_import_works_from_any_folder(folder):
    output = succeed(sys.executable, "-c", IMPORT, cwd=folder)

    assert output.strip() == str(INSTALLED / "__init__.py")


# Every way to install, from nothing.


@pytest.fixture
def source(tmp_path) -> pathlib.Path:
    return copy_source(tmp_path / "source")


def check_import(python: pathlib.Path, *folders: pathlib.Path, **environ: str):
    for folder in folders:
        succeed(python, "-c", IMPORT, cwd=folder, **environ)


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [["."], ["--no-build-isolation", "."], ["--no-build-isolation", "-e", "."]],
    ids=" ".join,
)
def test_pip_install_works(arguments, source, tmp_path):
    python = make_venv(tmp_path / "venv")

    succeed(
        *(python, "-m", "pip", "install", "--ignore-installed", "--no-deps"),
        *arguments,
        cwd=source,
        **CLEAN,
    )

    check_import(python, tmp_path, source)


@pytest.mark.slow
def test_isolated_editable_install_can_be_built_again(source, tmp_path):
    python = make_venv(tmp_path / "venv")

    for _ in range(2):
        succeed(
            *(python, "-m", "pip", "install", "--ignore-installed"),
            *("--no-deps", "-e", "."),
            cwd=source,
            **CLEAN,
        )

    check_import(python, tmp_path, source)


@pytest.mark.slow
@pytest.mark.parametrize("isolated", [False, True])
def test_sdist_can_be_installed(isolated, source, tmp_path):
    python = make_venv(tmp_path / "venv")
    # What makes an sdist has no TensorFlow.
    bare = make_venv(tmp_path / "bare", "setuptools", "_distutils_hack")
    code = "import setuptools.build_meta as b; b.build_sdist('dist')"
    succeed(bare, "-c", code, cwd=source)
    (sdist,) = (source / "dist").iterdir()
    assert sdist.name == f"tpuless-{__version__}.tar.gz"
    if isolated:
        arguments = [sdist]
    else:  # As from an index: pip compares the version with the name.
        arguments = ["--no-build-isolation", "--no-index"]
        arguments += [f"--find-links={sdist.parent}", "tpuless"]
    shutil.move(source / "python", tmp_path / "out-of-reach")

    succeed(
        *(python, "-m", "pip", "install", "--ignore-installed", "--no-deps"),
        *arguments,
        cwd=tmp_path,
        **CLEAN,
    )

    check_import(python, tmp_path)


@pytest.mark.slow
def test_plain_cmake_works(source, tmp_path):
    python = f"-DPython_EXECUTABLE={sys.executable}"
    succeed(CMAKE, "--preset", "default", python, cwd=source)
    succeed(CMAKE, "--build", "--preset", "default", cwd=source)
    succeed(CMAKE, "--install", "build/default", cwd=source)

    environ = {"PYTHONPATH": str(source / "python")}
    check_import(make_venv(tmp_path / "venv"), tmp_path, source, **environ)


@pytest.mark.slow
def test_two_pythons_install_side_by_side(source, tmp_path):
    this = f"{sys.version_info.major}.{sys.version_info.minor}"
    others = [
        path
        for minor in ("3.10", "3.11", "3.12", "3.13")
        if minor != this
        and (path := shutil.which(f"python{minor}"))
        and not run(path, "-c", "import venv, ensurepip").returncode
    ]
    if not others:
        pytest.skip("needs a second Python between 3.10 and 3.13")
    pythons = [make_venv(tmp_path / "first"), tmp_path / "second/bin/python"]
    succeed(others[0], "-m", "venv", tmp_path / "second")
    tensorflow = f"tensorflow-cpu=={_build_info.TENSORFLOW_VERSION}"
    succeed(pythons[1], "-m", "pip", "install", tensorflow)

    for python in pythons:
        succeed(
            *(python, "-m", "pip", "install", "--ignore-installed"),
            *("--no-deps", "-e", "."),
            cwd=source,
            **CLEAN,
        )

    for python in pythons:
        check_import(python, tmp_path, source)
