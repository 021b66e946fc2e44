# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The command `tpuless`."""

from __future__ import annotations

import argparse
import math
import pathlib
import runpy
import sys
from collections.abc import Iterator, Sequence

from google.protobuf import text_format
from tensorflow.core.protobuf.tpu import tpu_embedding_configuration_pb2

from tpuless import _build_info, _engine, virtual_tpu
from tpuless._version import __version__


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command; returns its exit code.

    Args:
      argv: The arguments behind the command's name, by default the process's.
    """
    arguments = _make_parser().parse_args(argv)
    try:
        arguments.run(arguments)
    except _CommandError as error:
        print(f"tpuless {arguments.command}: {error}", file=sys.stderr)
        return 1
    return 0


class _CommandError(Exception):
    """What a command cannot do, in one sentence."""


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tpuless", description="TPU embeddings without a TPU."
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"tpuless {__version__} for TensorFlow "
        f"{_build_info.TENSORFLOW_VERSION}",
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", required=True
    )
    inspect = commands.add_parser(
        "inspect",
        help="check a TPU embedding configuration and say what it makes",
        description="Checks a TPUEmbeddingConfiguration as the engine does, "
        "and prints its tables, outputs, optimizers, learning rates and "
        "memory. The exit code is 1 if the engine would refuse it.",
    )
    inspect.add_argument(
        "config",
        metavar="CONFIG",
        help="a file with the message, serialized or in text format",
    )
    inspect.set_defaults(run=_inspect)
    run = commands.add_parser(
        "run",
        help="run a script on virtual TPU cores",
        description="Runs a Python script, as it is, on a machine without a "
        "TPU: TPUClusterResolver() and TPUStrategy find virtual cores.",
    )
    run.add_argument(
        "--cores",
        type=int,
        default=1,
        metavar="N",
        help="how many virtual TPU cores there are, by default 1",
    )
    run.add_argument("script", metavar="SCRIPT", help="a Python file")
    run.add_argument(
        "arguments",
        metavar="ARG",
        nargs=argparse.REMAINDER,
        help="an argument of the script",
    )
    run.set_defaults(run=_run)
    return parser


def _run(arguments: argparse.Namespace) -> None:
    script = pathlib.Path(arguments.script)
    if not script.is_file():
        raise _CommandError(f"no script '{script}'")
    try:
        virtual_tpu(arguments.cores)
    except (ValueError, RuntimeError) as error:
        raise _CommandError(str(error)) from error
    # What `python SCRIPT` would set.
    sys.argv = [arguments.script, *arguments.arguments]
    sys.path[0] = str(script.resolve().parent)
    runpy.run_path(arguments.script, run_name="__main__")


def _inspect(arguments: argparse.Namespace) -> None:
    config = _read_config(arguments.config)
    try:
        description = _engine.describe(config)
    except (ValueError, NotImplementedError) as error:
        raise _CommandError(str(error)) from error
    print("\n".join(_describe(description)))


def _read_config(path: str) -> bytes:
    """Returns the serialized configuration that a file holds in either form."""
    try:
        content = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise _CommandError(
            f"cannot read '{path}', {error.strerror or error}"
        ) from error
    text = content.decode("utf-8", "replace")
    # A serialized message has at least one byte that no text has.
    if not all(c.isprintable() or c in "\t\r\n" for c in text):
        return content
    message = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration()
    try:
        text_format.Parse(text, message)
    except text_format.ParseError as error:
        raise _CommandError(
            f"'{path}' must be a TPUEmbeddingConfiguration, serialized or in "
            f"text format, got at {error}"
        ) from error
    return message.SerializeToString()


def _describe(config: _engine.ConfigDescription) -> Iterator[str]:
    """Yields the lines that `tpuless inspect` prints."""
    tables = config["tables"]
    yield (
        f"mode {config['mode']}, {_count(config['num_hosts'], 'host')}, "
        f"{_count(config['num_cores'], 'core')} a host, "
        f"batch size {config['batch_size']} a core, "
        f"sharding {config['sharding']}"
        f"{', pipelined' if config['pipelined'] else ''}"
    )
    yield ""
    yield "tables"
    for table in tables:
        yield (
            f"  '{table['name']}': vocabulary_size {table['vocabulary_size']}, "
            f"dimension {table['dimension']}, {_bytes(_num_bytes(table))}"
        )
        yield f"    {_optimizer(table)}"
    yield ""
    yield "outputs"
    for output in config["outputs"]:
        of_table = ""
        if config["feature_layout"]:
            of_table = f" of table '{tables[output['table']]['name']}'"
        yield f"  {output['title']}{of_table}: {output['shape']}"
    yield ""
    yield f"learning rates in each step: {config['num_learning_rates']}"
    yield (
        f"memory: {_bytes(sum(map(_num_bytes, tables)))}, this machine has "
        f"{_bytes(config['memory_limit'])}"
    )


def _optimizer(table: _engine.TableDescription) -> str:
    parts = [
        f"{name} {value:g}" for name, value in table["hyperparameters"].items()
    ]
    if table["slots"]:
        parts.append(f"slot variables {', '.join(table['slots'])}")
    if table["learning_rate_tag"] is None:
        parts.append(f"learning rate {table['learning_rate']:g}")
    else:
        parts.append(f"learning rate of tag {table['learning_rate_tag']}")
    return f"{table['optimizer']}: {', '.join(parts)}"


def _num_bytes(table: _engine.TableDescription) -> int:
    num_variables = 1 + len(table["slots"])
    return 4 * num_variables * table["vocabulary_size"] * table["dimension"]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _bytes(number: int) -> str:
    units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
    power = min(int(math.log2(max(number, 1))) // 10, len(units) - 1)
    digits = ".1f" if power else "d"
    return (
        f"{number / 1024**power if power else number:{digits}} {units[power]}"
    )
