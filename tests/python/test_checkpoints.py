# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Tables in checkpoints of TensorFlow, by name: acceptance case A21."""

import pathlib

import checkpoints
import numpy as np
import pytest
import tensorflow as tf
from processes import run

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]

_SAVE = """
    import sys
    import checkpoints, tensorflow as tf

    def save(name, tensors):
        _, checkpoint = checkpoints.checkpoint(tensors)
        checkpoint.write(f"{sys.argv[1]}/{name}")

    tables = checkpoints.Tables()
    tables.load(checkpoints.full(checkpoints.VALUES))
    save("loaded", tables.retrieve())
    part = tables.retrieve()
    del part["user"]["velocities"]
    save("without velocities", part)

    tables.train(0, 1)
    save("after two steps", tables.retrieve())
    tables.train(2, 3, 4)
    save("after five steps", tables.retrieve())
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Returns a folder of checkpoints that another process wrote."""
    folder = tmp_path_factory.mktemp("checkpoints")
    run(_SAVE, argument=folder, path=[pathlib.Path(__file__).parent])
    return folder


def _restore(path):
    """Returns variables, and the status of restoring them."""
    variables, checkpoint = checkpoints.checkpoint(checkpoints.zeros())
    return variables, checkpoint.read(str(path))


def _assert_same_bits(actual, expected):
    assert {table: [*names] for table, names in actual.items()} == {
        table: [*names] for table, names in expected.items()
    }
    for table, variables in actual.items():
        for name, tensor in variables.items():
            np.testing.assert_array_equal(
                tensor.numpy().view(np.uint32),
                expected[table][name].numpy().view(np.uint32),
                err_msg=f"{table} {name}",
            )


def test_slots_come_back_in_another_process(files):
    tables = checkpoints.Tables()
    variables, status = _restore(files / "loaded")
    status.assert_consumed()

    tables.load(variables)

    expected = checkpoints.full(checkpoints.VALUES)
    _assert_same_bits(tables.retrieve(), expected)


def test_training_goes_on_as_if_never_interrupted(files):
    tables = checkpoints.Tables()
    variables, status = _restore(files / "after two steps")
    status.assert_consumed()
    tables.load(variables)

    tables.train(2, 3, 4)

    expected, status = _restore(files / "after five steps")
    status.assert_consumed()
    _assert_same_bits(tables.retrieve(), expected)
    assert tf.reduce_any(variables["user"]["parameters"] != 1)


def test_a_file_without_a_slot_is_refused(files):
    _, status = _restore(files / "without velocities")

    with pytest.raises(AssertionError, match=r"'user/velocities:0'"):
        status.assert_existing_objects_matched()


def test_a_file_without_a_slot_is_restored_where_parts_will_do(files):
    tables = checkpoints.Tables()
    variables, status = _restore(files / "without velocities")
    status.expect_partial()

    tables.load(variables)

    expected = checkpoints.full(checkpoints.VALUES)
    expected["user"]["velocities"] = tf.zeros_like(
        expected["user"]["velocities"]
    )
    _assert_same_bits(tables.retrieve(), expected)
