# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The build files agree, say what is missing, and give what can be imported.

The wheel is built here in the build folder of `make`; every other way to
install is `slow`, because each compiles everything.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from typing import Any

import pytest
import tpuless
from tpuless import _build_info
from tpuless._version import __version__

# Some compile everything, perhaps on a busy machine.
pytestmark = pytest.mark.timeout(3600)

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


# The build files agree.


def glob(patterns: list[str]) -> list[str]:
    return sorted(
        str(path.relative_to(ROOT))
        for pattern in patterns
        for path in ROOT.glob(pattern)
    )


def bazel_sources() -> dict[str, list[str]]:
    """The .cc files of each target of BUILD, which is valid Python too."""
    sources = {}

    def target(name: str, srcs: list[str], **_: Any) -> None:
        sources[name] = sorted(src for src in srcs if src.endswith(".cc"))

    def ignore(*_: Any, **__: Any) -> None:
        pass

    names = {
        "cc_binary": target,
        "cc_library": target,
        "cc_test": target,
        "exports_files": ignore,
        "glob": glob,
        "load": ignore,
        "package": ignore,
    }
    exec(read("bazel/flags.bzl"), names)
    exec(read("BUILD"), names)
    return sources


def cmake_sources() -> dict[str, list[str]]:
    """The .cc files of each file(GLOB ...) of CMake."""
    files = ["CMakeLists.txt", *glob(["cmake/*.cmake"])]
    found = re.findall(
        r"file\(\s*GLOB\s+(\w+)\s+CONFIGURE_DEPENDS\s+([^)]*)\)",
        "".join(map(read, files)),
    )
    return {name: glob(patterns.split()) for name, patterns in found}


def test_bazel_and_cmake_compile_the_same_sources():
    bazel, cmake = bazel_sources(), cmake_sources()

    assert bazel.pop("engine") == cmake["engine_sources"]
    assert bazel.pop("config") == cmake["config_sources"]
    assert bazel.pop("libtpuless_ops.so") == cmake["ops_sources"]
    assert bazel.pop("_engine.so") == cmake["pybind_sources"]
    assert bazel.pop("libtpuless_plugin.so") == cmake["plugin_sources"]
    assert sorted(sum(bazel.values(), [])) == cmake["cc_tests"]


def test_every_source_is_compiled():
    compiled = sum(cmake_sources().values(), [])

    assert sorted(compiled) == glob(["**/cc/**/*.cc"])


def test_third_party_archives_have_the_sums_that_all_builds_expect():
    archives = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (ROOT / "third_party").glob("*.tar.gz")
    }

    for name, digest in archives.items():
        assert f"{digest}  {name}\n" in read("third_party/README.md")
        project, version = name.removesuffix(".tar.gz").rsplit("-", 1)
        assert re.search(
            rf"\b{project}\s+{re.escape(version)}\s+{digest}\b",
            read("cmake/Dependencies.cmake"),
        )
    bazel = re.findall(
        r'third_party/([^"]+)".*?sha256 = "(\w+)"',
        read("bazel/repositories.bzl"),
        re.DOTALL,
    )
    assert {"highway-1.0.3.tar.gz", "googletest-1.12.1.tar.gz"} == {
        name for name, digest in bazel if archives[name] == digest
    }


def test_all_files_name_one_tensorflow_minor():
    minor = re.escape(".".join(_pinned_tensorflow().split(".")[:2]))

    pins = re.findall(r"tensorflow-cpu==([\d.*]+)", read("pyproject.toml"))
    pins += re.findall(r"tensorflow-cpu==(\S+)", read("requirements/dev.in"))

    assert len(pins) == 3
    assert all(re.fullmatch(minor + r"\.\*", pin) for pin in pins)


def _pinned_tensorflow() -> str:
    found = re.search(r"tensorflow-cpu==(\S+)", read("requirements/dev.txt"))
    assert found is not None
    return found[1]


def test_bazel_names_the_version_of_the_package():
    assert f'version = "{__version__}"' in read("MODULE.bazel")


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


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> pathlib.Path:
    """A wheel from the build folder of `make`, which is mostly built."""
    folder = tmp_path_factory.mktemp("wheel")
    succeed(
        *(sys.executable, "-m", "pip", "wheel", "--no-build-isolation"),
        *("--no-deps", "--wheel-dir", folder, ROOT),
        TPULESS_BUILD_DIR=os.environ.get("TPULESS_BUILD_DIR", "build/make"),
        CMAKE_ARGS="-DTPULESS_BUILD_TESTS=ON",
    )
    (path,) = folder.glob("*.whl")
    return path


