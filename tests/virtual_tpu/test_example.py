# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The DLRM of the examples, on flights that nobody flew."""

import re
import sys

import made_up_flights
import pytest
import tensorflow as tf
import tpuless

pytestmark = pytest.mark.timeout(300)


def test_the_dlrm_learns_and_is_saved(strategy, monkeypatch, tmp_path, capsys):
    import dlrm_virtual_tpu
    import flights_data

    monkeypatch.setattr(
        flights_data, "load_flights", made_up_flights.make_flights
    )
    arguments = ["--epochs", "4", "--batch-size", "64"]
    arguments += ["--checkpoint", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", ["dlrm_virtual_tpu.py", *arguments])

    dlrm_virtual_tpu.main()

    output = capsys.readouterr().out
    replicas = strategy.num_replicas_in_sync
    assert output.startswith(f"{replicas} replicas, 42 steps an epoch\n")
    losses = [float(loss) for loss in re.findall(r"loss (\d\.\d+)", output)]
    assert len(losses) == 4
    assert losses[-1] < losses[0]
    assert float(re.search(r"flights: (\d\.\d+)", output)[1]) > 0.6
    saved = dict(tf.train.list_variables(str(tmp_path / "dlrm-1")))
    assert saved["embeddings/carrier/.ATTRIBUTES/VARIABLE_VALUE"] == [16, 16]
    assert tpuless.statistics().sends == 4 * 42 * replicas
