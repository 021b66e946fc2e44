# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Times a training step by several libraries, in interleaved rounds.

    python benchmarks/compare.py
    python benchmarks/compare.py --workload t26 --threads 2 --rounds 10 \
        --sides tpuless tf-raw --operations step

Every side is a process of its own in its own environment, which `make
bench-peers` makes; tpuless runs in this one. All first train on the same two
batches, and must agree with float64 (agreement.py). Then each round gives every
operation of every side its turn with a batch of the round, odd rounds the other
way around. Batches come around after twelve rounds, when the caches have lost
their rows. A turn follows one of another process, which has emptied the caches:
where the tables fit them, --steady 2 lets two turns go before each one that
counts, as steps of a training do. A summary goes to stderr, one line of JSON to
stdout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import peers
import rounds
import workloads

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "build" / "peers"
ROOFLINE = PEERS / "roofline"
NUM_BATCHES = 12
WARMUP = 3


class Comparison(NamedTuple):
    """What is compared.

    Attributes:
      shape: Tables and batches.
      optimizer: As `workloads.SLOTS` has it.
      ids: "uniform" or "zipf".
      threads: For each side.
      operations: By side, "tpuless", a peer, or "roofline", whose operations
        are its cases as `roofline_case` makes them.
      rounds: How many count.
      steady: How many turns of the same side, with other batches, go before
        each one that counts.
    """

    shape: workloads.Shape
    optimizer: str
    ids: str
    threads: int
    operations: dict[str, Sequence[str]]
    rounds: int
    steady: int = 0


class Process:
    """A program that answers each line with a line of JSON."""

    def __init__(self, command: list[str], threads: int) -> None:
        """Starts it; `answer` gives its first line."""
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            text=True,
        )
        self._command = command

    def answer(self) -> Any:
        """Waits for the next line.

        Raises:
          SystemExit: The program ended instead.
        """
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit(
                f"{' '.join(self._command)} ended with"
                f" {self._process.wait()} and no answer"
            )
        return json.loads(line)

    def ask(self, question: str) -> Any:
        """Sends a line and returns the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(question + "\n")
        self._process.stdin.flush()
        return self.answer()

    def stop(self) -> None:
        """Ends it."""
        self._process.kill()
        self._process.wait()


def python_of(side: str) -> str:
    """Returns the interpreter of a side's environment.

    Raises:
      SystemExit: There is none.
    """
    name = side.partition(":")[0]
    if name == "tpuless":
        return sys.executable
    python = PEERS / peers.ENVIRONMENTS[name] / "bin" / "python"
    if not python.exists():
        raise SystemExit(f"{side} must have {python}; 'make bench-peers' does")
    return str(python)


def roofline_case(kernel: str, comparison: Comparison, num_rows: float) -> str:
    """Returns the least that the memory must do for a pass of a step.

    Args:
      kernel: "gather" or "rmw", the update.
      comparison: Says tables, slots and threads.
      num_rows: How many rows are touched.
    """
    shape = comparison.shape
    return (
        f"kernel={kernel},rows={shape.vocabulary_size},dim={shape.dimension},"
        f"slots={workloads.SLOTS[comparison.optimizer]},n={round(num_rows)},"
        f"threads={comparison.threads},huge=1,order=sorted,layout=inter"
    )


def start(side: str, comparison: Comparison) -> Process:
    """Starts the process of a side."""
    if side == "roofline":
        if not ROOFLINE.exists():
            raise SystemExit(f"must have {ROOFLINE}; 'make bench-peers' does")
        command = [str(ROOFLINE), "--each-line"]
        for case in comparison.operations[side]:
            command += ["--case", case]
        return Process(command, comparison.threads)
    request = {
        "side": side,
        "shape": comparison.shape,
        "optimizer": comparison.optimizer,
        "ids": comparison.ids,
        "threads": comparison.threads,
        "batches": NUM_BATCHES,
    }
    worker = str(Path(__file__).with_name("worker.py"))
    command = [python_of(side), worker, json.dumps(request)]
    return Process(command, comparison.threads)


def run(comparison: Comparison) -> dict[str, Any]:
    """Checks and times all sides.

    Returns:
      The comparison itself, "sides" with each one's versions, errors and
      "seconds" by operation, in the order of the rounds, and the machine.

    Raises:
      SystemExit: A side does not compute what it should.
    """
    # One after the other, so that no side's start meets another's.
    processes: dict[str, Process] = {}
    sides: dict[str, Any] = {}
    try:
        for side in comparison.operations:
            processes[side] = start(side, comparison)
            told = processes[side].answer()
            if side == "roofline":
                told = {}
            elif "unsupported" in told:
                raise SystemExit(f"{side}: {told['unsupported']}")
            elif not max(told["error"].values()) <= 1:
                raise SystemExit(
                    f"{side}: errors must be within their bounds, got"
                    f" {told['error']} times those"
                )
            sides[side] = told
        seconds = _rounds(comparison, processes)
    finally:
        for process in processes.values():
            process.stop()
    for side, told in sides.items():
        told["seconds"] = seconds[side]
    return {
        **comparison._asdict(),
        "sides": sides,
        "machine": rounds.machine(),
    }


def _rounds(
    comparison: Comparison, processes: dict[str, Process]
) -> dict[str, dict[str, list[float]]]:
    seconds: dict[str, dict[str, list[float]]] = {
        side: {name: [] for name in names}
        for side, names in comparison.operations.items()
    }
    turns = [
        (side, name)
        for side, names in comparison.operations.items()
        for name in (names if side != "roofline" else ["all"])
    ]
    for k in range(-WARMUP, comparison.rounds):
        for side, name in turns[:: -1 if k % 2 else 1]:
            for batch in range(k - comparison.steady, k + 1):
                told = processes[side].ask(f"{name} {batch % NUM_BATCHES}")
            if k < 0:
                continue
            if side == "roofline":
                for case, each in zip(
                    comparison.operations[side], told, strict=True
                ):
                    seconds[side][case].append(each)
            else:
                seconds[side][name].append(told[0])
    return seconds


def report(result: dict[str, Any]) -> str:
    """Returns a few lines for people: times, and how often tpuless's."""
    heading = (
        f"{result['shape']}, {result['optimizer']}, {result['ids']} ids,"
        f" {result['threads']} thread(s), {result['rounds']} rounds"
    )
    if result["steady"]:
        heading += f", each after {result['steady']} more turns"
    lines = [heading]
    own = next(iter(result["sides"].values()))["seconds"]
    for side, told in result["sides"].items():
        for name, seconds in told["seconds"].items():
            times = rounds.spread(rounds.quartiles(seconds), 1e3)
            line = f"  {side:<14} {name:<8} {times:>24} ms"
            if name in own and seconds is not own[name]:
                line += f", {ratio_of(seconds, own[name])} times"
            lines.append(line)
    return "\n".join(lines)


