# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What the tests of commands share."""

import pytest

from collision_monitor.__main__ import main


@pytest.fixture
def run(capsys):
    """Runs a command in this process, which ends with ``code``; ``out`` and ``err`` it printed."""

    def run(*words, code=0):
        try:
            ended = main([*map(str, words)])
        except SystemExit as end:  # by the parser of arguments
            ended = end.code
        assert ended == code
        return capsys.readouterr()

    return run
