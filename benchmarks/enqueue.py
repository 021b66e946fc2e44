# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Times all forms of Enqueue: their share of a step, and beside a dense model.

    python benchmarks/enqueue.py

A step enqueues, receives and sends. The forms that know one id a sample get as
many samples as the others have ids. For the dense model, a tower of matrix
products forward and backward, ops have one thread each, and the batch is
enqueued by another thread at the same time. A summary goes to stderr, one line
of JSON a process to stdout.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import rounds

WARMUP = 2
ONE_ID_FORMS = ("dense", "integers")
UNITS = 512


def measure_share(request: dict[str, Any]) -> dict[str, Any]:
    """Measures every form in this process."""
    import tpuless_side
    import workloads

    shares, seconds = {}, {}
    for form in tpuless_side.FORMS:
        shape = workloads.WORKLOADS[request["workload"]]
        if form in ONE_ID_FORMS:
            shape = shape._replace(
                num_samples=shape.num_samples * shape.ids_per_sample,
                ids_per_sample=1,
            )
        side = tpuless_side.TpulessSide(
            shape, "adagrad", request["threads"], form
        )
        times = measure_parts(side, shape, request["rounds"])
        shares[form] = rounds.ratio(times["enqueue"], times["step"])
        seconds[form] = {name: each.summary() for name, each in times.items()}
    return {"benchmark": "enqueue", "share": shares, "seconds": seconds}


def measure_parts(
    side: Any, shape: Any, num_rounds: int
) -> dict[str, rounds.Times]:
    """Returns the times of enqueueing, and of whole steps, in turns."""
    import workloads

    batches = [
        side.prepare(batch)
        for batch in workloads.make_batches(shape, "uniform", 4)
    ]
    return rounds.interleave(
        {
            "enqueue": lambda k: side.operations["enqueue"](batches[k % 4])(),
            "finish": lambda k: side.finish(),
            "step": lambda k: side.step(batches[k % 4]),
        },
        num_rounds,
        WARMUP,
        alternate=False,
    )


def measure_beside(request: dict[str, Any]) -> dict[str, Any]:
    """Measures enqueueing and the dense model, alone and at the same time."""
    import tensorflow as tf
    import tpuless_side
    import workloads

    shape = workloads.WORKLOADS[request["workload"]]
    side = tpuless_side.TpulessSide(shape, "adagrad", 1, calls_at_once=2)
    (ids,) = workloads.make_batches(shape, "uniform", 1)
    batch = side.prepare(ids)
    inputs = tf.random.stateless_normal(
        [shape.num_samples, shape.dimension], [1, 2]
    )
    kernels = [
        tf.random.stateless_normal([a, b], [3, a]) / a**0.5
        for a, b in [(shape.dimension, UNITS), (UNITS, UNITS), (UNITS, 1)]
    ]

    @tf.function
    def dense() -> Any:
        x = inputs
        with tf.GradientTape() as tape:
            tape.watch(kernels)
            for kernel in kernels:
                x = tf.nn.relu(x @ kernel)
            loss = tf.reduce_sum(x)
        return tape.gradient(loss, kernels)

    enqueue = side.operations["enqueue"]
    with ThreadPoolExecutor(1) as other:

        def both() -> None:
            enqueued = other.submit(enqueue(batch))
            dense()
            enqueued.result()

        times = rounds.interleave(
            {
                "dense": lambda k: dense(),
                "enqueue": lambda k: enqueue(batch)(),
                "finish": lambda k: side.finish(),
                "both": lambda k: both(),
                "finish both": lambda k: side.finish(),
            },
            request["rounds"],
            WARMUP,
            alternate=False,
        )
    return {
        "benchmark": "enqueue beside a dense model",
        "seconds": {name: each.summary() for name, each in times.items()},
        "ratio": rounds.ratio(times["both"], times["dense"]),
    }


def report_share(result: dict[str, Any]) -> str:
    """Returns a line a form for people."""
    lines = ["{workload}, {threads} thread(s)".format(**result)]
    for form, share in result["share"].items():
        seconds = {
            name: rounds.spread(each["wall"], 1e3)
            for name, each in result["seconds"][form].items()
        }
        lines.append(
            f"  {form:<16} {seconds['enqueue']} of {seconds['step']} ms:"
            f" {share['wall']['median']:.0%}"
        )
    return "\n".join(lines)


def report_beside(result: dict[str, Any]) -> str:
    """Returns a line for people."""
    seconds = ", ".join(
        f"{name} {rounds.spread(result['seconds'][name]['wall'], 1e3)}"
        for name in ("dense", "enqueue", "both")
    )
    ratio = rounds.spread(result["ratio"]["wall"])
    return f"{seconds} ms: {ratio} times the dense model alone"


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--workload", default="w1m64")
    args = vars(parser.parse_args())
    rounds.run_each(measure_share, report_share, args)
    rounds.run_each(measure_beside, report_beside, {**args, "threads": [1]})


if __name__ == "__main__":
    main()
