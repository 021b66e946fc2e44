# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""How a process gets virtual TPU cores, and when it does not."""

import os
import pathlib
import subprocess
import sys

import pytest
import tpuless

pytestmark = pytest.mark.timeout(120)

# As written for a TPU: no word of tpuless.
SCRIPT = """
import sys

import tensorflow as tf

resolver = tf.distribute.cluster_resolver.TPUClusterResolver(tpu="")
tf.config.experimental_connect_to_cluster(resolver)
tf.tpu.experimental.initialize_tpu_system(resolver)
strategy = tf.distribute.TPUStrategy(resolver)


@tf.function
def total(x):
    def step(x):
        context = tf.distribute.get_replica_context()
        return context.all_reduce("sum", x)

    return strategy.run(step, args=(x,))


result = total(tf.constant(float(sys.argv[1])))
print(strategy.num_replicas_in_sync, strategy.unwrap(result)[0].numpy())
"""


def _python(*arguments, **environment):
    """Returns standard output; the last line of errors if it fails."""
    result = subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    if result.returncode:
        return result.stderr.strip().splitlines()[-1]
    return result.stdout.strip()


def _run(code, **environment):
    return _python("-c", code, **environment)


def test_an_unchanged_script_runs_by_the_command(tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)

    output = _python(
        *("-m", "tpuless", "run", "--cores", "3"),
        *(str(tmp_path / "train.py"), "2.5"),
    )

    assert output == "3 7.5"


def test_an_unchanged_script_runs_by_the_environment(tmp_path):
    (tmp_path / "train.py").write_text("import tpuless\n" + SCRIPT)

    output = _python(str(tmp_path / "train.py"), "1", TPULESS_CORES="2")

    assert output == "2 2.0"


@pytest.fixture
def plugged_in(tmp_path):
    """An environment in which TensorFlow finds the plugin by itself."""
    # It looks into folders of this name.
    site_packages = tmp_path / "site-packages"
    site_packages.symlink_to(pathlib.Path(tpuless.__file__).parents[1])
    return {"PYTHONPATH": str(site_packages)}


def test_an_unchanged_script_runs_by_the_plugin(tmp_path, plugged_in):
    (tmp_path / "train.py").write_text(SCRIPT)

    output = _python(
        str(tmp_path / "train.py"), "1.5", TPULESS_CORES="2", **plugged_in
    )

    assert output == "2 3.0"


@pytest.mark.parametrize("cores", ["", "0"])
def test_the_plugin_does_nothing_unless_asked(plugged_in, cores):
    code = (
        "import sys, tensorflow as tf;"
        "print('tpuless' in sys.modules,"
        "      'libtpuless_plugin' in open('/proc/self/maps').read(),"
        "      'libtpuless_ops' in open('/proc/self/maps').read())"
    )

    output = _run(code, TPULESS_CORES=cores, **plugged_in)

    assert output == "False True False"


def test_the_plugin_does_no_harm_to_a_script_that_asks_itself(plugged_in):
    code = (
        "import tpuless, tensorflow as tf; tpuless.virtual_tpu(2);"
        "print(len(tf.config.list_logical_devices('TPU')))"
    )

    assert _run(code, TPULESS_CORES="2", **plugged_in) == "2"


def test_the_plugin_refuses_a_bad_variable(plugged_in):
    output = _run("import tensorflow", TPULESS_CORES="two", **plugged_in)

    assert output == (
        "ValueError: environment variable TPULESS_CORES must be a number from "
        "0 to 1024, got 'two'"
    )


def test_the_command_names_a_script_that_is_not_there(tmp_path):
    missing = tmp_path / "missing.py"

    output = _python("-m", "tpuless", "run", str(missing))

    assert output == f"tpuless run: no script '{missing}'"


def test_the_script_decides_the_exit_code(tmp_path):
    (tmp_path / "exit.py").write_text("import sys; sys.exit(7)")

    result = subprocess.run(
        [sys.executable, "-m", "tpuless", "run", str(tmp_path / "exit.py")],
        capture_output=True,
        check=False,
    )

    assert result.returncode == 7


