# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The Python mirror builds the graphs that TF Java built, node by node."""

from __future__ import annotations

import json
import pathlib

import pytest
import tensorflow as tf
import tpuless

Send = tpuless.SendTPUEmbeddingGradients

_PATH = pathlib.Path(__file__).parent / "src/test/resources/graphs.json"
_GRAPHS = json.loads(_PATH.read_text(encoding="utf-8"))

_DEVICE_PARTS = {"type": "device_type", "index": "device_index"}


def build(sends):
    """Does what GraphsTest.java does, with the same defaults."""
    graph = tf.Graph()
    with graph.as_default():
        for name in ("g0", "g1", "g2"):
            tf.compat.v1.placeholder(tf.float32, [2, 3], name)
        for name in ("r0", "r1"):
            tf.compat.v1.placeholder(tf.float32, [], name)
        for name in "yz":
            tf.raw_ops.NoOp(name=name)
    for send in sends:
        scope = tpuless.Scope.base(graph)
        for method, argument in send.get("scope", []):
            scope = getattr(scope, method)(read_argument(graph, argument))
        for _ in range(send.get("times", 1)):
            create(graph, scope, send)
    return graph.as_graph_def()


def create(graph, scope, send):
    inputs, learning_rates = (
        [graph.get_tensor_by_name(f"{name}:0") for name in names]
        for names in (send.get("inputs", ["g0"]), send.get("learningRates", []))
    )
    config = send.get("config", "\n\x02\xff\x80")
    options = [Send.nn(send["nn"])] if "nn" in send else []
    if "error" not in send:
        Send.create(scope, inputs, learning_rates, config, *options)
        return
    with pytest.raises(ValueError) as error:
        Send.create(scope, inputs, learning_rates, config, *options)
    assert str(error.value).startswith(send["error"])


def read_argument(graph, argument):
    if isinstance(argument, dict):
        parts = {
            _DEVICE_PARTS.get(name, name): part
            for name, part in argument.items()
        }
        return tf.DeviceSpec(**parts)
    if isinstance(argument, list):
        return [graph.get_operation_by_name(name) for name in argument]
    return argument


@pytest.mark.parametrize("name", _GRAPHS)
def test_graph_is_that_of_java(java_graphs, name):
    java = tf.compat.v1.GraphDef.FromString(
        (java_graphs / f"{name}.pb").read_bytes()
    )

    python = build(_GRAPHS[name])

    assert list(python.node) == list(java.node)
    assert python.versions == java.versions


def test_java_wrote_no_other_graph(java_graphs):
    assert {path.stem for path in java_graphs.iterdir()} == set(_GRAPHS)
