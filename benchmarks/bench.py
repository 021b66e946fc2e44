# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Measures everything that is claimed, and writes it down.

    make bench           # half an hour
    make bench-quick     # three minutes: fewer workloads and rounds

Results go to build/bench/results.json, plots beside them, a table to stdout.
With --write, the table goes into benchmarks/README.md, between its marks, and
the plots to benchmarks/plots/.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import compare
import plots
import rounds
import workloads
from compare import Comparison

HERE = Path(__file__).resolve().parent
RESULTS = compare.ROOT / "build" / "bench"
ENGINE_BENCHMARK = compare.ROOT / "build" / "benchmark" / "engine_benchmark"
PARTS = ["steps", "keras", "others", "overhead", "growth"]
QUICK_PARTS = ["steps", "others", "overhead"]
MARKS = ("<!-- bench.py: begin -->", "<!-- bench.py: end -->")


class Row(NamedTuple):
    """A claim: how many times something else takes the time of tpuless.

    Attributes:
      workload: Tables, ids and threads.
      what: What is compared with what.
      own: Seconds of tpuless, by round.
      other: Seconds of the other side, by round.
      goal: The ratio that the median must reach.
    """

    workload: str
    what: str
    own: list[float]
    other: list[float]
    goal: float

    def cells(self) -> list[str]:
        """Returns the columns of the table."""
        ratios = [o / s for s, o in zip(self.own, self.other, strict=True)]
        quartiles = rounds.quartiles(ratios)
        met = "yes" if quartiles["median"] >= self.goal else "**no**"
        own, other = (
            rounds.spread(rounds.quartiles(each), 1e3)
            for each in (self.own, self.other)
        )
        ratio = rounds.spread(quartiles)
        return [
            self.workload,
            self.what,
            own,
            other,
            ratio,
            f"{self.goal}",
            met,
        ]


HEAD = [
    "workload",
    "against",
    "tpuless, ms",
    "other, ms",
    "ratio",
    "goal",
    "met",
]


