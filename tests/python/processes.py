# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Runs scripts that load the package, each in a process of its own."""

import os
import pathlib
import subprocess
import sys
import textwrap

import tpuless

PACKAGE = pathlib.Path(tpuless.__file__).parent
LIBRARY = pathlib.Path(tpuless.library_path()).resolve()

# Runs the ops, the package's own ones, and the simulator.
USE = """
    import sys, tensorflow as tf, tpuless
    from tensorflow.core.protobuf.tpu import tpu_embedding_configuration_pb2
    config = tpu_embedding_configuration_pb2.TPUEmbeddingConfiguration(
        mode=2, batch_size_per_tensor_core=1)
    table = config.table_descriptor.add(
        name="t", vocabulary_size=3, dimension=2, num_features=1)
    parameters = table.optimization_parameters
    parameters.stochastic_gradient_descent.SetInParent()
    tf.raw_ops.ConfigureTPUEmbedding(config=config.SerializeToString())
    assert tpuless.statistics().tables[0].name == "t"
    assert "tpuless._engine" not in sys.modules  # It can wait.
    simulator = tpuless.Simulator(config)
    assert simulator.statistics().tables[0].name == "t"
    print("works")
"""

# Prints why the package cannot be imported, and what is behind it.
IMPORT = """
    try:
        import tpuless
    except ImportError as error:
        assert type(error) is ImportError
        print(error)
        print(repr(error.__cause__))
"""


def run(*scripts, argument="", path=()):
    """Runs scripts, one after the other; returns what they print.

    Args:
      *scripts: The scripts.
      argument: Their sys.argv[1].
      path: Folders in front of those that modules come from.
    """
    folders = [*map(str, path), str(PACKAGE.parent)]
    script = "\n".join(map(textwrap.dedent, scripts))
    result = subprocess.run(
        [sys.executable, "-c", script, str(argument)],
        capture_output=True,
        text=True,
        timeout=200,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(folders)},
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()
