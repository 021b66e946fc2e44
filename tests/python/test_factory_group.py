# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""All op classes of group `tpu`, beside facts about those of Java."""

from __future__ import annotations

import importlib.util
import inspect

import numpy as np
import pytest
import tensorflow as tf
import tpuless
from java_classes import CONFIG, camel, read_classes, snake
from nodes import exported, no_op, placeholder
from tpuless import _factory, _raw_ops

CLASSES = list(read_classes())
PRESENT = [each for each in CLASSES if each.op_def() is not None]

every_class = pytest.mark.parametrize(
    "java", PRESENT, ids=lambda java: java.name
)
every_option = pytest.mark.parametrize(
    ("java", "option"),
    [(java, option) for java in PRESENT for option in java.options],
    ids=lambda value: getattr(value, "name", value),
)


@pytest.fixture
def graph():
    return tf.Graph()


@pytest.fixture
def ops(graph):
    return tpuless.Ops.create(graph)


def op_class(java):
    return getattr(tpuless, java.name)


def create(java, ops, *options):
    """Builds the op, by default with the options that it needs."""
    arguments = java.make_arguments(ops.scope().env()).values()
    keywords = {} if options else java.make_options()
    return op_class(java).create(ops.scope(), *arguments, *options, **keywords)


# Names.


def test_classes_are_those_of_java():
    absent = {each.name for each in CLASSES} - {each.name for each in PRESENT}

    assert tpuless.tpu.__all__ == sorted(each.name for each in PRESENT)
    assert absent <= set(tpuless.tpu.ABSENT)
    assert set(tpuless.tpu.__all__) <= set(tpuless.__all__)


@every_class
def test_arguments_and_op_are_javas(java):
    cls = op_class(java)

    assert java.op_name == cls.OP_NAME
    assert cls.__name__ == java.name
    parameters = inspect.signature(cls.create).parameters
    options = [snake(option) for option in java.options]
    assert list(parameters) == [
        "scope",
        *map(snake, java.arguments),
        *(["options"] if options else []),
        *options,
    ]
    assert [
        name
        for name, parameter in parameters.items()
        if "Iterable" in parameter.annotation
    ] == [snake(name) for name in java.arguments if name.endswith("*")]


@every_class
def test_methods_are_javas(java):
    cls = op_class(java)

    for name in java.options:
        assert isinstance(inspect.getattr_static(cls, name), staticmethod)
        assert getattr(cls, name) == getattr(cls, snake(name))
        assert getattr(cls.Options, name) == getattr(cls.Options, snake(name))
    for name in java.outputs:
        name = name.rstrip("*")
        assert getattr(cls, name) == getattr(cls, snake(name))
    assert issubclass(cls, _factory.Operand) == (java.interface == "Operand")
    assert hasattr(cls, "asOutput") == (java.interface == "Operand")
    assert hasattr(cls, "__iter__") == (java.interface == "Iterable")
    assert hasattr(cls, "Options") == bool(java.options)


@every_class
def test_help_names_everything(java):
    cls = op_class(java)

    names = [*java.arguments, *java.options]
    for name in map(snake, names):
        assert f"  {name}: " in cls.__doc__, name
        assert f"  {name}: " in cls.create.__doc__, name
    assert len(cls.__doc__.splitlines()[0]) < 80
    assert inspect.signature(cls.create).return_annotation == java.name


def test_signature_is_shown():
    shown = inspect.signature(
        tpuless.LoadTPUEmbeddingStochasticGradientDescentParameters.create
    )

    assert str(shown).replace("'", "") == (
        "(scope: Scope, parameters: TensorLike, num_shards: int,"
        " shard_id: int,"
        " *options:"
        " LoadTPUEmbeddingStochasticGradientDescentParameters.Options,"
        " table_id: int | None = None,"
        " table_name: bytes | str | Message | None = None,"
        " config: bytes | str | Message | None = None)"
        " -> LoadTPUEmbeddingStochasticGradientDescentParameters"
    )


def test_docstring_is_made_of_the_definition():
    assert tpuless.RecvTPUEmbeddingActivations.__doc__ == (
        "Receives the activations of a batch.\n"
        "\n"
        "Arguments of `create` after the scope:\n"
        "  num_outputs: how many activations there are; int\n"
        "  config: the `TPUEmbeddingConfiguration`; bytes, str or a message\n"
        "\n"
        "Outputs:\n"
        "  outputs: list of float32 tensors"
    )


# Nodes.


@every_class
def test_node_is_that_of_tensorflow(java, ops):
    op = create(java, ops)

    assert type(op) is op_class(java)
    assert exported(op) == java.expected_node(java.name)


@every_class
def test_node_follows_the_scope(java, graph, ops):
    control = no_op(graph, "control")
    ops = (
        ops.with_sub_scope("sub")
        .with_name("name")
        .with_device("/cpu:0")
        .with_control_dependencies([control])
    )

    op = create(java, ops)

    node = java.expected_node("sub/name", None, "control", "/device:CPU:0")
    assert exported(op) == node


