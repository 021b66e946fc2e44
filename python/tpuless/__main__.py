# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""Lets `python -m tpuless` stand for the command `tpuless`."""

import sys

from tpuless._cli import main

sys.exit(main())
