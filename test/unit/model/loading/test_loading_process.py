# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Models loaded in a process of their own, which leaves nothing behind."""

import logging
import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support.processes import is_alive
from support.robots import robots
from support.robots.toys import chain

from collision_monitor.model.loading import LoadingProcess, Recipe, RobotSource, answer

BAD = Recipe((RobotSource(chain(4).replace('<child link="l3"/>', '<child link="l9"/>')),))
GOOD = Recipe((RobotSource(chain(4)),))


def until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, f"not within {seconds} s"
        time.sleep(0.02)
    return found


def test_a_model_comes_back_as_if_it_had_been_loaded_here():
    files = robots.require("ur5")
    source = RobotSource(str(files.urdf), str(files.srdf))
    recipe = Recipe((source,), tuple(map(str, files.package_dirs)), exact=True)
    process = LoadingProcess(recipe)
    found = until(process.poll)
    assert found.error == ""
    model = pickle.loads(found.loaded).model
    expected = robots.load_model("ur5")
    assert model.pairs == expected.pairs
    rows = expected.random_configurations(200)
    np.testing.assert_array_equal(model.min_distances(rows), expected.min_distances(rows))
    for q in rows[:5]:
        exact = model.distance(q, exact=True).distance
        assert exact == pytest.approx(expected.distance(q, exact=True).distance, abs=1e-12)
    until(lambda: not is_alive(process.pid))


def test_what_is_wrong_comes_back_in_the_same_words():
    found = answer(BAD)
    with pytest.raises(ValueError) as caught:
        BAD.load()
    assert found.loaded == b"" and found.error == str(caught.value) and "l9" in found.error


def test_what_the_library_says_comes_along_with_its_level():
    files = Recipe((RobotSource(chain(4), '<robot name="other"/>'),))
    found = answer(files)
    assert found.loaded and not found.error
    assert any("'other'" in text and level == logging.WARNING for level, text in found.log)


class FaultyRecipe(Recipe):
    def load(self):
        raise ZeroDivisionError("of ours")


def test_an_error_of_ours_is_an_answer_too():
    assert answer(FaultyRecipe(GOOD.robots)).error == "internal error, ZeroDivisionError: of ours"


def test_a_process_that_is_killed_is_an_answer():
    process = LoadingProcess(GOOD)
    os.kill(process.pid, signal.SIGKILL)
    found = until(process.poll)
    assert "killed by signal 9, out of memory?" in found.error


def test_what_is_cancelled_ends():
    process = LoadingProcess(GOOD)
    process.cancel()
    until(lambda: not is_alive(process.pid))
    assert process.poll() is None or process.poll().error


def test_nothing_is_left_when_the_one_who_asked_is_gone(tmp_path):
    fifo = tmp_path / "robot.urdf"  # whoever reads it waits: the child loads for ever
    os.mkfifo(fifo)
    code = (
        "import sys, time\n"
        "from collision_monitor.model.loading import LoadingProcess\n"
        "from collision_monitor.model.loading import Recipe, RobotSource\n"
        "if __name__ == '__main__':\n"
        "    process = LoadingProcess(Recipe((RobotSource(sys.argv[1]),)))\n"
        "    print(process.pid, flush=True)\n"
        "    time.sleep(600)\n"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(fifo)], stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    child = int(parent.stdout.readline())
    assert is_alive(child)
    # Not before it has begun to read: then it is in the middle of loading.
    opened = None

    def is_reading():
        nonlocal opened
        try:
            opened = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return False
        return True

    until(is_reading)
    parent.kill()
    parent.wait(timeout=60)
    until(lambda: not is_alive(child))
    os.close(opened)
