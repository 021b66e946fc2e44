# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Op classes as in TensorFlow Java: arguments, nodes, wrappers."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
import tpuless
from nodes import CONFIG, OP, exported, names, no_op, node_def, placeholder
from tensorflow.core.protobuf.tpu import tpu_embedding_configuration_pb2
from tpuless import _factory, _scope

Send = tpuless.SendTPUEmbeddingGradients


@pytest.fixture
def graph():
    return tf.Graph()


@pytest.fixture
def scope(graph):
    return tpuless.Ops.create(graph).scope()


# Nodes.


@pytest.mark.parametrize("num_inputs", [1, 3])
@pytest.mark.parametrize("num_rates", [0, 1, 2])
def test_node_has_inputs_then_learning_rates(
    graph, scope, num_inputs, num_rates
):
    gradients = [placeholder(graph, f"g{i}") for i in range(num_inputs)]
    rates = [placeholder(graph, f"r{i}", shape=()) for i in range(num_rates)]
    before = names(graph)

    op = Send.create(scope, gradients, rates, CONFIG)

    inputs = [t.op.name for t in gradients + rates]
    expected = node_def(OP, inputs, num_inputs, num_rates)
    assert exported(op) == expected
    assert op.op().node_def == expected
    assert names(graph) == [*before, OP]
    assert not op.op().outputs


@pytest.mark.parametrize("prefix", [None, "train", "a.b-c"])
@pytest.mark.parametrize("name", [None, "send", "0.x-y_z"])
@pytest.mark.parametrize(
    ("device", "device_string"),
    [
        (None, ""),
        ("/cpu:0", "/device:CPU:0"),
        (tf.DeviceSpec(device_type="CPU"), "/device:CPU:*"),
        (
            tf.DeviceSpec("worker", 0, 1, "CPU", 0),
            "/job:worker/replica:0/task:1/device:CPU:0",
        ),
        (tf.DeviceSpec(job="worker"), "/job:worker"),
    ],
)
@pytest.mark.parametrize("controls", ["", "y", "zyz"])
def test_node_follows_scope(
    graph, scope, prefix, name, device, device_string, controls
):
    gradient = placeholder(graph, "g")
    by_name = {name: no_op(graph, name) for name in "yz"}
    if prefix:
        scope = scope.with_sub_scope(prefix)
    if name:
        scope = scope.with_name(name)
    scope = scope.with_device(device).with_control_dependencies(
        [by_name[name] for name in controls]
    )

    op = Send.create(scope, [gradient], [], CONFIG)

    full_name = "/".join(filter(None, [prefix, name or OP]))
    inputs = ["g", *(f"^{name}" for name in sorted(set(controls)))]
    expected = node_def(full_name, inputs, 1, 0, device=device_string)
    assert exported(op) == expected
    assert scope.get_device_string() == device_string


def test_surroundings_leave_no_trace_in_a_graph(graph, scope):
    gradient = placeholder(graph, "g")
    other = no_op(graph, "other")

    with (
        graph.as_default(),
        graph.name_scope("outer"),
        tf.device("/job:ps/cpu:1"),
        tf.control_dependencies([other]),
        graph.colocate_with(other),
    ):
        plain = Send.create(scope, [gradient], [], CONFIG)
        placed = Send.create(
            scope.with_device("/cpu:0"), [gradient], [], CONFIG
        )

    assert exported(plain) == node_def(OP, ["g"], 1, 0)
    assert exported(placed) == node_def(
        f"{OP}_1", ["g"], 1, 0, device="/device:CPU:0"
    )


def test_control_inputs_do_not_mark_the_control_op(graph, scope):
    gradient = placeholder(graph, "g")
    control = no_op(graph, "control")

    Send.create(
        scope.with_control_dependencies([control]), [gradient], [], CONFIG
    )

    assert not control.node_def.attr


