# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Scopes as in TensorFlow Java: names, devices, control inputs."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import tensorflow as tf
import tpuless
from nodes import CONFIG, OP, exported, no_op, node_def, placeholder

Send = tpuless.SendTPUEmbeddingGradients


@pytest.fixture
def graph():
    return tf.Graph()


@pytest.fixture
def scope(graph):
    return tpuless.Ops.create(graph).scope()


# Names.


def create(scope, graph):
    gradient = placeholder(graph, "g_0/g")
    return Send.create(scope, [gradient], [], CONFIG).op().name


def test_names_get_suffixes(graph, scope):
    made = [create(scope, graph) for _ in range(3)]

    assert made == [OP, f"{OP}_1", f"{OP}_2"]


def test_failed_create_uses_up_the_name(graph, scope):
    with pytest.raises(ValueError):
        Send.create(scope, [], [], CONFIG)

    assert create(scope, graph) == f"{OP}_1"


def test_base_scopes_share_names(graph):
    made = [create(tpuless.Ops.create(graph).scope(), graph) for _ in "12"]

    assert made == [OP, f"{OP}_1"]


def test_own_scopes_do_not_share_names(graph):
    first, second = tpuless.Scope(graph), tpuless.Scope(graph)
    create(first, graph)

    with pytest.raises(ValueError) as error:
        create(second, graph)

    assert str(error.value) == f"Duplicate node name in graph: '{OP}'"


def test_own_scope_starts_from_the_nodes_there_are(graph, scope):
    create(scope, graph)

    assert create(tpuless.Scope(graph), graph) == f"{OP}_1"


def test_explicit_names_are_not_looked_at(graph, scope):
    assert create(scope.with_name("a"), graph) == "a"
    assert create(scope.with_name("a_1"), graph) == "a_1"

    with pytest.raises(ValueError) as error:
        create(scope.with_name("a"), graph)

    assert str(error.value) == "Duplicate node name in graph: 'a_1'"
    assert create(scope.with_name("a"), graph) == "a_2"


def test_names_are_case_sensitive(graph, scope):
    made = [create(scope.with_name(name), graph) for name in ("send", "Send")]

    assert made == ["send", "Send"]


def test_with_name_shares_counters_and_replaces_itself(graph, scope):
    named = scope.with_name("first").with_name("second")

    made = [create(s, graph) for s in (named, scope.with_name("second"))]

    assert made == ["second", "second_1"]


def test_sub_scopes_are_unique_like_ops(graph, scope):
    first = scope.with_sub_scope("sub")
    second = scope.with_sub_scope("sub")

    made = [create(s, graph) for s in (first, first, second)]

    assert made == [f"sub/{OP}", f"sub/{OP}_1", f"sub_1/{OP}"]


def test_op_name_replaces_sub_scope_name_once(graph, scope):
    sub = scope.with_name("name").with_sub_scope("sub")

    assert create(sub, graph) == f"name/{OP}"


def test_sub_scopes_nest(graph, scope):
    sub = scope.with_sub_scope("a").with_sub_scope("b").with_name("c")

    assert create(sub, graph) == "a/b/c"


def test_sub_scope_avoids_the_sub_scope_of_an_op(graph, scope):
    Send.create(scope, [np.zeros([2])], [], CONFIG)

    assert create(scope.with_sub_scope(OP), graph) == f"{OP}_1/{OP}"


def test_name_as_sub_scope_is_reserved_twice(graph, scope):
    first = scope.with_name_as_sub_scope("default")
    named = scope.with_name("name").with_name_as_sub_scope("default")

    assert create(first, graph) == f"default_1/{OP}"
    assert create(named, graph) == f"name_1/{OP}"
    with pytest.raises(ValueError):
        first.with_name_as_sub_scope("default")


