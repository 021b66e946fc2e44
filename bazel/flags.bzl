# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The flags of CMake, for Bazel; a test compares them."""

COPTS = [
    "-O3",
    "-Wall",
    "-Wextra",
    "-ffp-contract=off",
    "-fvisibility=hidden",
    "-fvisibility-inlines-hidden",
]

TENSORFLOW_COPTS = [
    "-DNDEBUG",
    "-D_GLIBCXX_USE_CXX11_ABI=1",
    "-DEIGEN_MAX_ALIGN_BYTES=64",
]

# Of a library that is loaded beside TensorFlow.
LINKOPTS = [
    "-Wl,--as-needed",
    "-Wl,--exclude-libs,ALL",
    "-Wl,-rpath,$$ORIGIN/../tensorflow",
]
