# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Which release of TF Java brings which TensorFlow."""

# By TensorFlow's minor version.
RELEASES = {"2.16": "1.0.0", "2.18": "1.1.0", "2.21": "1.2.0"}

# The others are announced, and cannot be had.
PUBLISHED = {"1.0.0", "1.1.0"}
