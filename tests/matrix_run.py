# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Builds and tests tpuless for one TensorFlow, for tests/matrix.py."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from xml.etree import ElementTree

sys.path.append(str(pathlib.Path(__file__).with_name("java")))
from releases import PUBLISHED, RELEASES

_ROOT = pathlib.Path(__file__).resolve().parents[1]
# TensorFlow makes its devices once a process, and `make test` runs the rest.
_CORES = "2"

STEPS = ["cc", "python", "virtual_tpu", "java"]

# What the environment of a TensorFlow has, and what it is.
_FACTS = """
import importlib.metadata, json, pathlib, platform, re, sysconfig
folder = pathlib.Path(sysconfig.get_path("purelib"))
header = folder / "tensorflow/include/google/protobuf/stubs/common.h"
number = int(re.search(r"PROTOBUF_VERSION (\\d+)", header.read_text())[1])
print(json.dumps({
    "interpreter": platform.python_version(),
    "protobuf": importlib.metadata.version("protobuf"),
    # Of 3021009 and later ones, which C++ counts as 3.x, releases say 21.9.
    "protoc": f"{number // 1000 % 1000}.{number % 1000}",
}))
"""


@dataclasses.dataclass
class Result:
    """One row of the table: what a TensorFlow was found to do."""

    tensorflow: str
    interpreter: str = ""
    protobuf: str = ""
    protoc: str = ""
    builds: str = "no"
    pip_check: str = ""
    cc: str = ""
    python: str = ""
    virtual_tpu: str = ""
    java: str = ""
    failed: Sequence[str] = ()


def minor_of(version: str) -> str:
    """Returns the first two numbers."""
    return ".".join(version.split(".")[:2])


