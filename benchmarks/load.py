# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Times loading and retrieving of a 1,000,000 x 64 table against memcpy.

    python benchmarks/load.py

The table has an optimizer with one slot variable, Adagrad. NumPy copies as
many floats: into new memory, as the engine's is at the first load, and into
memory that it has written before. The memory that a call takes is the peak of
the process beyond what it holds before and after, which are the tensors and
the table; that of the table what the process grows by in the first load. A
summary goes to stderr, one line of JSON a process to stdout.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rounds

WARMUP = 1
# What is compared with what. TensorFlow keeps the memory of a retrieval for
# the next one, so that it is not new either.
COMPARED = {
    "first load": "copy to new",
    "load": "copy",
    "retrieve": "copy",
}


def held_bytes(field: str) -> int:
    """Returns the memory of this process: VmRSS now, VmHWM its peak."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status must have {field}")


def bytes_beyond(function: Callable[[], Any], kept: int) -> int:
    """Returns the peak of a call beyond the `kept` bytes it leaves behind."""
    Path("/proc/self/clear_refs").write_text("5")  # Resets the peak.
    before = held_bytes("VmHWM")
    result = function()
    peak = held_bytes("VmHWM")
    del result
    return peak - before - kept


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Measures loading and retrieving in this process."""
    # These import TensorFlow.
    import numpy as np
    import tensorflow as tf
    import tpuless
    import tpuless_side
    import workloads

    shape = workloads.WORKLOADS["w1m64"]._replace(
        vocabulary_size=request["rows"]
    )
    config = tpuless_side.make_config(shape, "adagrad")
    table = {"table_id": 0, "num_shards": 1, "shard_id": 0}
    (weights,) = workloads.make_tables(shape)
    tensors = [tf.constant(weights), tf.constant(weights + np.float32(1))]
    del weights
    # They share the tensors' memory, as a second 4 GB might be too much.
    arrays = [np.asarray(memoryview(tensor)) for tensor in tensors]
    copies = [array.copy() for array in arrays]
    num_bytes = sum(array.nbytes for array in arrays)

    def configure() -> None:
        tpuless.reset()
        tf.raw_ops.ConfigureTPUEmbedding(config=config)

    def load() -> None:
        tf.raw_ops.LoadTPUEmbeddingAdagradParameters(
            parameters=tensors[0], accumulators=tensors[1], **table
        )

    def retrieve() -> Any:
        return tf.raw_ops.RetrieveTPUEmbeddingAdagradParameters(**table)

    def copy() -> None:
        for array, to in zip(arrays, copies, strict=True):
            np.copyto(to, array)

    # Before anything is left in pools of memory.
    before = held_bytes("VmRSS")
    configure()
    beyond = {
        "first load": bytes_beyond(load, num_bytes),
    }
    table_bytes = held_bytes("VmRSS") - before
    beyond |= {
        "load": bytes_beyond(load, 0),
        "retrieve": bytes_beyond(retrieve, num_bytes),
    }
    for array, variable in zip(arrays, retrieve(), strict=True):
        if not np.array_equal(array, variable.numpy()):
            raise SystemExit("what is retrieved must equal what was loaded")
    times = rounds.interleave(
        {
            "configure": lambda k: configure(),
            "first load": lambda k: load(),
            "copy to new": lambda k: [array.copy() for array in arrays],
            "load": lambda k: load(),
            "copy": lambda k: copy(),
            "retrieve": lambda k: retrieve(),
        },
        request["rounds"],
        WARMUP,
        alternate=False,
    )
    return {
        "benchmark": "load",
        "bytes": num_bytes,
        "table_bytes": table_bytes,
        "bytes_beyond": beyond,
        "seconds": {name: each.summary() for name, each in times.items()},
        "ratio": {
            name: rounds.ratio(times[name], times[other])
            for name, other in COMPARED.items()
        },
    }


def report(result: dict[str, Any]) -> str:
    """Returns a few lines for people."""
    title = "{bytes} bytes, {threads} thread(s), {rounds} rounds"
    held = result["table_bytes"] / result["bytes"]
    lines = [f"{title.format(**result)}: the table holds {held:.4f} of that"]
    for name, times in result["seconds"].items():
        line = f"  {name:<12} {rounds.spread(times['wall'], 1e3):>26} ms"
        if name in COMPARED:
            ratio = rounds.spread(result["ratio"][name]["wall"])
            beyond = result["bytes_beyond"][name] / 2**20
            line += f", {ratio} times '{COMPARED[name]}'"
            line += f", {beyond:.1f} MiB beyond"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument(
        "--rows",
        type=int,
        default=1_000_000,
        help="rows of the table; 8,000,000 make 4 GB",
    )
    rounds.run_each(measure, report, vars(parser.parse_args()))


if __name__ == "__main__":
    main()