@every_option
def test_option_sets_its_attr(java, option, graph, ops):
    cls = op_class(java)
    values = java.make_options(option)
    arguments = java.make_arguments(graph).values()
    by_python_name = {snake(name): value for name, value in values.items()}

    for name, options, keywords in [
        ("keyword", [], by_python_name),
        ("option", [getattr(cls, n)(v) for n, v in by_python_name.items()], {}),
        ("java", [getattr(cls, camel(n))(v) for n, v in values.items()], {}),
    ]:
        op = cls.create(
            ops.with_name(name).scope(), *arguments, *options, **keywords
        )
        assert exported(op) == java.expected_node(name, values)


@every_class
def test_endpoint_is_create(java, graph, ops):
    arguments = java.make_arguments(graph).values()
    names = [snake(java.name), java.endpoint or snake(java.name)]

    nodes = [
        exported(getattr(ops.tpu, name)(*arguments, **java.make_options()))
        for name in names
    ]

    assert nodes[0] == java.expected_node(java.name)
    assert nodes[1] == java.expected_node(f"{java.name}_1")
    shown = dict(inspect.signature(op_class(java).create).parameters)
    del shown["scope"]
    assert shown == inspect.signature(getattr(ops.tpu, names[0])).parameters


def test_options_chain(ops):
    cls = tpuless.EnqueueTPUEmbeddingSparseTensorBatch
    java = next(each for each in PRESENT if each.name == cls.__name__)

    op = create(
        java,
        ops,
        cls.deviceOrdinal(2).combiners("sum", "mean"),
        cls.num_features([1, 0]).max_sequence_lengths(1, 0).deviceOrdinal(1),
    )

    assert exported(op) == java.expected_node(
        java.name,
        {
            "device_ordinal": 1,
            "combiners": [b"sum", b"mean"],
            "num_features": [1, 0],
            "max_sequence_lengths": [1, 0],
        },
    )


def test_options_of_lists_take_a_list_or_none(ops):
    cls = tpuless.EnqueueTPUEmbeddingSparseBatch
    java = next(each for each in PRESENT if each.name == cls.__name__)

    two = create(java, ops, cls.combiners(("sum", b"mean")))
    none = create(java, ops.with_name("none"), cls.combiners())

    assert two.op().get_attr("combiners") == [b"sum", b"mean"]
    assert none.op().get_attr("combiners") == []
    assert two.Inputs(two.op()).attribute_metadata("combiners") == (
        (True, 2, "string", 7)
    )
    assert none.Inputs(none.op()).attribute_metadata("combiners") == (
        (True, 0, "string", 0)
    )


@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_empty_lists_have_the_type_of_the_others(graph, ops, dtype):
    ids = [placeholder(graph, "ids", dtype), []]
    none = [[], []]

    op = ops.tpu.enqueue_tpu_embedding_sparse_batch(none, ids, none, "train")

    assert [op.op().get_attr(name) for name in ("T1", "T2", "T3")] == [
        tf.int32,
        dtype,
        tf.float32,
    ]


# What comes back.


@every_class
def test_inputs_read_back_what_was_given(java, graph, ops):
    arguments, options = java.make_arguments(graph), java.make_options()
    op = op_class(java).create(ops.scope(), *arguments.values(), **options)

    inputs = op.Inputs(op.op())

    assert inputs.outputs == op
    for name in java.fields:
        assert getattr(inputs, name) is getattr(inputs, snake(name))
    for name, value in {**arguments, **options}.items():
        if camel(name) in java.fields:
            read = getattr(inputs, camel(name))
            assert comparable(read) == comparable(value)
    attrs = {attr.name for attr in java.op_def().attr}
    assert inputs.attribute_names() == attrs & set(java.op_names(java.fields))
    for name in inputs.attribute_names():
        metadata = inputs.attribute_metadata(name)
        assert metadata.is_list == (metadata.list_size >= 0)


def comparable(value):
    """Returns names in place of tensors."""
    if isinstance(value, list):
        return [comparable(each) for each in value]
    return value.name if isinstance(value, tf.Tensor) else value


@every_class
def test_outputs_are_javas(java, ops):
    op = create(java, ops)

    outputs = [getattr(op, name.rstrip("*"))() for name in java.outputs]

    assert [isinstance(each, list) for each in outputs] == [
        name.endswith("*") for name in java.outputs
    ]
    flat = tf.nest.flatten(outputs)
    assert all(a is b for a, b in zip(flat, op.op().outputs, strict=True))
    if java.interface == "Operand":
        assert op.asOutput() is op.as_output() is outputs[0]
        assert tf.convert_to_tensor(op) is outputs[0]
    if java.interface == "Iterable":
        assert list(op) == outputs[0]


