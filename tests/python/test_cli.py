# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The command `tpuless`."""

import subprocess
import sys

import configs
import pytest
from google.protobuf import text_format
from tpuless import _build_info, _cli, _engine
from tpuless._version import __version__

_ADAM = {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-7}

_FEATURES_OUTPUT = """\
mode TRAINING, 1 host, 2 cores a host, batch size 2 a core, sharding DIV, \
pipelined

tables
  'user': vocabulary_size 1000000, dimension 64, 732.4 MiB
    adam: beta1 0.9, beta2 0.999, epsilon 1e-07, use_non_lazy_adam 0, \
use_sum_inside_sqrt 0, slot variables momenta, velocities, learning rate of \
tag 0
  'movie': vocabulary_size 3, dimension 2, 24 B
    stochastic_gradient_descent: learning rate 0.1

outputs
  feature 'watched' of table 'movie': [2, 5, 2]
  feature 1 of table 'user': [2, 64]

learning rates in each step: 1
memory: 732.4 MiB, this machine has 3.0 TiB
"""

_TABLES_OUTPUT = """\
mode INFERENCE, 2 hosts, 1 core a host, batch size 8 a core, sharding MOD

tables
  't': vocabulary_size 3, dimension 2, 24 B
    stochastic_gradient_descent: learning rate 0.1

outputs
  table 't': [24, 2]

learning rates in each step: 0
memory: 24 B, this machine has 3.0 TiB
"""


def _features_config():
    return configs.config(
        configs.table(
            "user",
            1000000,
            64,
            0,
            optimizer="adam",
            hyperparameters=_ADAM,
            tag=0,
        ),
        configs.table("movie", 3, 2, 0),
        features=[("watched", 1, [2, 5]), ("", 0, [2])],
        cores=2,
        pipelined=True,
    )


@pytest.fixture
def memory_limit(monkeypatch):
    """Gives the machine 3 TiB, as the machine's own cannot be expected."""
    describe = _engine.describe
    monkeypatch.setattr(
        _engine,
        "describe",
        lambda config: {**describe(config), "memory_limit": 3 * 2**40},
    )


def _inspect(tmp_path, content):
    path = tmp_path / "config"
    path.write_bytes(content)
    return _cli.main(["inspect", str(path)])


@pytest.mark.usefixtures("memory_limit")
@pytest.mark.parametrize("form", ["serialized", "text"])
def test_inspect_prints_what_a_configuration_makes(form, tmp_path, capsys):
    content = _features_config()
    if form == "text":
        content = text_format.MessageToBytes(configs.parse(content))

    code = _inspect(tmp_path, content)

    assert code == 0
    assert capsys.readouterr().out == _FEATURES_OUTPUT


@pytest.mark.usefixtures("memory_limit")
def test_inspect_prints_the_table_layout(tmp_path, capsys):
    config = configs.config(
        configs.table("t", 3, 2, num_features=3),
        batch_size=8,
        sharding=configs.MOD,
        mode=configs.INFERENCE,
        hosts=2,
        cores=2,
    )

    code = _inspect(tmp_path, config)

    assert code == 0
    assert capsys.readouterr().out == _TABLES_OUTPUT


@pytest.mark.usefixtures("memory_limit")
def test_inspect_counts_tables_that_no_machine_holds(tmp_path, capsys):
    config = configs.config(configs.table("t", 2**62, 128))

    code = _inspect(tmp_path, config)

    assert code == 0
    assert capsys.readouterr().out.splitlines()[-1] == (
        "memory: 2048.0 EiB, this machine has 3.0 TiB"
    )


def _assert_refused(code, capsys, message):
    captured = capsys.readouterr()
    assert code == 1
    assert captured.out == ""
    assert captured.err == f"tpuless inspect: {message}\n"


def test_inspect_refuses_with_the_sentence_of_the_engine(tmp_path, capsys):
    config = configs.config(configs.table("user", 3, dimension=0))

    code = _inspect(tmp_path, config)

    _assert_refused(code, capsys, "table 'user': dimension must be > 0, got 0")


def test_inspect_refuses_what_the_engine_lacks(tmp_path, capsys):
    config = configs.config(configs.table(optimizer="mdl_adagrad_light"))

    code = _inspect(tmp_path, config)

    _assert_refused(
        code,
        capsys,
        "table 't': optimizer 'mdl_adagrad_light' is not supported: no public "
        "text gives its formula",
    )


def test_inspect_refuses_other_text(tmp_path, capsys):
    code = _inspect(tmp_path, b"mode: TRAINING\nbatch_sise: 3\n")

    _assert_refused(
        code,
        capsys,
        f"'{tmp_path / 'config'}' must be a TPUEmbeddingConfiguration, "
        "serialized or in text format, got at 2:1 : Message type "
        '"tensorflow.tpu.TPUEmbeddingConfiguration" has no field named '
        '"batch_sise".',
    )


def test_inspect_refuses_other_bytes(tmp_path, capsys):
    code = _inspect(tmp_path, b"\x7fELF\x02\x01\x01\x00")

    _assert_refused(
        code,
        capsys,
        "Malformed tpu_embedding_config: it must be a serialized "
        "TPUEmbeddingConfiguration, got 8 bytes that do not parse as one",
    )


def test_inspect_refuses_an_empty_file(tmp_path, capsys):
    code = _inspect(tmp_path, b"")

    _assert_refused(
        code, capsys, "table_descriptor must have at least one entry"
    )


def test_inspect_refuses_a_file_that_is_not_there(tmp_path, capsys):
    path = str(tmp_path / "config")

    code = _cli.main(["inspect", path])

    _assert_refused(
        code, capsys, f"cannot read '{path}', No such file or directory"
    )


def test_no_command_is_refused(capsys):
    with pytest.raises(SystemExit) as info:
        _cli.main([])

    assert info.value.code == 2
    assert capsys.readouterr().err == (
        "usage: tpuless [-h] [--version] COMMAND ...\n"
        "tpuless: error: the following arguments are required: COMMAND\n"
    )


def test_the_package_runs_as_the_command():
    result = subprocess.run(
        [sys.executable, "-m", "tpuless", "--version"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    assert result.stdout == (
        f"tpuless {__version__} for TensorFlow "
        f"{_build_info.TENSORFLOW_VERSION}\n"
    )