@pytest.mark.parametrize(
    ("nodes", "name", "expected"),
    [
        ([], "x", "x"),
        (["x"], "x", "x_1"),
        (["x_12"], "x", "x_13"),
        (["x_12", "x_3"], "x", "x_13"),
        (["x_0"], "x", "x_1"),
        (["x_3", "x"], "x", "x_5"),
        (["x", "x_3"], "x", "x_4"),
        (["x_3b"], "x", "x_4"),
        (["x_3b"], "x_3b", "x_3b"),
        (["y/x"], "x", "x"),
    ],
)
def test_names_of_existing_nodes_count(graph, nodes, name, expected):
    for node in nodes:
        no_op(graph, node)

    assert tpuless.Scope(graph).make_op_name(name) == expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        ("sub/x", "sub/x_1"),
        ("sub/x_4", "sub/x_5"),
        ("sub/y/x", "sub/x"),
        ("x", "sub/x"),
        ("sub_x", "sub/x_1"),  # Java does not look for the '/'.
    ],
)
def test_names_of_existing_nodes_count_in_a_sub_scope(graph, node, expected):
    no_op(graph, node)
    sub = tpuless.Scope(graph).with_sub_scope("sub")

    assert sub.make_op_name("x") == expected


def test_refresh_names_counts_imported_nodes(graph, scope):
    other = tf.Graph()
    create(tpuless.Scope(other), other)
    with graph.as_default():
        tf.import_graph_def(other.as_graph_def(), name="")

    scope.refresh_names()

    assert scope.make_op_name(OP) == f"{OP}_1"


def test_later_tensorflow_names_avoid_ours(graph, scope):
    create(scope.with_name("taken"), graph)

    assert no_op(graph, "taken").name == "taken_1"


@pytest.mark.parametrize(
    "name", ["", "_a", "a/b", "-a", "a b", "a\n", "\xe9", None]
)
@pytest.mark.parametrize("method", ["with_name", "with_sub_scope"])
def test_invalid_name_is_refused(scope, method, name):
    with pytest.raises(ValueError) as error:
        getattr(scope, method)(name)

    assert str(error.value) == (
        rf"name must match [A-Za-z0-9.][A-Za-z0-9_.\-]*, got {name!r}"
    )


def test_scopes_do_not_keep_a_graph_alive():
    graph = tf.Graph()
    scope = tpuless.Ops.create(graph).with_init_scope().scope()
    create(scope, graph)
    reference = weakref.ref(graph)

    del graph, scope
    gc.collect()

    assert reference() is None


# Devices, control inputs, init scopes.


def test_device_is_replaced(graph, scope):
    scope = scope.with_device("/job:a/cpu:1").with_device("/cpu:0")

    assert scope.get_device_string() == "/device:CPU:0"
    assert scope.with_device(None).get_device_string() == ""


def test_control_inputs_are_replaced(graph, scope):
    gradient = placeholder(graph, "g")
    a, b = no_op(graph, "a"), no_op(graph, "b")
    scope = scope.with_control_dependencies([a])
    scope = scope.with_control_dependency_ops([b])

    op = Send.create(scope, [gradient], [], CONFIG)

    assert op.op().control_inputs == [b]


def test_control_inputs_are_wrappers_tensors_or_operations(graph, scope):
    gradient = placeholder(graph, "g")
    first = Send.create(scope, [gradient], [], CONFIG)
    control = no_op(graph, "c")

    op = Send.create(
        scope.with_control_dependencies([first, gradient, control]),
        [gradient],
        [],
        CONFIG,
    )

    assert exported(op) == node_def(
        f"{OP}_1", ["g", f"^{OP}", "^c", "^g"], 1, 0
    )


def test_control_input_of_another_graph_is_refused(scope):
    with pytest.raises(ValueError) as error:
        scope.with_control_dependencies([no_op(tf.Graph(), "c")])

    assert str(error.value) == (
        "control input 'c' must be an operation of the scope's graph"
    )


def test_init_scope_registers_and_clears_control_inputs(graph, scope):
    gradient = placeholder(graph, "g")
    scope = scope.with_control_dependencies([no_op(graph, "c")])

    op = Send.create(scope.with_init_scope(), [gradient], [], CONFIG)

    assert exported(op) == node_def(OP, ["g"], 1, 0)
    assert scope.initializers() == [op.op()]
    assert not scope.is_init()
    assert scope.with_init_scope().is_init()


