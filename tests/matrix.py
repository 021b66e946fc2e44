# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Builds and tests tpuless for several TensorFlows, each by itself.

    python tests/matrix.py                  # every one in requirements/matrix/
    python tests/matrix.py 2.18.1           # one of them
    python tests/matrix.py --turn           # an older one, by turns
    python tests/matrix.py --java 1.1.0     # in the JVM alone, by TF Java

Each gets an environment and a build of its own in build/matrix/, where
tpuless is installed as users have it, out of reach of python/tpuless/. The
tests go on after what fails; the end is a table of all that ran. Needs
nothing but a Python of its own.
"""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys

from matrix_run import PUBLISHED, RELEASES, STEPS, Result, Run, minor_of

_ROOT = pathlib.Path(__file__).resolve().parents[1]
_PINS = _ROOT / "requirements" / "matrix"
_BUILD = _ROOT / "build" / "matrix"
_DOCS = _ROOT / "docs" / "tensorflow_versions.md"
_BEGIN, _END = "<!-- matrix.py: begin -->", "<!-- matrix.py: end -->"


def main() -> None:
    """Tests what the command line names, then prints the table."""
    versions = _pinned()
    arguments = _parse(versions)
    if arguments.docs:
        _write_docs()
        return
    steps = arguments.only or STEPS
    chosen = arguments.tensorflow or versions
    if arguments.turn:
        chosen = [_in_turn(versions)]
        print(f"The older TensorFlow whose turn it is: {chosen[0]}", flush=True)
    if arguments.java:
        chosen, steps = [_of_java(arguments.java, versions)], ["java"]
    results = []
    for version in chosen:
        print(f"\n==== TensorFlow {version} ====", flush=True)
        results.append(Run(version, arguments.python, steps).run())
    print(f"\n{render(results)}", flush=True)
    failed = [
        f"{result.tensorflow}: {step}"
        for result in results
        for step in result.failed
    ]
    if failed:
        raise SystemExit(f"failed with TensorFlow {', '.join(failed)}")


def _pinned() -> list[str]:
    """Returns the versions that there are requirements for, oldest first."""
    names = [path.stem for path in _PINS.glob("*.txt")]
    return sorted(names, key=lambda name: list(map(int, name.split("."))))


def _parse(versions: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("tensorflow", nargs="*", metavar="TENSORFLOW")
    parser.add_argument(
        "--turn",
        action="store_true",
        help="takes an older one by the number of commits",
    )
    parser.add_argument(
        "--java",
        metavar="RELEASE",
        help="tests in a JVM alone, with the TensorFlow of this TF Java",
    )
    parser.add_argument(
        "--only", action="append", choices=STEPS, help="a step; more by more"
    )
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument(
        "--docs",
        action="store_true",
        help=f"runs nothing; writes all results into {_DOCS.name}",
    )
    arguments = parser.parse_args()
    for version in arguments.tensorflow:
        if version not in versions:
            raise SystemExit(
                f"TF must be one of {', '.join(versions)}, for which "
                f"requirements/matrix/ has pins; got {version}"
            )
    return arguments


def _in_turn(versions: list[str]) -> str:
    """Returns one of an older minor, another one for each commit."""
    newest = minor_of(versions[-1])
    older = [each for each in versions if minor_of(each) != newest]
    command = ("git", "rev-list", "--count", "HEAD")
    count = subprocess.check_output(command, cwd=_ROOT, text=True)
    return older[int(count) % len(older)]


def _of_java(release: str, versions: list[str]) -> str:
    """Returns the version of the minor that a release of TF Java brings."""
    for version in versions:
        if RELEASES.get(minor_of(version)) == release and release in PUBLISHED:
            return version
    raise SystemExit(
        f"TF_JAVA must be one of {', '.join(sorted(PUBLISHED))}, got {release}"
    )


def render(results: list[Result]) -> str:
    """Returns the table, in Markdown."""
    columns = {
        "TensorFlow": "tensorflow",
        "Python": "interpreter",
        "builds": "builds",
        "C++ tests": "cc",
        "Python tests": "python",
        "virtual TPU": "virtual_tpu",
        "JVM": "java",
        "protobuf": "protobuf",
        "of C++": "protoc",
        "`pip check`": "pip_check",
    }
    rows = [[*columns], ["---"] * len(columns)] + [
        [getattr(result, name) or "-" for name in columns.values()]
        for result in results
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _write_docs() -> None:
    """Replaces the table in docs/ by one of all results in build/matrix/."""
    results = [
        Result(**json.loads(path.read_text(encoding="utf-8")))
        for path in _BUILD.glob("*/result.json")
    ]
    results.sort(key=lambda result: (result.tensorflow, result.interpreter))
    before, _, rest = _DOCS.read_text(encoding="utf-8").partition(_BEGIN)
    after = rest.partition(_END)[2]
    _DOCS.write_text(
        f"{before}{_BEGIN}\n{render(results)}\n{_END}{after}", encoding="utf-8"
    )


if __name__ == "__main__":
    main()