def test_wheel_is_for_one_python_and_platform(wheel):
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    platform = sysconfig.get_platform().replace("-", "_")

    assert wheel.name == (
        f"tpuless-{__version__}-{python}-{python}-{platform}.whl"
    )


def test_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    libraries = {name for name in names if ".so" in name}
    sources = {
        f"tpuless/{path.name}"
        for pattern in ("*.py", "*.pyi", "py.typed")
        for path in PACKAGE.glob(pattern)
    } | {"tpuless/_build_info.py"}

    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    assert libraries == {
        "tensorflow-plugins/libtpuless_plugin.so",
        f"tpuless/_engine{suffix}",
        "tpuless/libtpuless_ops.so",
    }
    packaged = {name for name in names if ".dist-info/" not in name}
    assert packaged - libraries == sources
    assert wheel.stat().st_size < 20e6


def test_wheel_names_no_folder_of_this_machine(wheel, tmp_path):
    zipfile.ZipFile(wheel).extractall(tmp_path)

    for library in tmp_path.glob("*/*.so"):
        dynamic = succeed("readelf", "--dynamic", "--wide", library)
        paths = re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", dynamic)
        is_plugin = library.parent.name == "tensorflow-plugins"
        assert paths == ([] if is_plugin else ["$ORIGIN/../tensorflow"])
        content = library.read_bytes()
        assert str(ROOT).encode() not in content
        assert SITE_PACKAGES.encode() not in content


def test_wheel_needs_no_library_but_those_of_tensorflow_and_the_system(
    wheel, tmp_path
):
    zipfile.ZipFile(wheel).extractall(tmp_path)

    for library in tmp_path.glob("*/*.so"):
        dynamic = succeed("readelf", "--dynamic", "--wide", library)
        needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
        assert needed <= {
            "ld-linux-aarch64.so.1",
            "ld-linux-x86-64.so.2",
            "libc.so.6",
            "libgcc_s.so.1",
            "libm.so.6",
            "libpthread.so.0",
            "libstdc++.so.6",
            "libtensorflow_cc.so.2",
            "libtensorflow_framework.so.2",
        }


def test_wheel_can_be_imported(wheel, tmp_path):
    succeed(
        *(sys.executable, "-m", "pip", "install", "--no-deps"),
        *("--target", tmp_path, wheel),
    )

    output = succeed(
        sys.executable, "-c", IMPORT, cwd=tmp_path, PYTHONPATH=str(tmp_path)
    )

    assert output.strip() == str(tmp_path / "tpuless" / "__init__.py")


def test_wheel_gives_virtual_cores_to_a_script_that_is_unaware(wheel, tmp_path):
    folder = tmp_path / "site-packages"  # As TensorFlow knows such folders.
    succeed(
        *(sys.executable, "-m", "pip", "install", "--no-deps"),
        *("--target", folder, wheel),
    )
    code = "import tensorflow as tf; print(tf.config.list_logical_devices())"

    def list_devices(cores: str) -> str:
        return succeed(
            *(sys.executable, "-c", code),
            cwd=tmp_path,
            PYTHONPATH=str(folder),
            TPULESS_CORES=cores,
        )

    assert "TPU" not in list_devices("")
    assert "/device:TPU:1" in list_devices("2")


# Every way to install, from nothing.


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


@pytest.fixture
def source(tmp_path) -> pathlib.Path:
    """A copy of the source tree without anything built."""
    return pathlib.Path(
        shutil.copytree(
            ROOT,
            tmp_path / "source",
            ignore=shutil.ignore_patterns(
                *(".git", ".venv", "build", "dist", "*.so", "_build_info.py"),
                *("*.egg-info", "*_cache", "__pycache__", "bazel-*"),
            ),
        )
    )


def check_import(python: pathlib.Path, *folders: pathlib.Path, **environ: str):
    for folder in folders:
        succeed(python, "-c", IMPORT, cwd=folder, **environ)


# Of `make`, not for these.
CLEAN = {"TPULESS_BUILD_DIR": "", "CMAKE_ARGS": ""}


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
def test_sdist_can_be_installed(source, tmp_path):
    python = make_venv(tmp_path / "venv")
    code = "import setuptools.build_meta as b; b.build_sdist('dist')"
    succeed(python, "-c", code, cwd=source)
    (sdist,) = (source / "dist").glob("*.tar.gz")

    succeed(
        *(python, "-m", "pip", "install", "--ignore-installed", "--no-deps"),
        *("--no-build-isolation", sdist),
        cwd=tmp_path,
        **CLEAN,
    )

    check_import(python, tmp_path, source)


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
