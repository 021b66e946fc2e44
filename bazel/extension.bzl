# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The repositories for MODULE.bazel."""

load(":repositories.bzl", "tpuless_repositories")

def _repositories_impl(_ctx):
    tpuless_repositories()

repositories = module_extension(implementation = _repositories_impl)
