# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Interleaved rounds, the numbers they give, and where they were measured."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any


class Times:
    """Seconds of the calls of one function: by the clock, and of all cores.

    On a busy machine the latter say more of one thread.
    """

    def __init__(self) -> None:
        """Starts with no calls."""
        self.wall: list[float] = []
        self.cpu: list[float] = []

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Calls and measures."""
        cpu, wall = time.process_time(), time.perf_counter()
        result = function(*args)
        self.wall.append(time.perf_counter() - wall)
        self.cpu.append(time.process_time() - cpu)
        return result

    def summary(self) -> dict[str, dict[str, float]]:
        """Returns the quartiles of both."""
        return {"wall": quartiles(self.wall), "cpu": quartiles(self.cpu)}


def interleave(
    functions: dict[str, Callable[[int], Any]],
    rounds: int,
    warmup: int,
    alternate: bool = True,
) -> dict[str, Times]:
    """Calls all functions in turn, so that other programs' load hits all alike.

    Args:
      functions: By name; they get the number of the round.
      rounds: How many calls of each count.
      warmup: How many calls of each come before, and do not.
      alternate: Whether odd rounds go the other way around, so that none
        always comes after the same one.

    Returns:
      The times of each function.
    """
    times = {name: Times() for name in functions}
    for k in range(-warmup, rounds):
        for name in list(functions)[:: -1 if alternate and k % 2 else 1]:
            if k < 0:
                functions[name](k)
            else:
                times[name].call(functions[name], k)
    return times


def quartiles(values: list[float]) -> dict[str, float]:
    """Returns the quartiles of some values, and the least one."""
    q1, median, q3 = statistics.quantiles(values, n=4, method="inclusive")
    named = {"min": min(values), "q1": q1, "median": median, "q3": q3}
    return {name: round(value, 6) for name, value in named.items()}


def ratio(slow: Times, fast: Times) -> dict[str, dict[str, float]]:
    """Returns the quartiles of the ratio of two functions, round by round."""
    return {
        clock: quartiles(
            [
                s / f
                for s, f in zip(
                    getattr(slow, clock), getattr(fast, clock), strict=True
                )
            ]
        )
        for clock in ("wall", "cpu")
    }


def spread(values: dict[str, float], scale: float = 1.0) -> str:
    """Returns quartiles for people: median (lower-upper)."""
    q1, median, q3 = (values[key] * scale for key in ("q1", "median", "q3"))
    return f"{median:.2f} ({q1:.2f}-{q3:.2f})"


def machine() -> dict[str, Any]:
    """Describes the machine, and how busy it is."""
    cpu = platform.processor()
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    pages = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    chosen = pages.read_text() if pages.exists() else "[none]"
    return {
        "cpu": cpu,
        "cores": len(os.sched_getaffinity(0)),
        "huge_pages": chosen.partition("[")[2].partition("]")[0],
        "load": round(os.getloadavg()[0], 2),
    }


def run_each(
    measure: Callable[[dict[str, Any]], dict[str, Any]],
    report: Callable[[dict[str, Any]], str],
    args: dict[str, Any],
) -> None:
    """Measures with each of args["threads"], and prints what comes out.

    Every number of threads has a process of its own, because TensorFlow takes
    it once a process.

    Args:
      measure: A function of a module; its argument is `args` with one number
        of threads.
      report: Makes text for people of a result.
      args: The command line.
    """
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    context = multiprocessing.get_context("spawn")
    for threads in args["threads"]:
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            request = {**args, "threads": threads}
            result = pool.submit(_measure, measure, request).result()
        print(report(result), file=sys.stderr, flush=True)
        print(json.dumps(result), flush=True)


def _measure(
    measure: Callable[[dict[str, Any]], dict[str, Any]], request: dict[str, Any]
) -> dict[str, Any]:
    import tensorflow as tf
    import tpuless

    tf.config.threading.set_intra_op_parallelism_threads(request["threads"])
    tf.config.threading.set_inter_op_parallelism_threads(request["threads"])
    return {
        **request,
        **measure(request),
        "versions": {
            "tpuless": tpuless.__version__,
            "tensorflow": tf.__version__,
        },
        "machine": machine(),
    }
