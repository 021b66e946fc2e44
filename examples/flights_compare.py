# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Trains the flights model on two kinds of tables in turn, and compares."""

from __future__ import annotations

import dataclasses
import pathlib
import time
from typing import TYPE_CHECKING

import flights_peer
import numpy as np
import tqdm
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from flights import Trainer
    from flights_data import Flights

BLOCK = 20  # Steps of one trainer before the next has its turn.
COMPARED_STEPS = 200
AUC_TOLERANCE = 0.002


@dataclasses.dataclass
class Run:
    """A trainer and what it has done so far."""

    trainer: Trainer
    losses: list[float] = dataclasses.field(default_factory=list)
    step_seconds: list[float] = dataclasses.field(default_factory=list)
    aucs: list[float] = dataclasses.field(default_factory=list)

    def train(self, batches: list[Flights]) -> None:
        """Trains on each batch; notes the losses and the mean step time."""
        begin = time.perf_counter()
        losses = [self.trainer.train(b.ids, b.late) for b in batches]
        self.losses += [float(loss) for loss in losses]
        self.step_seconds.append((time.perf_counter() - begin) / len(batches))

    def step_time(self) -> float:
        """Returns the seconds of a step, median of the blocks."""
        # The first block waits for TensorFlow to trace the function.
        return float(np.median(self.step_seconds[1:] or self.step_seconds))


@dataclasses.dataclass
class Comparison:
    """Runs of one model, and where the first two differ."""

    ours: Run
    peer: Run
    twin: Run  # Of the compared steps only.
    loss_tolerance: np.ndarray  # [compared steps].
    tables: dict[str, tuple[float, float]]  # Largest difference, tolerance.
    rows_per_step: list[float]  # Of the tables, mean of each block.
    disagreements: list[str]  # Sentences; none if all is well.

    def rows_per_second(self) -> float:
        """Returns how many rows tpuless updates in a second of training."""
        return float(np.mean(self.rows_per_step)) / self.ours.step_time()


def compare(
    trainers: list[Trainer],
    train: Flights,
    held_out: Flights,
    epochs: int,
    seed: int,
) -> Comparison:
    """Trains on the same batches with tpuless, TensorFlow and its twin.

    `trainers` must be these three, in this order. The first steps are
    compared number by number, the whole by the AUC.
    """
    ours, peer, twin = (Run(trainer) for trainer in trainers)
    batch_size = ours.trainer.batch_size
    schedule = batches_of_all_epochs(len(train), epochs, batch_size, seed)
    rows_per_step: list[float] = []

    def train_in_turn(runs: list[Run], rows: np.ndarray) -> None:
        for block in range(0, len(rows), BLOCK):
            batches = [train.take(r) for r in rows[block : block + BLOCK]]
            for run in runs:
                run.train(batches)
            # A step updates a row once, however many flights share it.
            distinct = [len(np.unique(i)) for b in batches for i in b.ids.T]
            rows_per_step.append(sum(distinct) / len(batches))
            rate = rows_per_step[-1] / ours.step_seconds[-1]
            bar.set_postfix_str(
                f"loss {ours.losses[-1]:.4f}, {rate:,.0f} rows/s"
            )
            bar.update(len(batches))

    with tqdm.tqdm(total=len(schedule), unit="step") as bar:
        train_in_turn([ours, peer, twin], schedule[:COMPARED_STEPS])
        tolerance = flights_peer.loss_tolerance(
            np.array(peer.losses), np.array(twin.losses), batch_size
        )
        disagreements = flights_peer.check_losses(
            np.array(ours.losses), np.array(peer.losses), tolerance
        )
        tables, sentences = flights_peer.check_tables(
            ours.trainer.tables.read(),
            peer.trainer.tables.read(),
            twin.trainer.tables.read(),
        )
        disagreements += sentences
        for rows in np.array_split(schedule[COMPARED_STEPS:], epochs):
            train_in_turn([ours, peer], rows)
            for run in (ours, peer):
                run.aucs.append(run.trainer.auc(held_out))
    if not abs(ours.aucs[-1] - peer.aucs[-1]) <= AUC_TOLERANCE:
        disagreements.append(
            f"the AUCs must be equal within {AUC_TOLERANCE}, got"
            f" {ours.aucs[-1]:.4f} (tpuless) and {peer.aucs[-1]:.4f}"
            " (TensorFlow)"
        )
    return Comparison(
        ours, peer, twin, tolerance, tables, rows_per_step, disagreements
    )


def batches_of_all_epochs(
    num_flights: int, epochs: int, batch_size: int, seed: int
) -> np.ndarray:
    """Returns the flights of each step [steps, batch_size], shuffled.

    The engine, like a TPU, takes batches of one fixed size, so the flights
    left over at the end of an epoch are not trained on in that epoch.
    """
    steps = num_flights // batch_size
    if steps == 0:
        raise ValueError(
            f"flights to train on must be >= {batch_size} (one batch),"
            f" got {num_flights}"
        )
    random = np.random.default_rng(seed)
    return np.concatenate(
        [
            random.permutation(num_flights)[: steps * batch_size]
            for _ in range(epochs)
        ]
    ).reshape(epochs * steps, batch_size)


def plot(comparison: Comparison, path: pathlib.Path) -> None:
    """Writes the training curves, and the differences of the first steps."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    FigureCanvasAgg(figure)
    curves, differences = figure.subplots(1, 2)
    ours, peer = comparison.ours, comparison.peer
    for run, label, style in (
        (ours, "tpuless", "-"),
        (peer, "TensorFlow variables", "--"),
    ):
        width = min(50, len(run.losses))
        mean = np.convolve(run.losses, np.full(width, 1 / width), "valid")
        curves.plot(
            np.arange(width, len(run.losses) + 1),
            mean,
            style,
            label=f"{label}: AUC {run.aucs[-1]:.4f}",
        )
    curves.set(xlabel="step", ylabel=f"loss, mean of {width} steps")
    curves.legend()
    steps = len(comparison.loss_tolerance)
    differences.semilogy(comparison.loss_tolerance, "k", label="tolerance")
    for run, label, style in (
        (comparison.twin, "rounding twin", "x"),
        (ours, "tpuless", "."),
    ):
        apart = np.abs(np.subtract(run.losses[:steps], peer.losses[:steps]))
        differences.semilogy(  # There is no place for 0 on this axis.
            np.maximum(apart, 1e-9), style, label=f"{label} (0 is at 1e-9)"
        )
    differences.set(xlabel="step", ylabel="difference from TensorFlow's loss")
    differences.legend(loc="center", bbox_to_anchor=(0.5, 0.25))
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
