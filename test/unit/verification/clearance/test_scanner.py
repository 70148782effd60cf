# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Tables of a scan: which joints part two links, and what drives them."""

import numpy as np
import pytest
from support.geometry.scan_cases import two_arms

from collision_monitor.hierarchy.packed import windows
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.verification.clearance.scanner import Scanner
from collision_monitor.verification.clearance.schedule import Schedule


@pytest.fixture(scope="module")
def scanner():
    return Scanner(two_arms())


def test_the_innermost_joint_that_parts_two_links_is_known(scanner):
    names = ("lift", "a_1", "a_2", "a_3", "b_1", "b_2", "b_3")  # as the kernels number them
    firsts = {
        frozenset(pair): {names[k] for k in row if k >= 0}
        for pair, row in zip(scanner.model.pairs, scanner.firsts.tolist(), strict=True)
    }
    assert firsts[frozenset(("a2", "b3"))] == {"a_1", "b_1"}
    assert firsts[frozenset(("a1", "a3"))] == {"a_2"}
    assert firsts[frozenset(("cart", "b3"))] == {"b_1"}
    assert firsts[frozenset(("a3", "post"))] == {"lift"}


def test_balls_hold_their_leaves(scanner):
    view = windows(*scanner.arrays)
    space = scanner.space(1, 2)
    centers = space.link_centers.reshape(-1, 4)
    for link, (first, stop) in enumerate(view.links.tolist()):
        ends, radii = view.leaf_ends[first:stop].reshape(-1, 2, 3), view.radii[first:stop]
        far = (np.linalg.norm(ends - centers[link, 1:], axis=2) + radii).max()
        assert far <= space.radii[len(view.leaf_ends) + link] + 1e-12
        assert (centers[link, 0] == view.leaf_bodies[first:stop, 0]).all()


def test_what_drives_a_pair_is_what_moves_its_links_apart(scanner):
    def still(joint):
        return Trajectory.through((joint,), [0.0, 1.0], [[0.0], [0.1]])

    schedule = Schedule(scanner.model, [still("lift"), still("a_2"), still("b_2")])
    drivers = dict(zip(map(frozenset, scanner.model.pairs), scanner.drivers(schedule), strict=True))
    assert drivers[frozenset(("a3", "b2"))] == {1, 2}
    assert drivers[frozenset(("a1", "b1"))] == set()
    assert drivers[frozenset(("a3", "cart"))] == {1}
    assert drivers[frozenset(("b3", "ball"))] == {0, 2}  # b_3 mimics b_2