def test_ops_make_the_same_node(graph):
    gradient = placeholder(graph, "g")
    control = no_op(graph, "c")
    ops = (
        tpuless.Ops.create(graph)
        .with_sub_scope("sub")
        .with_name("send")
        .with_device("/cpu:0")
        .with_control_dependencies([control])
    )

    op = ops.tpu.send_tpu_embedding_gradients([gradient], [], CONFIG)

    assert isinstance(op, Send)
    assert exported(op) == node_def(
        "sub/send", ["g", "^c"], 1, 0, device="/device:CPU:0"
    )


def test_inputs_may_be_any_iterable_and_are_read_once(graph, scope):
    tensors = [placeholder(graph, f"g{i}") for i in range(2)]

    op = Send.create(scope, iter(tensors), (r for r in ()), config=CONFIG)

    assert exported(op) == node_def(OP, ["g0", "g1"], 2, 0)


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (b"\xff\x00", b"\xff\x00"),
        ("\xff", b"\xc3\xbf"),
        (
            tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration(
                num_hosts=200
            ),
            b"\x20\xc8\x01",
        ),
        ("", b""),
    ],
)
def test_config_is_bytes_str_or_message(graph, scope, config, expected):
    op = Send.create(scope, [placeholder(graph, "g")], [], config)

    assert op.op().get_attr("config") == expected


def test_other_config_is_refused(graph, scope):
    with pytest.raises(TypeError) as error:
        Send.create(scope, [placeholder(graph, "g")], [], 3)

    assert str(error.value) == "config must be bytes, str or a message, got 3"


# Option NN and lengths.


@pytest.mark.parametrize("way", ["option", "java", "keyword"])
@pytest.mark.parametrize("nn", [0, 1, 3])
def test_nn_must_be_the_number_of_rates(graph, scope, way, nn):
    gradient = placeholder(graph, "g")
    rate = placeholder(graph, "r", shape=())
    options = {"option": [Send.nn(nn)], "java": [Send.NN(nn)]}.get(way, [])
    keyword = {"nn": nn} if way == "keyword" else {}

    def create():
        return Send.create(
            scope, [gradient], [rate], CONFIG, *options, **keyword
        )

    if nn == 1:
        assert exported(create()) == node_def(OP, ["g", "r"], 1, 1)
    else:
        with pytest.raises(ValueError) as error:
            create()
        assert (
            str(error.value) == f"Inconsistent values for attr 'NN' 1 vs. {nn}"
        )


def test_last_option_counts(graph, scope):
    gradient = placeholder(graph, "g")

    op = Send.create(scope, [gradient], [], CONFIG, Send.nn(5), Send.nn(0))

    assert exported(op) == node_def(OP, ["g"], 1, 0)


def test_option_of_another_op_is_refused(graph, scope):
    option = tpuless.EnqueueTPUEmbeddingIntegerBatch.device_ordinal(0)

    with pytest.raises(TypeError) as error:
        Send.create(scope, [placeholder(graph, "g")], [], CONFIG, option)

    assert str(error.value) == (
        f"options must be made for {OP}, got {option!r}"
    )


def test_no_inputs_are_refused(scope):
    with pytest.raises(ValueError) as error:
        Send.create(scope, [], [], CONFIG)

    assert (
        str(error.value) == "Value for attr 'N' of 0 must be at least minimum 1"
    )


def test_missing_argument_is_refused(graph, scope):
    with pytest.raises(TypeError) as error:
        Send.create(scope, [placeholder(graph, "g")], [])

    assert str(error.value) == "missing a required argument: 'config'"


@pytest.mark.parametrize("argument", ["inputs", "learning_rates"])
def test_single_tensor_is_refused(graph, scope, argument):
    tensor = placeholder(graph, "g")
    arguments = {"inputs": [tensor], "learning_rates": []}

    with pytest.raises(TypeError) as error:
        Send.create(scope, **{**arguments, argument: tensor}, config=CONFIG)

    assert str(error.value) == (
        f"{argument} must be a list of tensors, got a single one"
    )


# Values that are cast.


