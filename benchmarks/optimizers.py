# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Compares all optimizers by the bytes of weights and slots that they move.

    make bench-optimizers

Runs optimizers_benchmark in interleaved rounds and writes a table in Markdown:
a ratio is the time per byte over that of Adagrad with as many columns, in the
same round.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from collections import defaultdict

import rounds


def run(binary: str, repetitions: int, min_time: float) -> list[dict]:
    """Returns what Google Benchmark says of each round of each optimizer."""
    output = subprocess.run(
        [
            binary,
            f"--benchmark_repetitions={repetitions}",
            f"--benchmark_min_time={min_time}",
            "--benchmark_enable_random_interleaving=true",
            "--benchmark_format=json",
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout
    benchmarks = json.loads(output)["benchmarks"]
    return [each for each in benchmarks if each["run_type"] == "iteration"]


def table(results: list[dict]) -> str:
    """Returns the table, in the order of the benchmark's registration."""
    milliseconds = defaultdict(dict)
    rates = defaultdict(dict)
    order = {each["name"]: each["family_index"] for each in results}
    for each in results:
        repetition = each["repetition_index"]
        milliseconds[each["name"]][repetition] = each["real_time"]
        rates[each["name"]][repetition] = each["bytes_per_second"]
    lines = [
        "| optimizer / columns | ms | GB/s | per byte, over Adagrad's |",
        "| --- | --- | --- | --- |",
    ]
    for name in sorted(order, key=order.__getitem__):
        base = rates[f"Adagrad/{name.partition('/')[2]}"]
        ratios = [base[i] / rates[name][i] for i in base]
        columns = (
            rounds.spread(rounds.quartiles([*milliseconds[name].values()])),
            rounds.spread(rounds.quartiles([*rates[name].values()]), 1e-9),
            rounds.spread(rounds.quartiles(ratios)),
        )
        lines.append(f"| {name} | {' | '.join(columns)} |")
    return "\n".join(lines)


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("binary", help="optimizers_benchmark")
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--min-time", type=float, default=0.1)
    arguments = parser.parse_args()
    print(
        table(run(arguments.binary, arguments.repetitions, arguments.min_time))
    )


if __name__ == "__main__":
    main()
