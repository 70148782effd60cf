# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Options that want a number say so."""

import pytest

from collision_monitor.cli.main import main
from collision_monitor.cli.output_path import option_number


def test_a_number_is_taken_as_python_does():
    assert option_number(" -2.5e-3 ") == -0.0025


@pytest.mark.parametrize(
    "words",
    [
        ["acm", "r.urdf", "--always", "x"],
        ["adjust", "r.urdf", "m.csv", "--safe-distance", "x"],
        ["demo", "--seconds", "x"],
        ["demo", "--rate", "x"],
        ["demo", "--port", "x"],
        ["verify", "r.urdf", "m.csv", "--gravity", "0,0,x"],
        ["view", "r.urdf", "--warn-distance", "x"],
        ["view", "r.urdf", "--port", "80.5"],
    ],
    ids=lambda words: " ".join(words[:1] + words[-2:]),
)
def test_what_is_no_number_is_named_and_no_function_of_the_program(words, capsys):
    with pytest.raises(SystemExit) as caught:
        main(words)
    assert caught.value.code == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert repr(words[-1]) in line or words[-1] in line
    assert " value: " not in line
