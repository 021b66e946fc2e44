# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""CMake and Bazel build the same, and all files name the same versions.

CMake configures, and says in its build folder what it would run; BUILD, which
is valid Python too, is run with functions that note what they are called with.
"""

from __future__ import annotations

import hashlib
import json
import os
import pathlib
import re
import shlex
import sys
from typing import Any

import pytest
from builds import CMAKE, ROOT, read, succeed
from tpuless._version import __version__

# Of a source: its target, and the flags that compile it.
Sources = dict[str, tuple[str, set[str]]]

# The targets of CMake that have another name in Bazel.
BAZEL_NAMES = {
    "tpuless_config": "config",
    "tpuless_engine": "engine",
    "tpuless_ops": "libtpuless_ops.so",
    "tpuless_plugin": "libtpuless_plugin.so",
    "tpuless_pybind": "_engine.so",
}

# Flags that decide what is built, without those that both tools add of
# themselves, as they think best.
FLAG = re.compile(r"-[DOWf].*|-std=.*")
OF_A_TOOL = re.compile(
    r"-D\w+_EXPORTS|-fPIC|-fPIE|-fmacro-prefix-map=.*|-Winvalid-pch"
)


def glob(*patterns: str) -> list[str]:
    return sorted(
        str(path.relative_to(ROOT))
        for pattern in patterns
        for path in ROOT.glob(pattern)
    )


# What CMake would run.


@pytest.fixture(scope="module")
def cmake(tmp_path_factory) -> pathlib.Path:
    """The folder of a build of everything that is configured only."""
    folder = tmp_path_factory.mktemp("cmake")
    succeed(
        *(CMAKE, "-S", ROOT, "-B", folder, "-G", "Unix Makefiles"),
        f"-DPython_EXECUTABLE={sys.executable}",
        "-DTPULESS_BUILD_TESTS=ON",
        "-DTPULESS_BUILD_BENCHMARKS=ON",
    )
    return folder


def cmake_sources(folder: pathlib.Path) -> Sources:
    sources = {}
    for entry in json.loads((folder / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        target = re.findall(r"CMakeFiles/(\w+)\.dir/", output)[0]
        source = os.path.relpath(entry["file"], ROOT)
        if source.startswith(".."):  # Unpacked, or made by CMake.
            source = re.sub(r".*/highway-src/", "", source)
        flags = {
            word
            for word in words
            if FLAG.fullmatch(word) and not OF_A_TOOL.fullmatch(word)
        }
        sources[source] = (BAZEL_NAMES.get(target, target), flags)
    return sources


def cmake_link_options(folder: pathlib.Path, target: str) -> set[str]:
    link = (folder / f"CMakeFiles/{target}.dir/link.txt").read_text()
    words = shlex.split(link.replace("\\$", "$"))
    return {word for word in words if word.startswith("-Wl,")}


# What Bazel would run.


def bazel_targets() -> dict[str, dict[str, Any]]:
    """The arguments of each target of BUILD and of Highway."""
    targets = {}

    def target(name: str, **arguments: Any) -> None:
        targets[name] = arguments

    def bazel_glob(patterns: list[str]) -> list[str]:
        return glob(*patterns)

    def ignore(*_: Any, **__: Any) -> None:
        pass

    names = {
        "cc_binary": target,
        "cc_library": target,
        "cc_test": target,
        "exports_files": ignore,
        "glob": bazel_glob,
        "load": ignore,
        "package": ignore,
    }
    for file in ("bazel/flags.bzl", "BUILD", "bazel/highway.BUILD"):
        exec(read(file), names)
    return targets


def bazel_sources() -> Sources:
    targets = bazel_targets()
    options = read(".bazelrc")
    assert "build --compilation_mode=opt\n" in options
    always = {"-DNDEBUG", *re.findall("^build --cxxopt=(.*)", options, re.M)}

    def defines(label: str) -> set[str]:
        """The definitions that whoever depends on a label gets from it."""
        target = targets.get(label.rpartition(":")[2], {})
        found = {f"-D{name}" for name in target.get("defines", ())}
        return found.union(*map(defines, target.get("deps", ())))

    return {
        source: (name, {*always, *target["copts"], *defines(name)})
        for name, target in targets.items()
        for source in target["srcs"]
        if source.endswith(".cc")
    }


def test_bazel_and_cmake_compile_the_same_in_the_same_way(cmake):
    expected = {
        source: target
        for source, target in cmake_sources(cmake).items()
        if source.startswith(("cc/", "hwy/", "tests/"))
    }

    assert len(expected) > 100
    assert bazel_sources() == expected


@pytest.mark.parametrize(
    "target", ["tpuless_ops", "tpuless_plugin", "tpuless_pybind"]
)
def test_bazel_and_cmake_link_in_the_same_way(target, cmake):
    options = bazel_targets()[BAZEL_NAMES[target]].get("linkopts", [])

    assert {
        option.replace("$$", "$") for option in options
    } == cmake_link_options(cmake, target)


def test_every_source_is_compiled(cmake):
    compiled = {s for s in cmake_sources(cmake) if not s.startswith("..")}

    ours = glob("cc/**/*.cc", "tests/cc/**/*.cc", "benchmarks/cc/**/*.cc")
    assert compiled >= {*ours}


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
