# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""The release of tpuless; the build reads it from here.

The version of a wheel from `make wheel` adds for which TensorFlow it is, as in
0.1.0+tf2.21, and counts as the same release.
"""

__version__ = "0.1.0"