def test_initializers_are_dropped_from_control_inputs(graph, scope):
    gradient = placeholder(graph, "g")
    other = no_op(graph, "c")
    init = Send.create(scope.with_init_scope(), [gradient], [], CONFIG)
    controls = scope.with_control_dependencies([init, other])

    op = Send.create(controls, [gradient], [], CONFIG)

    assert op.op().control_inputs == [other]


def test_init_scope_takes_initializers_only(graph, scope):
    gradient = placeholder(graph, "g")
    init_scope = scope.with_init_scope()
    init = Send.create(init_scope, [gradient], [], CONFIG)

    op = Send.create(
        init_scope.with_control_dependencies([init]), [gradient], [], CONFIG
    )

    assert op.op().control_inputs == [init.op()]
    with pytest.raises(ValueError) as error:
        init_scope.with_control_dependencies([no_op(graph, "c")])
    assert str(error.value) == (
        "control input 'c' of an init scope must be an initializer"
    )


def test_scopes_are_not_changed(graph, scope):
    scope.with_name("n").with_device("/cpu:0").with_sub_scope("s")

    assert create(scope, graph) == OP
    assert scope.get_device_string() == ""
    assert scope.env() is graph


def test_env_must_be_a_graph_or_session():
    with pytest.raises(TypeError) as error:
        tpuless.Ops.create("graph")

    assert str(error.value) == (
        "env must be a tf.Graph or an EagerSession, got 'graph'"
    )


# Functions that tf.function traces.


def traced(build):
    return tf.function(build).get_concrete_function().graph


def test_function_keeps_automatic_control_dependencies():
    def build():
        for _ in range(2):
            scope = tpuless.Ops.create().scope()
            Send.create(scope, [tf.zeros([2])], [], CONFIG)

    graph = traced(build)

    second = graph.get_operation_by_name(f"{OP}_1")
    assert [c.name for c in second.control_inputs] == [OP]
    assert {c.name for c in graph.control_outputs} == {OP, f"{OP}_1"}


def test_function_adds_scope_to_surroundings():
    def build():
        a, b = tf.raw_ops.NoOp(name="a"), tf.raw_ops.NoOp(name="b")
        scope = tpuless.Ops.create().with_control_dependencies([a]).scope()
        scope, gradient = scope.with_device("/cpu:0"), tf.zeros([2])
        with tf.device("/job:w"), tf.control_dependencies([b]):
            Send.create(scope, [gradient], [], CONFIG)

    op = traced(build).get_operation_by_name(OP)

    assert {c.name for c in op.control_inputs} == {"a", "b"}
    assert op.device == "/job:w/device:CPU:0"


def test_function_captures_tensors_and_variables():
    rate, gradient = tf.Variable(0.5), tf.zeros([2], tf.float16)

    def build():
        ops = tpuless.Ops.create()
        ops.tpu.send_tpu_embedding_gradients([gradient], [rate], CONFIG)

    graph = traced(build)

    assert len(graph.captures) == 2
    assert graph.get_operation_by_name(OP).inputs[0].dtype == tf.float32


def test_scope_of_a_function_serves_it_only():
    scopes = []

    def build():
        scopes.append(tpuless.Ops.create().scope())

    traced(build)

    with pytest.raises(ValueError) as error:
        Send.create(scopes[0], [1.0], [], CONFIG)

    assert str(error.value) == (
        "scope must belong to the function being traced; make it there, by"
        " Ops.create()"
    )


def test_eager_scope_does_not_serve_a_graph(graph):
    scope = tpuless.Ops.create().scope()

    with graph.as_default(), pytest.raises(ValueError) as error:
        Send.create(scope, [1.0], [], CONFIG)

    assert str(error.value) == (
        "scope must belong to the graph being built, got an eager one; make"
        " it there, by Ops.create()"
    )


def test_ops_use_the_graph_being_built(graph):
    with graph.as_default():
        assert tpuless.Ops.create().scope().env() is graph