@pytest.mark.parametrize("dtype", [tf.bfloat16, tf.float16, tf.float64])
def test_float_tensors_are_cast_inside_the_sub_scope(graph, scope, dtype):
    gradient = placeholder(graph, "g", dtype)
    rate = placeholder(graph, "r", dtype, ())
    before = names(graph)

    op = Send.create(scope, [gradient], [rate], CONFIG)

    assert set(names(graph)) - set(before) == {
        OP,
        f"{OP}/Cast",
        f"{OP}/Cast_1",
    }
    assert exported(op) == node_def(OP, [f"{OP}/Cast", f"{OP}/Cast_1"], 1, 1)


@pytest.mark.parametrize(
    "value",
    [
        0.1,
        np.float32(0.1),
        np.float64(0.1),
        np.float16(0.1),
        np.array(0.1),
        tf.bfloat16.as_numpy_dtype(0.1),
        1,
    ],
    ids=lambda value: type(value).__name__,
)
def test_values_become_one_constant(graph, scope, value):
    gradient = placeholder(graph, "g")
    before = names(graph)

    op = Send.create(scope, [gradient], [value], CONFIG)

    assert names(graph) == [*before, f"{OP}/Const", OP]
    constant = op.op().inputs[1]
    assert constant.dtype == tf.float32
    np.testing.assert_array_equal(
        tf.get_static_value(constant), np.float32(value)
    )


def test_bfloat16_gradient_keeps_its_value(graph, scope):
    gradient = np.full([2], 0.1, tf.bfloat16.as_numpy_dtype)

    op = Send.create(scope, [gradient], [], CONFIG)

    np.testing.assert_array_equal(
        tf.get_static_value(op.op().inputs[0]), np.float32(0.10009765625)
    )


def test_lists_are_gradients(graph, scope):
    op = Send.create(scope, [[[1.0, 2.0]]], [], CONFIG)

    assert op.op().inputs[0].shape == [1, 2]


def test_variable_is_read_after_control_inputs(graph, scope):
    gradient = placeholder(graph, "g")
    with graph.as_default():
        rate = tf.Variable(0.1)
        assign = rate.assign(0.2).op
    scope = scope.with_control_dependencies([assign])

    op = Send.create(scope, [gradient], [rate], CONFIG)

    read = op.op().inputs[1].op
    assert read.name.startswith(f"{OP}/")
    assert read.control_inputs == [assign]
    assert op.op().control_inputs == [assign]


@pytest.mark.parametrize("dtype", ["int32", "int64", "complex64", "string"])
@pytest.mark.parametrize("argument", ["inputs", "learning_rates"])
def test_other_dtypes_are_refused(graph, scope, dtype, argument):
    good = placeholder(graph, "good", shape=())
    bad = placeholder(graph, "bad", tf.as_dtype(dtype), ())
    arguments = {"inputs": [good], "learning_rates": [good]}
    arguments[argument] = [good, bad]

    with pytest.raises(ValueError) as error:
        Send.create(scope, **arguments, config=CONFIG)

    assert str(error.value) == (
        f"{argument}[1] must have a dtype of 'float32', 'float64', 'float16',"
        f" 'bfloat16', got '{dtype}'"
    )


@pytest.mark.parametrize(
    "rate", [[0.1], np.array([0.1], np.float32), np.array([0.1])]
)
def test_rate_of_shape_1_is_refused(graph, scope, rate):
    with pytest.raises(ValueError, match="Shape must be rank 0"):
        Send.create(scope, [placeholder(graph, "g")], [rate], CONFIG)


def test_input_of_another_graph_is_refused(graph, scope):
    tensor = placeholder(tf.Graph(), "g")

    with pytest.raises(ValueError) as error:
        Send.create(scope, [placeholder(graph, "g"), tensor], [], CONFIG)

    assert str(error.value) == (
        f"inputs[1] must be a tensor of the scope's graph, got {tensor!r}"
    )


def test_eager_input_of_a_graph_is_refused(graph, scope):
    tensor = tf.zeros([2])

    with pytest.raises(ValueError, match="of the scope's graph"):
        Send.create(scope, [tensor], [], CONFIG)


# The wrapper.


@pytest.fixture
def op(graph, scope):
    return Send.create(
        scope.with_sub_scope("sub").with_name("name"),
        [placeholder(graph, "a"), placeholder(graph, "b")],
        [placeholder(graph, "r", shape=())],
        CONFIG,
    )