def test_wrappers_are_inputs(graph, ops):
    received = ops.tpu.recv_tpu_embedding_activations(2, CONFIG)
    variable = placeholder(graph, "variable")

    passed = [
        ops.tpu.tpu_embedding_activations(variable, activation, 0, 0)
        for activation in received
    ]
    sent = ops.tpu.send_tpu_embedding_gradients(passed, [], CONFIG)
    memory = ops.tpu.collate_tpu_embedding_memory(
        [ops.tpu.execute_tpu_embedding_partitioner(CONFIG)]
    )

    assert exported(sent).input == [each.op().name for each in passed]
    assert exported(memory).input == ["ExecuteTPUEmbeddingPartitioner"]


def test_same_op_may_have_two_classes(graph, ops):
    op = ops.tpu.embedding_activations(
        *(placeholder(graph, name) for name in "ab"), 0, 0
    )

    assert op.op().name == "EmbeddingActivations"
    assert op.op().type == "TPUEmbeddingActivations"
    assert op == tpuless.TPUEmbeddingActivations(op.op())


# Refusals.


def refused(error_class, call, *args, **kwargs):
    with pytest.raises(error_class) as error:
        call(*args, **kwargs)
    return str(error.value)


@every_class
def test_wrong_number_of_arguments_is_refused(java, graph, ops):
    arguments = list(java.make_arguments(graph).values())
    call = getattr(ops.tpu, snake(java.name))

    if java.arguments:
        message = refused(TypeError, call, *arguments[:-1])
        missing = snake(java.arguments[-1])
        assert message == f"missing a required argument: '{missing}'"
    message = refused(TypeError, call, *arguments, 1)
    if java.options:
        assert message == f"options must be made for {java.op_name}, got 1"
    else:
        assert message == "too many positional arguments"


@every_class
def test_unknown_option_is_refused(java, graph, ops):
    call = getattr(ops.tpu, snake(java.name))

    message = refused(
        TypeError, call, *java.make_arguments(graph).values(), color=1
    )

    assert message == "got an unexpected keyword argument 'color'"


@every_class
def test_wrong_operation_type_is_refused(java, graph):
    operation = no_op(graph, "c")

    for wrap in (op_class(java), op_class(java).Inputs):
        assert refused(ValueError, wrap, operation) == (
            f"operation 'c' must be of type '{java.op_name}', got 'NoOp'"
        )


def test_lists_of_different_lengths_are_refused(ops):
    message = refused(
        ValueError,
        ops.tpu.enqueue_tpu_embedding_sparse_batch,
        [[0]],
        [[0], [1]],
        [[1.0]],
        "train",
    )

    assert message == "Inconsistent values for attr 'N' 1 vs. 2"


@pytest.mark.parametrize("batch", ["text", b"text", 3, np.zeros(2, np.int32)])
def test_a_single_value_is_no_list(ops, batch):
    message = refused(
        TypeError, ops.tpu.enqueue_tpu_embedding_integer_batch, batch, "train"
    )

    assert message == "batch must be a list of tensors, got a single one"


def test_option_of_another_class_is_refused(ops):
    option = tpuless.ConfigureDistributedTPU.embedding_config("")

    message = refused(TypeError, ops.tpu.is_tpu_embedding_initialized, option)

    assert message == (
        f"options must be made for IsTPUEmbeddingInitialized, got {option!r}"
    )


ABSENT = (
    "FinalizeTPUEmbedding needs op 'FinalizeTPUEmbeddingV2', which TensorFlow"
    f" {tf.__version__} does not have"
)


@pytest.fixture
def older_tpu(monkeypatch):
    """Returns tpuless.tpu as of a TensorFlow that lacks an op."""
    op_def = _raw_ops.op_def
    monkeypatch.setattr(
        _raw_ops,
        "op_def",
        lambda name: None if name == "FinalizeTPUEmbeddingV2" else op_def(name),
    )
    spec = importlib.util.find_spec("tpuless.tpu")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_class_without_op_is_refused_when_asked_for(older_tpu, ops):
    names = {each.name for each in PRESENT}
    assert set(older_tpu.__all__) == names - {"FinalizeTPUEmbedding"}
    older_ops = older_tpu.TpuOps(ops.scope())

    for owner, name in [
        (older_tpu, "FinalizeTPUEmbedding"),
        (older_ops, "finalize_tpu_embedding"),
        (older_ops, "finalizeTPUEmbedding"),
    ]:
        assert refused(AttributeError, getattr, owner, name) == ABSENT


def test_package_refuses_it_in_the_same_words(monkeypatch):
    monkeypatch.setitem(tpuless.tpu.ABSENT, "Later", "Later needs op 'Later'")

    message = refused(AttributeError, getattr, tpuless, "Later")

    assert message == "Later needs op 'Later'"


def test_other_names_are_no_attributes(ops):
    assert refused(AttributeError, getattr, tpuless.tpu, "Foo") == (
        "module 'tpuless.tpu' has no attribute 'Foo'"
    )
    assert refused(AttributeError, getattr, ops.tpu, "foo") == (
        "'TpuOps' object has no attribute 'foo'"
    )
