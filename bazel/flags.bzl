# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The compiler flags of cmake/CompileOptions.cmake, for Bazel."""

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