def test_wrapper_knows_its_operation(graph, op):
    assert Send.OP_NAME == op.OP_NAME == OP
    assert op.op() is graph.get_operation_by_name("sub/name")
    assert op.env() is graph
    assert str(op) == repr(op) == f"<{OP} 'sub/name'>"
    assert op.to_string() == op.toString() == str(op)


def test_default_name_is_printed(graph, scope):
    op = Send.create(scope, [placeholder(graph, "g")], [], CONFIG)

    assert str(op) == f"<{OP} '{OP}'>"


def test_wrappers_of_one_operation_are_equal(op):
    again = Send(op.op())

    assert op == again
    assert op.equals(again)
    assert hash(op) == hash(again) == op.hash_code() == op.hashCode()
    assert len({op, again}) == 1


def test_wrappers_of_two_operations_differ(graph, scope, op):
    other = Send.create(scope, [placeholder(graph, "g")], [], CONFIG)

    assert op != other
    assert not op.equals(other)
    assert not op.equals(None)
    assert op != op.op()


def test_operation_of_another_type_is_refused(graph):
    with pytest.raises(ValueError) as error:
        Send(no_op(graph, "c"))

    assert str(error.value) == (
        f"operation 'c' must be of type '{OP}', got 'NoOp'"
    )


def test_inputs_read_back_what_was_given(op):
    inputs = Send.Inputs(op.op())

    assert [t.op.name for t in inputs.inputs] == ["a", "b"]
    assert [t.op.name for t in inputs.learning_rates] == ["r"]
    assert inputs.learningRates == inputs.learning_rates
    assert inputs.config == CONFIG
    assert inputs.outputs == inputs.get_outputs() == inputs.getOutputs() == op
    assert type(inputs.outputs) is Send
    assert str(inputs) == f"Inputs of <{OP} 'sub/name'>"
    assert inputs == Send.Inputs(op.op())
    assert hash(inputs) == hash(op)
    assert inputs != op


def test_inputs_read_an_imported_node(graph, op):
    with tf.Graph().as_default() as other:
        tf.import_graph_def(graph.as_graph_def(), name="")

    inputs = Send.Inputs(other.get_operation_by_name("sub/name"))

    assert len(inputs.inputs) == 2
    assert len(inputs.learning_rates) == 1


def test_inputs_know_attributes(op):
    inputs = Send.Inputs(op.op())
    value = tf.compat.v1.AttrValue(s=CONFIG)

    assert inputs.attribute_names() == {"config"}
    assert inputs.attribute_value("config") == value
    assert inputs.attribute_values() == {"config": value}
    assert inputs.attributeValue("N").i == 2
    assert inputs.attribute_metadata("config") == (False, -1, "string", 4)
    assert inputs.attributeMetadata("NN") == (False, -1, "int", -1)
    with pytest.raises(ValueError) as error:
        inputs.attribute_value("M")
    assert str(error.value) == f"unknown attr 'M' of {inputs}"


def test_inputs_refuse_another_type(graph):
    with pytest.raises(ValueError):
        Send.Inputs(no_op(graph, "c"))


def test_inputs_refuse_an_eager_operation():
    session = _scope.EagerSession.get_default()
    record = _factory.EagerOperation("name", OP, session)

    with pytest.raises(TypeError) as error:
        Send.Inputs(record)

    assert str(error.value) == f"operation must be of a graph, got {record!r}"


def test_java_names_work(graph):
    gradient = placeholder(graph, "g")
    control = no_op(graph, "c")
    scope = (
        tpuless.Ops.create(graph)
        .withSubScope("sub")
        .withDevice("/cpu:0")
        .withControlDependencies([control])
        .scope()
        .withName("name")
    )

    op = Send.create(scope, [gradient], [], CONFIG)
    other = tpuless.Ops.create(graph).tpu.sendTPUEmbeddingGradients(
        [gradient], [], CONFIG
    )

    assert exported(op) == node_def(
        "sub/name", ["g", "^c"], 1, 0, device="/device:CPU:0"
    )
    assert exported(other) == node_def(OP, ["g"], 1, 0)