class Suite:
    """Runs comparisons and collects what they say."""

    def __init__(self, quick: bool) -> None:
        """Starts with nothing."""
        self.quick = quick
        self.rows: list[Row] = []
        self.notes: list[str] = []
        self.results: list[dict[str, Any]] = []

    def run(
        self,
        shape: workloads.Shape,
        operations: dict[str, list[str]],
        *,
        optimizer: str = "adagrad",
        ids: str = "uniform",
        threads: int = 1,
        rounds: int = 20,
        steady: int = 0,
    ) -> dict[str, Any]:
        """Runs one comparison, fewer rounds of it if quick."""
        comparison = Comparison(
            shape,
            optimizer,
            ids,
            threads,
            operations,
            max(4, rounds // 4) if self.quick else rounds,
            steady,
        )
        result = compare.run(comparison)
        print(compare.report(result), file=sys.stderr, flush=True)
        self.results.append(result)
        return result

    def claim(
        self,
        workload: str,
        result: dict[str, Any],
        operation: str,
        side: str,
        goal: float,
        other: str = "",
        name: str = "",
    ) -> None:
        """Adds a row: `operation` of tpuless against `other` of a side."""
        sides = result["sides"]
        self.rows.append(
            Row(
                f"`{workload}` {result['ids']}, {result['threads']} thr.",
                name or f"{operation}, {side}",
                sides["tpuless"]["seconds"][operation],
                sides[side]["seconds"][other or operation],
                goal,
            )
        )

    def steps(self) -> None:
        """Compares Adagrad steps, and their parts with what memory allows."""
        cases = [("w1m64", "uniform"), ("w1m64", "zipf"), ("w5m32", "uniform")]
        cases += [("w200k128", "uniform"), ("t26", "uniform")]
        for name, ids in cases[:1] if self.quick else cases:
            shape = workloads.WORKLOADS[name]
            distinct = shape.num_tables * distinct_rows(shape, ids)
            for threads in (1, 2):
                self.step(name, ids, threads, distinct)

    def step(self, name: str, ids: str, threads: int, distinct: float) -> None:
        """Compares a step and its parts on one workload."""
        shape = workloads.WORKLOADS[name]
        alone = shape.num_tables == 1 and ids == "uniform"
        operations: dict[str, list[str]] = {
            "tpuless": ["step", "forward", "send", "enqueue"],
            "fbgemm": ["step", "forward"],
            "tf-raw": ["step"],
        }
        base = Comparison(shape, "adagrad", ids, threads, {}, 0)
        cases = [
            compare.roofline_case("gather", base, distinct),
            compare.roofline_case("rmw", base, distinct),
        ]
        if alone:
            operations["torch"] = ["forward"]
            operations["roofline"] = cases
        result = self.run(shape, operations, ids=ids, threads=threads)
        easier = 0.5 * (ids == "zipf")
        fbgemm, raw = (4 - easier, 8 - 2 * easier) if threads == 1 else (3, 5)
        self.claim(name, result, "step", "fbgemm", fbgemm)
        self.claim(name, result, "step", "tf-raw", raw)
        seconds = result["sides"]["tpuless"]["seconds"]
        share = [
            e / s
            for e, s in zip(seconds["enqueue"], seconds["step"], strict=True)
        ]
        self.notes.append(
            f"`{name}` {ids}, {threads} thr.: enqueue takes"
            f" {rounds.quartiles(share)['median']:.0%} of a step (goal: 40% at"
            " most), a tf.function's call each counted."
        )
        if not alone:
            return
        for side in ("fbgemm", "torch"):
            self.claim(name, result, "forward", side, 1.3)
        # A goal for each id: those that repeat a row count too.
        sides = result["sides"]["roofline"]["seconds"]
        every = shape.num_ids / distinct
        sides[cases[0]] = [each * every for each in sides[cases[0]]]
        self.claim(
            name,
            result,
            "forward",
            "roofline",
            0.75,
            cases[0],
            "receive, limit",
        )
        self.claim(
            name, result, "send", "roofline", 0.7, cases[1], "send, limit"
        )

    def keras(self) -> None:
        """Compares with Keras 3, whose Adagrad makes gradients dense."""
        goals = {"w1m64": 40, "w5m32": 40, "w200k128": 15, "t26": 30}
        for name, goal in goals.items():
            result = self.run(
                workloads.WORKLOADS[name],
                {"tpuless": ["step"], "tf-keras3": ["step"]},
                rounds=6,
            )
            self.claim(name, result, "step", "tf-keras3", goal)

    def others(self) -> None:
        """Compares other sizes and optimizers."""
        shape = workloads.WORKLOADS["w1m64"]
        small = shape._replace(vocabulary_size=10_000)
        sizes = [
            ("w1m64, batch 16384", shape._replace(num_samples=16384), 0),
            ("w1m64, 10,000 rows", small, 0),
            ("w1m64, 10,000 rows, steady", small, 2),
        ]
        for name, each, steady in [] if self.quick else sizes:
            result = self.run(
                each,
                {"tpuless": ["step"], "fbgemm": ["step"]},
                steady=steady,
            )
            self.claim(name, result, "step", "fbgemm", 3)
        optimizers = [("sgd", "fbgemm", 2), ("adam", "tf-raw", 8)]
        optimizers.append(("ftrl", "tf-raw", 8))
        for optimizer, side, goal in optimizers[: 1 if self.quick else None]:
            result = self.run(
                shape,
                {"tpuless": ["step"], side: ["step"]},
                optimizer=optimizer,
            )
            self.claim(f"w1m64, {optimizer}", result, "step", side, goal)

    def overhead(self) -> None:
        """Compares small steps with those of the engine alone."""
        for name, shape in (
            ("t26b64", workloads.WORKLOADS["t26"]._replace(num_samples=64)),
            ("w1m64b1", workloads.Shape(1, 1_000_000, 64, 1, 1)),
        ):
            result = self.run(shape, {"tpuless": ["loop"]}, rounds=10)
            import tpuless_side

            seconds = result["sides"]["tpuless"]["seconds"]["loop"]
            step = rounds.quartiles(seconds)["median"] / tpuless_side.LOOP
            engine = engine_step(name)
            goal = 150e-6 + 3e-6 * shape.num_tables
            self.notes.append(
                f"`{name}`: a step within a tf.function takes"
                f" {step * 1e6:.0f} us, of which the engine alone takes"
                f" {engine * 1e6:.0f}; the rest is"
                f" {(step - engine) * 1e6:.0f} us (goal: {goal * 1e6:.0f})."
            )

    def growth(self) -> dict[str, list[tuple[float, float, float]]]:
        """Returns seconds per id of a step, and the limit's, by size."""
        shape = workloads.WORKLOADS["w1m64"]
        wide = shape._replace(dimension=16)
        series: dict[str, list[tuple[float, workloads.Shape, str]]] = {
            "samples of a batch": [
                (n, shape._replace(num_samples=n), "uniform")
                for n in (256, 1024, 4096, 16384, 65536)
            ],
            "rows of a table, 16 columns": [
                (n, wide._replace(vocabulary_size=n), "uniform")
                for n in (10**4, 10**5, 10**6, 10**7, 3 * 10**7)
            ],
            "tables, 4096 samples and ids each": [
                (n, workloads.Shape(n, 20_000, 64, 4096, 1), "uniform")
                for n in (1, 4, 16, 64, 200)
            ],
            "ids that repeat another, %": [
                (share * 100, shape, f"repeated:{share}")
                for share in (0.0, 0.5, 0.8, 0.95, 0.99)
            ],
        }
        points: dict[str, list[tuple[float, float, float]]] = {}
        for name, sizes in series.items():
            points[name] = []
            for x, each, ids in sizes:
                distinct = distinct_rows(each, ids)
                one = Comparison(each, "adagrad", ids, 1, {}, 0)
                cases = [
                    compare.roofline_case("gather", one, distinct),
                    compare.roofline_case("rmw", one, distinct),
                ]
                result = self.run(
                    each,
                    {"tpuless": ["step"], "roofline": cases},
                    ids=ids,
                    rounds=6,
                )
                sides = result["sides"]
                step = rounds.quartiles(sides["tpuless"]["seconds"]["step"])
                # The roofline's table is one of them.
                limit = each.num_tables * sum(
                    rounds.quartiles(sides["roofline"]["seconds"][c])["median"]
                    for c in cases
                )
                points[name].append(
                    (x, step["median"] / each.num_ids, limit / each.num_ids)
                )
        return points


def distinct_rows(shape: workloads.Shape, ids: str) -> float:
    """Returns how many rows of a table a batch touches."""
    import numpy as np

    (batch,) = workloads.make_batches(shape._replace(num_tables=1), ids, 1)
    return len(np.unique(batch[0]))


def engine_step(name: str) -> float:
    """Returns the seconds of a step by the engine alone."""
    output = subprocess.run(
        [
            str(ENGINE_BENCHMARK),
            f"--benchmark_filter=Step/{name}/1/",
            "--benchmark_format=json",
            "--benchmark_repetitions=5",
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for each in json.loads(output)["benchmarks"]:
        if each.get("aggregate_name") == "median":
            return each["real_time"] * 1e-3
    raise SystemExit(f"{ENGINE_BENCHMARK} must have Step/{name}")


def table(suite: Suite) -> str:
    """Returns the claims as Markdown."""
    lines = [HEAD, ["---"] * len(HEAD), *(row.cells() for row in suite.rows)]
    text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return text + "\n\n" + "\n".join(f"- {note}" for note in suite.notes)


def write(text: str) -> None:
    """Puts the table into the README, between its marks."""
    readme = HERE / "README.md"
    before, _, rest = readme.read_text().partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    if not after:
        raise SystemExit(f"{readme} must have the marks {MARKS}")
    readme.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


def main() -> None:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="in three minutes")
    parser.add_argument(
        "--write", action="store_true", help="into the repository"
    )
    parser.add_argument(
        "--parts",
        nargs="+",
        default=[],
        choices=PARTS,
        help="all of them, or three if quick",
    )
    arguments = parser.parse_args()
    suite = Suite(arguments.quick)
    points: dict[str, list[tuple[float, float, float]]] = {}
    parts = QUICK_PARTS if arguments.quick else PARTS
    for part in arguments.parts or parts:
        if part == "growth":
            points = suite.growth()
        else:
            getattr(suite, part)()

    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "results.json").write_text(
        json.dumps({"comparisons": suite.results, "growth": points}, indent=1)
    )
    folder = HERE / "plots" if arguments.write else RESULTS
    if points:
        plots.growth(points, folder)
    text = table(suite)
    print(text)
    if arguments.write:
        write(text)


if __name__ == "__main__":
    main()
