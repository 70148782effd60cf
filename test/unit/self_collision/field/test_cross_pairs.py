# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Which leaves are right against left, and how far apart."""

from dataclasses import replace

import numpy as np
import pytest
from support.robots.dual_arm_cases import PAPER, ROOT, capsule_urdf

from collision_monitor import CollisionModel
from collision_monitor.self_collision.field.pushing import CrossPairs
from collision_monitor.self_collision.margins import Margins


def cross_pairs(problem):
    return CrossPairs(problem)


def names(problem, pairs):
    leaves = problem.model.leaves
    return {(leaves[i].link, leaves[j].link) for i, j in zip(pairs.right, pairs.left, strict=True)}


def test_they_are_the_right_arm_against_the_left():
    problem = PAPER.problem()
    pairs = cross_pairs(problem)
    odd = (1, 3, 5, 7)  # links of some length; i right, j left
    expected = {(f"right_link_{i}", f"left_link_{j}") for i in odd for j in odd}
    assert names(problem, pairs) == expected
    for k in range(len(pairs.pair)):
        a, b = problem.model.pairs[pairs.pair[k]]
        links = [problem.model.leaves[leaf[k]].link for leaf in (pairs.right, pairs.left)]
        assert {a, b} == set(links)
        assert pairs.depth[k] == min(int(link[-1]) for link in links)


def test_gaps_are_the_model_s_own():
    problem = PAPER.problem()
    pairs = cross_pairs(problem)
    for q in problem.model.random_configurations(50):
        expected = problem.model.distances(q)[pairs.pair]  # one leaf a link
        assert pairs.gaps(q) == pytest.approx(expected, abs=1e-12)
        assert [pairs.gap(q, k) for k in range(16)] == pytest.approx(expected, abs=1e-12)
        near = expected < 0.3
        assert pairs.gaps(q, 0.3)[near] == pytest.approx(expected[near], abs=1e-12)
        assert np.all(pairs.gaps(q, 0.3)[~near] >= 0.3 - 1e-12)


def test_a_pair_that_takes_no_part_is_left_out():
    problem = PAPER.problem()
    safe = problem.margins.safe.copy()
    out = problem.model.pairs.index(("right_link_7", "left_link_7"))
    safe[out] = -np.inf
    pairs = cross_pairs(replace(problem, margins=Margins(safe, problem.margins.danger)))
    assert len(pairs.pair) == 15
    assert out not in pairs.pair


def test_swapped_arms_are_swapped_here():
    problem = PAPER.problem()
    swapped = replace(problem, arms=problem.arms[::-1], columns=problem.columns[::-1])
    there, back = cross_pairs(problem), cross_pairs(swapped)
    assert names(swapped, back) == {(b, a) for a, b in names(problem, there)}


def test_what_a_hand_carries_counts_as_the_arm():
    obstacles = [
        {"name": "tray", "type": "box", "size": [0.1, 0.1, 0.02], "link": "right_tool"},
        {"name": "post", "type": "sphere", "radius": 0.05, "position": [1.0, 0.0, 0.0]},
    ]
    model = CollisionModel.from_urdf(
        capsule_urdf(0.195), srdf=ROOT / "urdf/dual_arm.srdf", scene={"obstacles": obstacles}
    )
    everything = np.full(len(model.pairs), 0.1)
    problem = replace(PAPER.problem(), model=model, margins=Margins(everything, everything))
    found = names(problem, cross_pairs(problem))
    assert ("tray", "left_link_7") in found
    assert not any("post" in pair for pair in found)
    assert ("tray", "right_link_1") not in found
