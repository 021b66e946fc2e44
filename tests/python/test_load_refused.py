# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What the package says where it cannot be loaded: acceptance case A26."""

import platform
import shutil
import sys
import textwrap

import pytest
import tensorflow as tf
import tpuless
from processes import IMPORT, LIBRARY, PACKAGE, USE, run
from tpuless import _build_info, _load


@pytest.fixture
def fake_tensorflow(tmp_path):
    """Returns what makes a module `tensorflow`, and a path to it."""

    def make(code):
        folder = tmp_path / "fake" / "tensorflow"
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text(textwrap.dedent(code))
        return [folder.parent]

    return make


@pytest.fixture
def copied_package(tmp_path):
    """Returns the path of a copy of the package without what was built."""
    shutil.copytree(
        PACKAGE,
        tmp_path / "copy" / "tpuless",
        ignore=shutil.ignore_patterns("*.so", "_build_info.py", "__pycache__"),
    )
    return tmp_path / "copy"


def test_a_second_copy_is_refused(tmp_path):
    copy = shutil.copy(LIBRARY, tmp_path / "copy.so")
    script = """
        import sys, tpuless, tensorflow as tf
        try:
            tf.load_op_library(sys.argv[1])
        except tf.errors.FailedPreconditionError as error:
            print(error.message)
    """

    # The first copy goes on.
    assert run(script, USE, argument=copy) == [
        f"tpuless is loaded already, from {LIBRARY}; {copy} is a second copy "
        "and registers nothing",
        "works",
    ]


def test_the_package_is_refused_if_it_is_the_second_copy(tmp_path):
    copy = shutil.copy(LIBRARY, tmp_path / "copy.so")
    script = "import sys, tensorflow; tensorflow.load_op_library(sys.argv[1])"

    message, cause = run(script, IMPORT, argument=copy)

    assert message == (
        f"tpuless could not load {tpuless.library_path()}: tpuless is loaded "
        f"already, from {copy}; {LIBRARY} is a second copy and registers "
        "nothing"
    )
    assert cause.startswith("FailedPreconditionError(")


def test_another_minor_version_is_refused(fake_tensorflow):
    path = fake_tensorflow("__version__ = '2.99.1'")

    message, cause = run(IMPORT, path=path)

    assert message == (
        f"tpuless is built for TensorFlow {_build_info.TENSORFLOW_VERSION}, "
        f"found 2.99.1 (Python {platform.python_version()} on Linux "
        f"{platform.machine()}); run 'pip install --no-build-isolation "
        "--no-deps --force-reinstall .' in its source folder"
    )
    assert cause == "None"


def test_another_patch_version_is_loaded(fake_tensorflow):
    minor = ".".join(_build_info.TENSORFLOW_VERSION.split(".")[:2])
    path = fake_tensorflow(f"""
        __version__ = "{minor}.99-rc1"
        def load_op_library(path):
            print(path)
            raise SystemExit
        class errors:
            OpError = Exception
    """)

    assert run("import tpuless", path=path) == [tpuless.library_path()]


def test_no_tensorflow_is_said():
    script = "import sys; sys.modules['tensorflow'] = None"

    message, cause = run(script, IMPORT)

    assert message == (
        f"tpuless needs TensorFlow, found none in {sys.executable}; "
        "'pip install tensorflow-cpu' gives it"
    )
    assert cause.startswith("ModuleNotFoundError(")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "import dependency_of_tensorflow",
            "ModuleNotFoundError: No module named 'dependency_of_tensorflow'",
        ),
        (
            "raise ImportError('undefined symbol: x')",
            "ImportError: undefined symbol: x",
        ),
        (
            "raise AttributeError('numpy is too new')",
            "AttributeError: numpy is too new",
        ),
    ],
)
def test_a_tensorflow_that_fails_is_the_cause(code, message, fake_tensorflow):
    output, cause = run(IMPORT, path=fake_tensorflow(code))

    assert output == (
        f"tpuless needs TensorFlow, whose import failed with {message}"
    )
    assert cause.startswith(f"{message.partition(':')[0]}(")


def test_a_package_that_was_not_built_says_how(copied_package, fake_tensorflow):
    path = [copied_package, *fake_tensorflow("__version__ = '2.99'")]
    package = copied_package / "tpuless"
    how = "run 'pip install --no-build-isolation .' in its source folder"

    message, _ = run(IMPORT, path=path)
    assert message == (
        f"tpuless is not built: {package} has no _build_info.py; {how}"
    )

    (package / "_build_info.py").write_text("TENSORFLOW_VERSION = '2.99.0'")
    message, _ = run(IMPORT, path=path)
    assert message == (
        f"tpuless is not built: {package} has no libtpuless_ops.so; {how}"
    )


def test_a_library_that_cannot_be_loaded_is_named(tmp_path, monkeypatch):
    library = tmp_path / "libtpuless_ops.so"
    library.write_text("no library")
    monkeypatch.setattr(_load, "library_path", lambda: str(library))

    with pytest.raises(ImportError) as info:
        _load.load()

    assert str(info.value) == (
        f"tpuless could not load {library}: {library}: file too short"
    )
    assert isinstance(info.value.__cause__, tf.errors.NotFoundError)


def test_another_platform_is_refused():
    script = """
        import platform, sys
        platform.machine = lambda: "arm64"
        platform.system = lambda: "Darwin"
        sys.platform = "darwin"
    """

    message, cause = run(script, IMPORT)

    assert message == (
        "tpuless needs Linux on x86_64 or aarch64, got Darwin on arm64"
    )
    assert cause == "None"
