# SPDX-FileCopyrightText: The tpuless authors
# SPDX-License-Identifier: Apache-2.0
"""What tests/matrix.py refuses, before it installs anything."""

import sys

import pytest
from builds import ROOT, run

_PINNED = ", ".join(
    f"2.{minor}.{patch}"
    for minor, patch in enumerate([2, 1, 1, 1, 0, 0], start=16)
)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["2.15.0"],
            f"TF must be one of {_PINNED}, for which requirements/matrix/ has "
            "pins; got 2.15.0",
        ),
        (
            ["2.18.1", "newest"],
            f"TF must be one of {_PINNED}, for which requirements/matrix/ has "
            "pins; got newest",
        ),
        (
            ["--java", "1.2.0"],
            "TF_JAVA must be one of 1.0.0, 1.1.0, got 1.2.0",
        ),
    ],
)
def test_what_has_no_pins_is_refused(arguments, message):
    result = run(sys.executable, ROOT / "tests" / "matrix.py", *arguments)

    assert result.returncode == 1
    assert result.stderr == message + "\n"
