# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""A wheel says which TensorFlow it is for, and works beside that one alone.

The wheel is built in the build folder of `make`, as `make wheel` does; `slow`
are that command in a clean copy, and the environments to install its wheel in.
"""

from __future__ import annotations

import os
import pathlib
import re
import sys
import sysconfig
import zipfile

import pytest
from builds import (
    CLEAN,
    IMPORT,
    PACKAGE,
    ROOT,
    SITE_PACKAGES,
    copy_source,
    read,
    run,
    succeed,
)
from tpuless import _build_info
from tpuless._version import __version__

# Some compile everything, perhaps on a busy machine.
pytestmark = pytest.mark.timeout(3600)

MINOR = ".".join(_build_info.TENSORFLOW_VERSION.split(".")[:2])
LABELED = f"{__version__}+tf{MINOR}"


# The version.


def fake_tensorflow(folder: pathlib.Path, package: str, version: str) -> str:
    """Installs no more of a package than a build asks; returns `folder`."""
    (folder / "tensorflow" / "include").mkdir(parents=True)
    (folder / "tensorflow" / "__init__.py").touch()
    metadata = folder / f"{package}-{version}.dist-info"
    metadata.mkdir()
    name = package.replace("_", "-")
    (metadata / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n")
    (metadata / "RECORD").write_text("tensorflow/__init__.py,,\n")
    return str(folder)


@pytest.mark.parametrize(
    ("package", "version", "label"),
    [
        ("tensorflow", "2.16.2", "tf2.16"),
        ("tensorflow_cpu", "2.21.0", "tf2.21"),
        ("tensorflow_cpu", "2.30.0rc1", "tf2.30"),
        ("tf_nightly", "2.22.0.dev20260101", "tf2.22"),
    ],
)
def test_label_is_the_minor_of_the_installed_tensorflow(
    package, version, label, tmp_path
):
    path = fake_tensorflow(tmp_path, package, version)
    ask = (sys.executable, "setup.py", "--version")

    labeled = succeed(*ask, PYTHONPATH=path, TPULESS_LABEL="1")
    plain = succeed(*ask, PYTHONPATH=path, TPULESS_LABEL="")

    assert labeled.splitlines()[-1] == f"{__version__}+{label}"
    assert plain.splitlines()[-1] == __version__


def test_label_without_tensorflow_is_refused():
    code = (
        "import runpy, sys; sys.modules['tensorflow'] = None; "
        "sys.argv = ['setup.py', '--version']; "
        "runpy.run_path('setup.py', run_name='__main__')"
    )

    result = run(sys.executable, "-c", code, TPULESS_LABEL="1")

    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        "tpuless needs TensorFlow 2.16 or later, found none in "
        f"{sys.executable}; 'pip install tensorflow-cpu' gives it"
    )


def test_version_without_the_label_is_that_of_the_module():
    version = succeed(
        *(sys.executable, "-c"),
        "from importlib import metadata; print(metadata.version('tpuless'))",
    )

    assert version.strip().partition("+")[0] == __version__


# The wheel.


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> pathlib.Path:
    """A wheel from the build folder of `make`, which is mostly built."""
    built, repaired = (tmp_path_factory.mktemp(name) for name in ("a", "b"))
    succeed(
        *(sys.executable, "-m", "pip", "wheel", "--no-build-isolation"),
        *("--no-deps", "--wheel-dir", built, ROOT),
        TPULESS_BUILD_DIR=os.environ.get("TPULESS_BUILD_DIR", "build/make"),
        TPULESS_LABEL="1",
        CMAKE_ARGS="-DTPULESS_BUILD_TESTS=ON",
    )
    (path,) = built.glob("*.whl")
    (options,) = re.findall(
        r"^\tauditwheel repair --wheel-dir dist (.*) build/wheel/",
        read("Makefile").replace("\\\n", " "),
        re.MULTILINE,
    )
    succeed(
        *(sys.executable, "-m", "auditwheel", "repair"),
        *options.split(),
        *("--wheel-dir", repaired, path),
        PATH=f"{sysconfig.get_path('scripts')}:{os.environ['PATH']}",
    )
    (path,) = repaired.glob("*.whl")
    return path


def test_wheel_is_for_one_tensorflow_and_python_and_many_linuxes(wheel):
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    machine = sysconfig.get_platform().rpartition("-")[2]

    assert re.fullmatch(
        rf"tpuless-{re.escape(LABELED)}-{python}-{python}-"
        rf"(\.?manylinux\w+_{machine})+\.whl",
        wheel.name,
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
    packaged = {
        name
        for name in names
        if ".dist-info/" not in name and not name.endswith("/")
    }
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


# Where a wheel of `make wheel` goes.


@pytest.fixture(scope="module")
def made_wheel(tmp_path_factory) -> pathlib.Path:
    """What `make wheel` makes out of a clean copy, and an older wheel."""
    source = copy_source(tmp_path_factory.mktemp("made") / "source")
    (source / "dist").mkdir()
    (source / "dist" / "tpuless-0.0.1-py3-none-any.whl").touch()
    make = ("make", "wheel", f"PYTHON={sys.executable}")
    succeed(*make, cwd=source, **CLEAN)
    (path,) = (source / "dist").iterdir()
    return path


def install(folder: pathlib.Path, *packages: str | pathlib.Path) -> str:
    """Installs packages into a new environment; returns its Python."""
    succeed(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python)
    succeed(*pip, "install", "--quiet", *packages)
    assert succeed(*pip, "check") == "No broken requirements found.\n"
    return str(python)


@pytest.mark.slow
@pytest.mark.parametrize("package", ["tensorflow-cpu", "tensorflow"])
def test_wheel_serves(package, made_wheel, tmp_path):
    tensorflow = f"{package}=={_build_info.TENSORFLOW_VERSION}"
    code, printed = re.findall(
        r"```(?:python)?\n(.*?)```", read("README.md"), re.DOTALL
    )[:2]
    devices = "import tensorflow as tf; print(tf.config.list_logical_devices())"

    python = install(tmp_path / "venv", tensorflow, made_wheel)

    assert succeed(python, "-c", code, cwd=tmp_path) == printed
    version = succeed(python, "-m", "tpuless", "--version", cwd=tmp_path)
    assert version.endswith(
        f" for TensorFlow {_build_info.TENSORFLOW_VERSION}\n"
    )
    assert "TPU:1" in succeed(python, "-c", devices, TPULESS_CORES="2")


def last_error(*command: str, **environ: str) -> str:
    result = run(*command, cwd=pathlib.Path("/"), **environ)
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stderr.splitlines()[-1]


@pytest.mark.slow
def test_wheel_beside_another_minor_says_so(made_wheel, tmp_path):
    major, minor = map(int, MINOR.split("."))
    other = f"{major}.{minor - 1}"

    python = install(
        tmp_path / "venv", f"tensorflow-cpu=={other}.*", made_wheel
    )

    sentence = (
        rf"ImportError: tpuless is built for TensorFlow {re.escape(MINOR)}\.\S+"
        rf", found {re.escape(other)}\.\S+ \([^)]*\); run 'pip install "
        r"--no-build-isolation --no-deps --force-reinstall \.' in its source "
        r"folder"
    )
    for code in (
        "import tpuless",
        "from tpuless import library_path",
        "from tpuless import _engine",
    ):
        assert re.fullmatch(sentence, last_error(python, "-c", code))
    command = str(pathlib.Path(python).with_name("tpuless"))
    assert re.fullmatch(sentence, last_error(command, "--version"))
    # TensorFlow alone is not disturbed, unless it is asked for our cores.
    tensorflow = (python, "-c", "import tensorflow")
    succeed(*tensorflow)
    assert re.fullmatch(sentence, last_error(*tensorflow, TPULESS_CORES="1"))


@pytest.mark.slow
def test_wheel_without_tensorflow_says_so(made_wheel, tmp_path):
    python = install(tmp_path / "venv", made_wheel)

    assert last_error(python, "-c", "import tpuless") == (
        f"ImportError: tpuless needs TensorFlow, found none in {python}; "
        "'pip install tensorflow-cpu' gives it"
    )
