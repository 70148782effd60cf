# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Random motions of real robots: what dense sampling finds, the continuous check finds too."""

import sys

import pytest
from support.paths import ROOT
from support.robots import robots

sys.path.append(str(ROOT / "benchmarks"))

from motions.random_motions import SCENE, Tally, compare  # noqa: E402

from collision_monitor.verification.clearance.clearance_check import CollisionVerdict  # noqa: E402


@pytest.mark.parametrize(("name", "wanted", "exact"), [("ur5", 12, True), ("baxter", 12, False)])
def test_no_motion_in_which_a_sample_collides_is_called_free(name, wanted, exact):
    model = robots.load_model(name, scene=SCENE, max_leaves_per_link=1)
    leaves, shapes, motions = compare(model, wanted, 1500, 2, exact)
    for tally in (leaves, shapes) if exact else (leaves,):
        assert tally.collide >= wanted
        assert tally.missed == 0
        assert tally.free + tally.collide + tally.found + tally.undecided == motions
    if exact:
        assert shapes.free > leaves.free  # one capsule a link is loose


def test_a_miss_would_be_counted():
    tally = Tally()
    tally.add(True, CollisionVerdict.FREE)
    tally.add(False, CollisionVerdict.COLLIDES)
    tally.add(False, CollisionVerdict.UNDECIDED)
    assert (tally.missed, tally.found, tally.undecided) == (1, 1, 1)