def test_there_are_no_cores_unless_asked_for():
    assert (
        _run(
            "import tensorflow as tf, tpuless;"
            "print(tf.config.list_logical_devices('TPU'))"
        )
        == "[]"
    )


def test_devices_that_were_listed_before_do_not_matter():
    assert (
        _run(
            "import tensorflow as tf, tpuless;"
            "tf.config.list_physical_devices();"
            "tpuless.virtual_tpu(2); tpuless.virtual_tpu(2);"
            "print(len(tf.config.list_logical_devices('TPU')))"
        )
        == "2"
    )


def test_plain_ops_stay_on_the_cpu():
    assert _run(
        "import tensorflow as tf, tpuless; tpuless.virtual_tpu(2);"
        "print((tf.constant(1) + 1).device)"
    ).endswith("device:CPU:0")


@pytest.mark.parametrize("cores", [0, -1, 1025])
def test_number_of_cores_out_of_range_is_refused(cores):
    with pytest.raises(
        ValueError, match=f"^cores must be 1 to 1024, got {cores}$"
    ):
        tpuless.virtual_tpu(cores)


@pytest.mark.parametrize("cores", [2.0, "2", True, None])
def test_number_of_cores_of_another_type_is_refused(cores):
    with pytest.raises(ValueError, match="^cores must be an int, got "):
        tpuless.virtual_tpu(cores)


def test_too_late_is_refused():
    assert _run(
        "import tensorflow as tf, tpuless;tf.constant(1);tpuless.virtual_tpu(2)"
    ) == (
        "RuntimeError: virtual_tpu() must come before TensorFlow's first op, "
        "which makes the devices; call it right after the imports"
    )


def test_another_number_of_cores_is_refused():
    assert _run(
        "import tensorflow as tf, tpuless;"
        "tpuless.virtual_tpu(2);"
        "tf.constant(1);"
        "tpuless.virtual_tpu(4)"
    ) == (
        "RuntimeError: virtual_tpu() must not change the number of cores once "
        "TensorFlow has made its devices, got 4 after 2"
    )


def test_beside_a_real_tpu_is_refused():
    assert _run(
        "import tensorflow as tf, tpuless;"
        "from tpuless import _virtual_tpu;"
        "_virtual_tpu._num_physical_cores = lambda: 8;"
        "tpuless.virtual_tpu(2)"
    ) == (
        "RuntimeError: virtual_tpu() is for machines without a TPU, got one "
        "with 8 cores; leave the call out"
    )


@pytest.mark.parametrize("text", ["two", "-1", "1025", "2.0"])
def test_a_bad_variable_is_refused(text):
    assert _run("import tpuless", TPULESS_CORES=text) == (
        "ValueError: environment variable TPULESS_CORES must be a number from "
        f"0 to 1024, got {text!r}"
    )


SERVERS = """
import socket

import tensorflow as tf
import tpuless

tpuless.virtual_tpu(1)


def free_port():
    with socket.socket() as taken:
        taken.bind(("localhost", 0))
        return taken.getsockname()[1]


addresses = [f"localhost:{free_port()}" for _ in range(2)]
cluster = tf.train.ClusterSpec({"worker": addresses})
servers = [
    tf.distribute.Server(cluster, job_name="worker", task_index=i)
    for i in range(2)
]
with tf.Graph().as_default():
    outputs = tf.compat.v1.tpu.replicate(lambda: tf.constant(1.0), [[]])
    with tf.compat.v1.Session(servers[0].target) as session:
        try:
            session.run(outputs)
        except tf.errors.UnimplementedError as error:
            print(error.message)
"""


def test_the_cores_of_several_hosts_are_refused():
    lines = _run(SERVERS).splitlines()

    assert (
        "TPU program 'cluster': must run on the cores of one host, got "
        "/job:worker/replica:0/task:0 and /job:worker/replica:0/task:1"
    ) in lines
