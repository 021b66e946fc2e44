# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Plots of how a step's time grows."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def growth(
    points: dict[str, list[tuple[float, float, float]]], folder: Path
) -> None:
    """Writes growth.png: nanoseconds per id of a step and of memory's limit.

    Args:
      points: By what grows: (size, seconds of a step, seconds of the limit).
      folder: Where to write.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figure, axes = plt.subplots(2, 2, figsize=(9, 6.5), sharey=True)
    for axis, (name, each) in zip(axes.flat, points.items(), strict=False):
        sizes = [x for x, _, _ in each]
        axis.plot(sizes, [s * 1e9 for _, s, _ in each], "o-", label="a step")
        axis.plot(
            sizes,
            [limit * 1e9 for _, _, limit in each],
            "s--",
            label="gather and update, what memory allows",
        )
        if "%" not in name:
            axis.set_xscale("log")
        axis.set_xlabel(name)
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    for row in axes:
        row[0].set_ylabel("ns per id")
    axes[0, 0].legend()
    figure.tight_layout()
    figure.savefig(folder / "growth.png", dpi=100)
    plt.close(figure)
