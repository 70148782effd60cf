# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A file of thresholds that is set at run time is read in bounded time."""

import os
import time

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from collision_monitor.errors import ThresholdsError  # noqa: E402
from collision_monitor.nodes.parameters.thresholds_file import ThresholdsFile  # noqa: E402

RULE = "- {{pair: a b{}, warn: 0.5}}\n"


@pytest.fixture
def path(written):
    return written("thresholds.yaml", "pairs:\n" + RULE.format(""))


def test_rules_are_read_and_no_path_is_no_rules(path):
    file = ThresholdsFile()
    (rule,) = file.read(str(path))
    assert (rule.pattern, rule.warn) == ("a b", 0.5)
    assert file.read("") == ()
    path.write_text("pairs: 3")
    for _ in range(2):
        with pytest.raises(ThresholdsError, match="thresholds.yaml: pairs"):
            file.read(str(path))


def test_a_pipe_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    begin = time.monotonic()
    with pytest.raises(ThresholdsError, match="not a regular file") as refused:
        ThresholdsFile().read(str(tmp_path / "pipe"))
    assert str(refused.value).count("cannot read the thresholds") == 1
    assert time.monotonic() - begin < 10.0


def test_a_file_that_takes_too_long_is_refused_and_used_the_next_time(path):
    path.write_text("pairs:\n" + "".join(RULE.format(k) for k in range(20_000)))
    file, answers = ThresholdsFile(), []
    end = time.monotonic() + 120.0
    while not answers or "takes longer than 0.2 s" in answers[-1]:
        assert time.monotonic() < end
        begin = time.monotonic()
        with pytest.raises(ThresholdsError) as caught:
            file.read(str(path))
        answers.append(str(caught.value))
        assert time.monotonic() - begin < 5.0
    assert "20000 pairs; at most 1000 can be set at run time" in answers[-1]
    assert len(answers) > 1
    path.write_text("pairs:\n" + RULE.format(""))
    assert len(file.read(str(path))) == 1
