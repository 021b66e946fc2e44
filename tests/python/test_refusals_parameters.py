# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What the ops that load and retrieve one table refuse."""

import re

import configs
import pytest
import raw_ops
import tensorflow as tf
from steps import T3
from tpuless import _engine

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.usefixtures("engine"),
]


@pytest.mark.parametrize("name", raw_ops.PARAMETER_OPS)
@pytest.mark.parametrize(
    ("attrs", "got"),
    [({}, "-1 and ''"), ({"table_id": 0, "table_name": "t"}, "0 and 't'")],
    ids=["neither", "both"],
)
def test_a_table_is_named_in_one_way(name, attrs, got):
    raw_ops.RawOpsBackend(configs.config())

    with raw_ops.refused(
        tf.errors.InvalidArgumentError,
        f"exactly one of table_id and table_name must be set, got {got}",
    ):
        raw_ops.call_parameter_op(name, T3, **attrs)


_REFUSED_OPS = [
    f"{verb}TPUEmbeddingMDLAdagradLightParameters"
    for verb in ("Load", "Retrieve")
]


def test_every_op_of_a_table_is_run_or_refused_by_name():
    there = {
        name
        for name in dir(tf.raw_ops)
        if re.fullmatch("(Load|Retrieve)TPUEmbedding.+Parameters", name)
    }

    assert there == {*raw_ops.PARAMETER_OPS, *_REFUSED_OPS}


@pytest.mark.parametrize("name", _REFUSED_OPS)
def test_ops_of_an_optimizer_that_is_not_there_name_it(name):
    with raw_ops.refused(
        tf.errors.UnimplementedError,
        "optimizer 'mdl_adagrad_light' is not supported: no public text gives "
        "its formula",
    ):
        raw_ops.call_parameter_op(name, T3, table_id=0)


_WITHOUT_OPS = [o["name"] for o in _engine.optimizers() if not o["op_name"]]


@pytest.mark.parametrize("name", raw_ops.PARAMETER_OPS)
@pytest.mark.parametrize("optimizer", _WITHOUT_OPS)
def test_tables_that_only_load_all_loads_are_refused(optimizer, name):
    step_counter = {"step_counter": 0} if "aware" in optimizer else {}
    raw_ops.RawOpsBackend(
        configs.config(
            configs.table(optimizer=optimizer, hyperparameters=step_counter)
        ),
        experimental_optimizers=True,
    )
    verb = "Load" if name.startswith("Load") else "Retrieve"

    with raw_ops.refused(
        tf.errors.InvalidArgumentError,
        f"table 't': op must be {verb}AllTPUEmbeddingParameters, got {name}",
    ):
        raw_ops.call_parameter_op(name, T3, table_id=0)


@pytest.mark.parametrize("name", raw_ops.PARAMETER_OPS)
def test_an_op_for_another_optimizer_is_refused(name):
    optimizer = "adagrad" if "StochasticGradient" in name else configs.SGD
    verb = "Load" if name.startswith("Load") else "Retrieve"
    raw_ops.RawOpsBackend(configs.config(configs.table(optimizer=optimizer)))
    right = f"{verb}TPUEmbedding{raw_ops.OP_NAMES[optimizer]}Parameters"

    with raw_ops.refused(
        tf.errors.InvalidArgumentError,
        f"table 't': op must be {right}, got {name}",
    ):
        raw_ops.call_parameter_op(name, T3, table_id=0)


@pytest.mark.parametrize("table_id", [1, 7])
@pytest.mark.parametrize("verb", ["load", "retrieve"])
def test_a_table_id_that_is_not_there_is_refused(verb, table_id):
    raw_ops.RawOpsBackend(configs.config())
    tensors = {"parameters": T3} if verb == "load" else {}

    with raw_ops.refused(
        tf.errors.InvalidArgumentError,
        f"table_id must be >= 0 and < 1, got {table_id}",
    ):
        getattr(raw_ops, f"{verb}_op")(configs.SGD)(
            **tensors, num_shards=1, shard_id=0, table_id=table_id
        )
