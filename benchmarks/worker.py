# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""One side of a comparison, in a process and an environment of its own.

    python worker.py '{"side": "fbgemm", "shape": [1, 1000, 8, 16, 4],
                       "optimizer": "adagrad", "ids": "uniform", "threads": 1,
                       "batches": 12}'

Makes the tables and some batches, and trains on the first two for
`agreement.check_steps`. Then it prints a line of JSON, {"versions", "error",
"unique"} or {"unsupported"}, and another for each line that it reads:

    step 3      an operation and a batch's number: its wall and CPU time in
                seconds, as [wall, cpu]
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from typing import Any

CHECKED_BATCHES = 2


def make_side(request: dict[str, Any]) -> Any:
    """Imports what the side needs and makes it."""
    import peers
    import workloads

    shape = workloads.Shape(*request["shape"])
    name, _, form = request["side"].partition(":")
    if name == "tpuless":
        import tpuless_side

        return tpuless_side.TpulessSide(
            shape, request["optimizer"], request["threads"], form or "ragged"
        )
    return peers.make_peer(
        name, shape, request["optimizer"], request["threads"]
    )


def run(request: dict[str, Any], say: Any) -> None:
    """Serves until there are no more lines."""
    import agreement
    import numpy as np
    import peers
    import workloads

    try:
        side = make_side(request)
    except peers.UnsupportedError as error:
        say({"unsupported": str(error)})
        return
    raw = workloads.make_batches(side.shape, request["ids"], request["batches"])
    error = agreement.check_steps(
        side, request["optimizer"], raw[:CHECKED_BATCHES]
    )
    unique = np.mean([sum(len(np.unique(t)) for t in batch) for batch in raw])
    batches = [side.prepare(batch) for batch in raw]
    del raw
    say({"versions": side.versions, "error": error, "unique": float(unique)})
    gc.disable()
    for line in sys.stdin:
        name, number = line.split()
        batch = batches[int(number) % len(batches)]
        timed = side.operations[name](batch)
        cpu, wall = time.process_time(), time.perf_counter()
        timed()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        side.finish()
        say([wall, cpu])


def main() -> None:
    """Keeps stdout for answers: libraries print on it too."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def say(answer: Any) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    run(json.loads(sys.argv[1]), say)


if __name__ == "__main__":
    main()