def ratio_of(slow: list[float], fast: list[float]) -> str:
    """Returns the quartiles of the ratio, round by round."""
    return rounds.spread(
        rounds.quartiles([s / f for s, f in zip(slow, fast, strict=True)])
    )


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--workload", default="w1m64", choices=list(workloads.WORKLOADS)
    )
    parser.add_argument("--ids", default="uniform", choices=["uniform", "zipf"])
    parser.add_argument(
        "--optimizer", default="adagrad", choices=list(workloads.SLOTS)
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument(
        "--steady", type=int, default=0, help="turns before one that counts"
    )
    parser.add_argument(
        "--sides", nargs="+", default=["tpuless", "fbgemm", "tf-raw"]
    )
    parser.add_argument("--operations", nargs="+", default=["step", "forward"])
    parser.add_argument("--rows", type=int, help="rows of a table")
    parser.add_argument("--samples", type=int, help="samples of a batch")
    arguments = parser.parse_args()
    shape = workloads.WORKLOADS[arguments.workload]
    if arguments.rows:
        shape = shape._replace(vocabulary_size=arguments.rows)
    if arguments.samples:
        shape = shape._replace(num_samples=arguments.samples)
    result = run(
        Comparison(
            shape,
            arguments.optimizer,
            arguments.ids,
            arguments.threads,
            dict.fromkeys(arguments.sides, arguments.operations),
            arguments.rounds,
            arguments.steady,
        )
    )
    print(report(result), file=sys.stderr)
    print(json.dumps(result))


if __name__ == "__main__":
    main()
