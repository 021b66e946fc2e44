# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The flights demo in a small form: it agrees, and it would notice if not."""

from __future__ import annotations

import pathlib
import sys

import made_up_flights
import numpy as np
import pytest
import tpuless
from tensorflow.core.protobuf.tpu import (
    tpu_embedding_configuration_pb2 as config_pb2,
)

for needed in ("matplotlib", "tqdm"):
    pytest.importorskip(needed, reason="requirements/demo.in is not installed")
sys.path.append(str(pathlib.Path(__file__).parents[2] / "examples"))

import flights as demo  # noqa: E402
import flights_compare  # noqa: E402
import flights_data  # noqa: E402


@pytest.fixture(scope="module")
def flights() -> flights_data.Flights:
    return made_up_flights.make_flights()


def test_sixty_steps_agree_with_tensorflow(flights, tmp_path):
    result = demo.compare(flights, epochs=2, batch_size=90, seed=0)

    assert result.disagreements == []
    assert tpuless.statistics().sends == 60
    assert len(result.ours.losses) == len(result.loss_tolerance) == 60
    np.testing.assert_array_less(
        np.abs(np.subtract(result.ours.losses, result.peer.losses)),
        result.loss_tolerance,
    )
    assert result.ours.losses[-1] < result.ours.losses[0]
    assert result.ours.aucs[-1] > 0.6

    flights_compare.plot(result, tmp_path / "curves.png")

    assert (tmp_path / "curves.png").read_bytes()[:4] == b"\x89PNG"


def test_a_learning_rate_off_by_a_thousandth_ends_with_exit_code_1(
    flights, monkeypatch, tmp_path, capsys
):
    right = demo.embedding_config

    def wrong(start, batch_size):
        config = config_pb2.TPUEmbeddingConfiguration.FromString(
            right(start, batch_size)
        )
        for table in config.table_descriptor:
            table.optimization_parameters.learning_rate.constant *= 1.001
        return config.SerializeToString()

    monkeypatch.setattr(demo, "embedding_config", wrong)
    monkeypatch.setattr(flights_data, "load_flights", lambda: flights)
    options = ["--epochs=2", "--batch-size=90", f"--output={tmp_path}/x.png"]
    monkeypatch.setattr(sys, "argv", ["flights.py", *options])

    assert demo.main() == 1

    errors = capsys.readouterr().err
    assert "NOT EQUAL: step " in errors
    assert "NOT EQUAL: table 'month': the weights must be equal " in errors


def test_fewer_flights_than_a_batch_are_refused(flights):
    with pytest.raises(
        ValueError,
        match=r"^flights to train on must be >= 4096 \(one batch\), got 2700$",
    ):
        demo.compare(flights, epochs=1, batch_size=4096, seed=0)


def test_flights_without_an_arrival_delay_are_left_out():
    row = dict.fromkeys(flights_data.FEATURES, "1")
    rows = [
        row | {"arr_delay": "15", "tailnum": "N2"},
        row | {"arr_delay": "NA", "tailnum": "N1"},
        row | {"arr_delay": "16", "tailnum": "NA"},
    ]

    flights = flights_data.encode(rows)

    assert flights.late.tolist() == [0, 1]
    assert flights.vocabularies["tailnum"] == ["N2", "NA"]
    assert flights.ids.tolist() == [[0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]]


def test_auc_is_the_share_of_pairs_in_order():
    random = np.random.default_rng(3)
    scores = random.integers(10, size=200)  # Many ties.
    late = random.integers(2, size=200)
    late_scores = scores[late == 1][:, None]
    in_time_scores = scores[late == 0][None]

    pairs = (late_scores > in_time_scores) + 0.5 * (
        late_scores == in_time_scores
    )

    assert flights_data.auc(scores, late) == pytest.approx(
        pairs.mean(), rel=1e-12
    )


def test_another_archive_is_refused(tmp_path):
    (tmp_path / flights_data.SDIST).write_bytes(b"not the flights")

    with pytest.raises(RuntimeError, match=r"^sha256 of '.*' must be d9ef2f5"):
        flights_data.load_flights(tmp_path)
