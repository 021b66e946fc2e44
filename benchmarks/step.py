# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Times a whole training step against TensorFlow's own, in one process.

    python benchmarks/step.py
    python benchmarks/step.py --workload t26 --ids zipf --threads 1

Both sides must first compute the same. Then they run in turn, a batch each
round, in one process a number of threads. A summary goes to stderr, one line
of JSON a process to stdout.
"""

from __future__ import annotations

import argparse
from typing import Any

import peers
import rounds

CHECKED_BATCHES = 2
# Ids come back after so many rounds, when the caches have lost their rows.
NUM_BATCHES = 12
WARMUP = 3


def measure(request: dict[str, Any]) -> dict[str, Any]:
    """Checks and times both sides in this process."""
    # These import TensorFlow.
    import agreement
    import sides

    shape = sides.Shape(*peers.WORKLOADS[request["workload"]])
    raw = peers.make_batches(shape, request["ids"], NUM_BATCHES)
    tpuless = sides.TpulessSide(shape)
    tensorflow = sides.TensorFlowSide(shape)
    error = {
        name: agreement.check_steps(name, side, raw[:CHECKED_BATCHES])
        for name, side in (("tpuless", tpuless), ("tensorflow", tensorflow))
    }

    batches = [sides.make_ids(shape, batch) for batch in raw]
    steps = rounds.interleave(
        {
            "tpuless": lambda k: tpuless.step(batches[k % NUM_BATCHES]),
            "tensorflow": lambda k: tensorflow.step(batches[k % NUM_BATCHES]),
        },
        request["rounds"],
        WARMUP,
    )
    parts = rounds.interleave(
        {
            "enqueue": lambda k: tpuless.enqueue(batches[k % NUM_BATCHES]),
            "receive": lambda k: tpuless.receive(),
            "send": lambda k: tpuless.send(),
        },
        request["rounds"],
        WARMUP,
        alternate=False,
    )
    times = {**steps, **parts}
    return {
        "benchmark": "step",
        "error": error,
        "seconds": {name: each.summary() for name, each in times.items()},
        "ratio": rounds.ratio(steps["tensorflow"], steps["tpuless"]),
    }


def report(result: dict[str, Any]) -> str:
    """Returns a few lines for people."""
    title = "{workload}, {ids} ids, {threads} thread(s), {rounds} rounds"
    lines = [title.format(**result)]
    for name, times in result["seconds"].items():
        wall, cpu = (rounds.spread(times[c], 1e3) for c in ("wall", "cpu"))
        lines.append(f"  {name:<10} {wall:>24} ms, CPU {cpu} ms")
    wall, cpu = (rounds.spread(result["ratio"][c]) for c in ("wall", "cpu"))
    lines.append(f"  {'ratio':<10} {wall:>24}   , CPU {cpu}")
    return "\n".join(lines)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--workload", default="w1m64", choices=list(peers.WORKLOADS)
    )
    parser.add_argument("--ids", default="uniform", choices=["uniform", "zipf"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=40)
    rounds.run_each(measure, report, vars(parser.parse_args()))


if __name__ == "__main__":
    main()
