# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""How the package loads beside TensorFlow and others: acceptance case A27."""

import pathlib
import subprocess

import pytest
import tensorflow as tf
import tpuless
from processes import LIBRARY, PACKAGE, USE, run
from tpuless import _raw_ops


@pytest.mark.parametrize(
    "imports",
    [
        "import tpuless, tensorflow",
        "import tensorflow, tpuless",
        "from tensorflow.core.protobuf.tpu import "
        "optimization_parameters_pb2, tpu_embedding_configuration_pb2",
    ],
)
def test_any_order_of_imports_works(imports):
    assert run(imports, USE) == ["works"]


def test_the_library_can_be_loaded_alone():
    script = """
        import sys, tensorflow as tf
        tf.load_op_library(sys.argv[1])
        try:
            tf.raw_ops.RecvTPUEmbeddingActivations(num_outputs=1, config=b"")
        except tf.errors.FailedPreconditionError as error:
            print(error.message.partition("}} ")[2])
        assert "tpuless" not in sys.modules
    """

    assert run(script, argument=LIBRARY) == [
        "no engine is configured; run ConfigureTPUEmbedding first "
        "[Op:RecvTPUEmbeddingActivations]"
    ]


def test_the_library_may_have_been_loaded_by_another_name(tmp_path):
    link = tmp_path / "link.so"
    link.symlink_to(LIBRARY)

    load = "import sys, tensorflow; tensorflow.load_op_library(sys.argv[1])"

    assert run(load, USE, argument=link) == ["works"]


def test_loading_the_library_again_is_harmless():
    tf.load_op_library(tpuless.library_path())

    assert tpuless.statistics() == tpuless.Statistics()


@pytest.fixture(scope="module")
def compile_library(tmp_path_factory):
    """Returns what compiles an op library of C code."""

    def compile_it(code):
        folder = tmp_path_factory.mktemp("library")
        source = folder / "library.cc"
        source.write_text(code)
        library = folder / "library.so"
        tensorflow = pathlib.Path(tf.__file__).parent
        subprocess.run(
            [
                "c++",
                *("-std=c++17", "-shared", "-fPIC"),
                f"-isystem{tensorflow / 'include'}",
                str(source),
                str(tensorflow / "libtensorflow_cc.so.2"),
                *("-o", str(library)),
            ],
            check=True,
        )
        return library

    return compile_it


def test_another_op_library_does_not_disturb(compile_library):
    other = compile_library("""
        #include "tensorflow/c/ops.h"
        static const bool registered = [] {
          TF_OpDefinitionBuilder* op = TF_NewOpDefinitionBuilder("OtherOp");
          TF_Status* status = TF_NewStatus();
          TF_RegisterOpDefinition(op, status);
          const bool ok = TF_GetCode(status) == TF_OK;
          TF_DeleteStatus(status);
          return ok;
        }();
    """)
    load = "import sys, tensorflow as tf; "
    load += "assert tf.load_op_library(sys.argv[1]).other_op"

    assert run(load, USE, argument=other) == ["works"]
    assert tf.load_op_library(str(other)).other_op  # After this package.
    assert tpuless.statistics() == tpuless.Statistics()


def test_a_tensorflow_with_kernels_of_its_own_keeps_them(compile_library):
    """As a build for TPUs has them."""
    tpu = compile_library("""
        #include "tensorflow/c/kernels.h"
        static void Compute(void*, TF_OpKernelContext*) {}
        static const bool registered = [] {
          TF_Status* status = TF_NewStatus();
          TF_RegisterKernelBuilder(
              "SendTPUEmbeddingGradients",
              TF_NewKernelBuilder("SendTPUEmbeddingGradients", "TPU_SYSTEM",
                                  nullptr, &Compute, nullptr),
              status);
          const bool ok = TF_GetCode(status) == TF_OK;
          TF_DeleteStatus(status);
          return ok;
        }();
    """)
    script = """
        import sys, tensorflow as tf
        tf.load_op_library(sys.argv[1])
        import tpuless
        from tpuless import _raw_ops
        print(_raw_ops.kernel_devices("SendTPUEmbeddingGradients"))
        print(tpuless.is_active())
        print(tpuless.statistics().enqueues)
    """

    assert run(script, argument=tpu) == ["{'TPU_SYSTEM'}", "False", "0"]


def _symbols(library, *options):
    """Returns the names that a library defines."""
    output = subprocess.run(
        ["nm", "--defined-only", *options, str(library)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return {line.split()[-1] for line in output.splitlines()}


@pytest.mark.parametrize(
    "library",
    [LIBRARY, *PACKAGE.glob("_engine.*.so")],
    ids=lambda path: path.name.partition(".")[0],
)
def test_no_copy_of_tensorflows_messages_is_inside(library):
    # The second table, of hidden names, is not in a library that is stripped.
    symbols = _symbols(library, "--dynamic") | _symbols(library)

    assert symbols
    assert not [s for s in symbols if "descriptor_table_" in s]
    assert not [s for s in symbols if "google8protobuf14DescriptorPool" in s]


def test_a_thread_that_waits_does_not_disturb_the_end_of_python():
    script = """
        import threading
        simulator.load("t", [[0, 0]] * 3)
        threading.Thread(target=simulator.receive, daemon=True).start()
    """

    assert run(USE, script) == ["works"]


def test_all_public_names_are_there():
    assert {*tpuless.__all__} <= {*dir(tpuless)}
    for name in tpuless.__all__:
        assert getattr(tpuless, name) is not None


def test_another_name_is_an_attribute_error():
    with pytest.raises(AttributeError) as info:
        tpuless.Simulatr  # noqa: B018

    assert str(info.value) == "module 'tpuless' has no attribute 'Simulatr'"


def test_what_is_private_in_tensorflow_is_still_there():
    # Else _raw_ops.py needs a look.
    assert _raw_ops.kernel_devices("MatMul") >= {"CPU"}
    assert _raw_ops.op_def("MatMul").name == "MatMul"
    assert _raw_ops.op_def("MatMall") is None
    (negated,) = _raw_ops._apply("LogicalNot", x=tf.constant(True))
    assert not negated.numpy()
    with tf.Graph().as_default():
        negated = _raw_ops._apply("LogicalNot", x=tf.constant(True), name="no")
    assert negated.op.name == "no"
