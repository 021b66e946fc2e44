# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Repositories that need no network: archives here, and packages of Python."""

def _archive_impl(ctx):
    ctx.download_and_extract(
        url = "file://{}".format(ctx.path(ctx.attr.archive)),
        sha256 = ctx.attr.sha256,
        stripPrefix = ctx.attr.prefix,
    )

    # GoogleTest has one, which asks for more than Bazel here can have.
    ctx.delete("BUILD.bazel")
    ctx.symlink(ctx.attr.build_file, "BUILD.bazel")

_archive = repository_rule(
    implementation = _archive_impl,
    attrs = {
        "archive": attr.label(mandatory = True),
        "build_file": attr.label(mandatory = True),
        "prefix": attr.string(mandatory = True),
        "sha256": attr.string(mandatory = True),
    },
)

def _ask_python(ctx, arguments, missing):
    """Returns the lines that Python prints; `missing` says what to install."""
    python = ctx.os.environ.get("PYTHON_BIN_PATH") or ctx.which("python3")
    if not python:
        fail("tpuless needs Python 3.10 or later, found none")
    result = ctx.execute([python] + arguments)
    lines = result.stdout.strip().split("\n")
    if result.return_code or len(lines) != 2:
        fail("tpuless needs {}, found none in {}; PYTHON_BIN_PATH chooses another Python".format(missing, python))
    return lines

def _tensorflow_impl(ctx):
    folder, _ = _ask_python(
        ctx,
        [ctx.path(ctx.attr._find_tensorflow)],
        "TensorFlow",
    )
    for name in [
        "include",
        "libtensorflow_cc.so.2",
        "libtensorflow_framework.so.2",
    ]:
        ctx.symlink("{}/{}".format(folder, name), name)
    ctx.symlink(ctx.attr._build_file, "BUILD.bazel")

_tensorflow = repository_rule(
    implementation = _tensorflow_impl,
    attrs = {
        "_build_file": attr.label(default = "//bazel:tensorflow.BUILD"),
        "_find_tensorflow": attr.label(
            default = "//:cmake/find_tensorflow.py",
        ),
    },
    environ = ["PYTHON_BIN_PATH", "PATH"],
    local = True,
)

def _pybind11_impl(ctx):
    code = "import pybind11, sysconfig; print(pybind11.get_include()); " + \
           "print(sysconfig.get_path('include'))"
    pybind11, python = _ask_python(ctx, ["-c", code], "pybind11")
    ctx.symlink(pybind11, "include")
    ctx.symlink(python, "python")
    ctx.symlink(ctx.attr._build_file, "BUILD.bazel")

_pybind11 = repository_rule(
    implementation = _pybind11_impl,
    attrs = {
        "_build_file": attr.label(default = "//bazel:pybind11.BUILD"),
    },
    environ = ["PYTHON_BIN_PATH", "PATH"],
    local = True,
)

def tpuless_repositories():
    """Defines all repositories that BUILD names."""
    _archive(
        name = "highway",
        archive = "//:third_party/highway-1.0.3.tar.gz",
        build_file = "//bazel:highway.BUILD",
        prefix = "highway-1.0.3",
        sha256 = "566fc77315878473d9a6bd815f7de78c73734acdcb745c3dde8579560ac5440e",
    )
    _archive(
        name = "googletest",
        archive = "//:third_party/googletest-1.12.1.tar.gz",
        build_file = "//bazel:googletest.BUILD",
        prefix = "googletest-release-1.12.1",
        sha256 = "81964fe578e9bd7c94dfdb09c8e4d6e6759e19967e397dbea48d1c10e45d0df2",
    )
    _tensorflow(name = "tensorflow")
    _pybind11(name = "pybind11")