class Run:
    """The steps of one TensorFlow, in a folder of their own."""

    def __init__(
        self, tensorflow: str, python: str, steps: Sequence[str]
    ) -> None:
        code = "import sys; print('{}.{}'.format(*sys.version_info))"
        minor = _output(python, "-c", code).strip()
        self._base = python
        self._steps = steps
        self._folder = _ROOT / f"build/matrix/{tensorflow}-python{minor}"
        self._python = self._folder / "venv/bin/python"
        self._cmake = self._folder / "cmake"
        self._reports = self._folder / "reports"
        self._result = Result(tensorflow, interpreter=minor)
        self._failed: list[str] = []

    def run(self) -> Result:
        """Returns what was found, and keeps it as a file."""
        shutil.rmtree(self._reports, ignore_errors=True)
        self._reports.mkdir(parents=True)
        if self._install() and self._build():
            self._check_requirements()
            for step in self._steps:
                outcome = getattr(self, f"_test_{step}")()
                setattr(self._result, step, outcome)
        self._keep()
        return dataclasses.replace(self._result, failed=self._failed)

    def _keep(self) -> None:
        """Writes a file for --docs; steps that did not run stay in it."""
        path = self._folder / "result.json"
        kept = {}
        if self._steps != STEPS and path.exists():
            kept = json.loads(path.read_text(encoding="utf-8"))
        found = dataclasses.asdict(self._result)
        kept |= {name: value for name, value in found.items() if value}
        path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")

    def _install(self) -> bool:
        if not self._succeeds(
            "requirements",
            *(self._base, "requirements/install.py", self._folder / "venv"),
            f"requirements/matrix/{self._result.tensorflow}.txt",
        ):
            return False
        facts = json.loads(_output(self._python, "-c", _FACTS))
        self._result = dataclasses.replace(self._result, **facts)
        return True

    def _build(self) -> bool:
        print("Building; the first time takes some minutes", flush=True)
        built = self._succeeds(
            "build",
            *(self._python, "-m", "pip", "install", "--quiet"),
            *("--no-build-isolation", "--no-deps", "--force-reinstall", "."),
        )
        self._result.builds = "yes" if built else "no"
        return built

    def _check_requirements(self) -> None:
        """Runs `pip check`; TensorFlow itself has another name here."""
        output = _output(self._python, "-m", "pip", "check", check=False)
        conflicts = [
            line
            for line in output.splitlines()
            if "requires tensorflow, which is not installed" not in line
            and line != "No broken requirements found."
        ]
        print("\n".join(conflicts) or "No broken requirements", flush=True)
        self._result.pip_check = "conflicts" if conflicts else "clean"
        if conflicts:
            self._failed.append("pip check")

    def _test_cc(self) -> str:
        """Tests what is compiled with TensorFlow's headers."""
        report = self._reports / "cc.xml"
        cmake = self._python.with_name("cmake")
        ctest = self._python.with_name("ctest")
        build = (cmake, "--build", self._cmake, "--target", "tensorflow_tests")
        if self._succeeds("C++ tests", *build):
            self._succeeds(
                "C++ tests",
                *(ctest, "--test-dir", self._cmake, "--output-on-failure"),
                *("--label-regex", "tensorflow", "--quiet"),
                *("--output-junit", report),
            )
        return _counts(report)

    def _test_python(self) -> str:
        return self._pytest("tests/python")

    def _test_virtual_tpu(self) -> str:
        return self._pytest("tests/virtual_tpu", TPULESS_CORES=_CORES)

    def _pytest(self, folder: str, **environ: str) -> str:
        report = self._reports / f"{pathlib.Path(folder).name}.xml"
        self._succeeds(
            folder,
            *(self._python, "-m", "pytest", folder, "-q", "-rs"),
            *("-p", "no:cacheprovider", f"--junit-xml={report}"),
            **environ,
        )
        return _counts(report)

    def _test_java(self) -> str:
        """Runs tests/java, where there are a JVM and a TF Java for it."""
        minor = minor_of(self._result.tensorflow)
        if RELEASES.get(minor) not in PUBLISHED:
            return "no TF Java"
        if self._steps == STEPS and not (
            shutil.which("javac") and shutil.which("mvn")
        ):
            return "no JDK or Maven"
        # That of `make build` is for the newest, which has none.
        foreign = _ROOT / "python/tpuless/libtpuless_ops.so"
        arguments = [foreign] if foreign.exists() else []
        command = (self._python, "tests/java/run.py", *arguments)
        passed = self._succeeds("tests/java", *command)
        return f"{RELEASES[minor]} {'passed' if passed else 'failed'}"

    def _succeeds(self, step: str, *command: object, **more: str) -> bool:
        """Returns whether a command of this step succeeds, and notes it."""
        words = [str(word) for word in command]
        environ = {
            **os.environ,
            "CMAKE_ARGS": "-DTPULESS_BUILD_TESTS=ON",
            "TPULESS_BUILD_DIR": str(self._cmake.relative_to(_ROOT)),
            **more,
        }
        # Nothing but what is installed is to be found.
        environ.pop("PYTHONPATH", None)
        sys.stdout.flush()
        result = subprocess.run(words, cwd=_ROOT, env=environ, check=False)
        if not result.returncode:
            return True
        if result.returncode < 0:  # Then the command itself said nothing.
            print(f"{step}: ended by {signal.Signals(-result.returncode).name}")
        self._failed.append(step)
        return False


def _output(*command: object, check: bool = True) -> str:
    return subprocess.run(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        text=True,
        check=check,
        cwd=_ROOT,
    ).stdout


def _counts(report: pathlib.Path) -> str:
    """Returns what passed, and what else there was, by a JUnit file."""
    if not report.exists():
        return "did not run"
    cases = list(ElementTree.parse(report).iter("testcase"))
    tags = [{child.tag for child in case} for case in cases]
    failed = sum(bool(tag & {"failure", "error"}) for tag in tags)
    skipped = sum("skipped" in tag for tag in tags)
    counts = f"{len(cases) - failed - skipped} passed"
    counts += f", {skipped} skipped" if skipped else ""
    return counts + (f", {failed} failed" if failed else "")
