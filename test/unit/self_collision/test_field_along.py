# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Index, clearance and closest pair along a motion: against all distances, one by one."""

import numpy as np
import pytest
from support.robots.dual_arm_cases import PAPER, RADIUS, ROOT, capsule_model

from collision_monitor import CollisionModel
from collision_monitor.model.proximity import Proximity
from collision_monitor.motion import read_motion
from collision_monitor.self_collision.arms import find_arms
from collision_monitor.self_collision.margins import Margins, choose_margins
from collision_monitor.self_collision.motion_clearance import LinearField, field_along

ROWS = read_motion(ROOT / "config/dual_arm_motion.csv").positions


def slow(model, margins, rows):
    """The same by model.distances and the field of single pairs."""
    index, clearance, closest = [], [], []
    for q in rows:
        distances = model.distances(q)
        total = 0.0
        for k, d in enumerate(distances):
            if margins.safe[k] > -np.inf:
                total += LinearField(margins.safe[k], margins.danger[k]).force(d)
        index.append(total)
        kept = np.where(margins.kept, distances, np.inf)
        clearance.append(kept.min())
        closest.append(int(kept.argmin()))
    return np.array(index), np.array(clearance), closest


@pytest.mark.parametrize("which", ["capsules", "fitted with scene"])
@pytest.mark.parametrize("distances", [(0.1, 0.05), (0.02, 0.0), (0.3, 0.3)])
def test_it_is_what_all_pairs_say_one_by_one(which, distances):
    if which == "capsules":
        model = capsule_model(PAPER.offset)
    else:
        model = CollisionModel.from_urdf(
            ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf",
            scene=ROOT / "urdf/dual_arm_scene.yaml", max_leaves_per_link=2,
        )  # fmt: skip
    margins = choose_margins(model, find_arms(model.robot, model.semantics), ROWS, *distances)
    found = field_along(Proximity(model), margins, ROWS)
    index, clearance, closest = slow(model, margins, ROWS)
    assert found.index == pytest.approx(index, abs=1e-9)
    assert np.isinf(index).any() and (np.isfinite(index).any() or distances[1] == 0.3)
    assert found.clearance == pytest.approx(clearance, abs=1e-9)
    for k, (ours, theirs) in enumerate(zip(found.closest, closest, strict=True)):
        assert margins.kept[ours]
        if ours != theirs:  # a tie, as in a motion of two arms that mirror each other
            at = model.distances(ROWS[k])
            assert at[ours] == pytest.approx(at[theirs], abs=1e-9)


def test_the_paper_s_collision_is_seen_when_it_was():
    problem = PAPER.problem()
    found = field_along(Proximity(problem.model), problem.margins, problem.desired)
    assert np.flatnonzero(found.index > 0.0).tolist() == list(range(41, 60))
    assert np.flatnonzero(np.isinf(found.index)).tolist() == list(range(43, 59))
    least = PAPER.segment_distances(problem.desired) - 2.0 * RADIUS
    near = least < 0.5
    assert found.clearance[near] == pytest.approx(least[near], abs=1e-9)


def test_a_pair_counts_once_however_many_leaves_are_near():
    model = CollisionModel.from_urdf(ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf")
    margins = choose_margins(model, find_arms(model.robot, model.semantics), ROWS, 0.1, 0.0)
    margins = Margins(margins.safe, np.minimum(margins.danger, -1.0), margins.eased)
    near = Proximity(model).near(ROWS[50], margins.safe)
    assert len(near.pairs) > len(np.unique(near.pairs)) > 1
    index, _, _ = slow(model, margins, ROWS[50:51])
    assert field_along(Proximity(model), margins, ROWS[50:51]).index == pytest.approx(index)


def test_a_motion_far_from_everything_has_a_clearance_too():
    model = capsule_model(PAPER.offset)
    none = np.full(len(model.pairs), -np.inf)
    far = model.pairs.index(("right_link_7", "left_link_7"))
    safe = none.copy()
    safe[far] = 0.01
    found = field_along(Proximity(model), Margins(safe, safe), ROWS[:1])
    assert found.clearance[0] == pytest.approx(model.distances(ROWS[0])[far])
    assert found.clearance[0] > 1.7 and found.closest[0] == far
    nothing = field_along(Proximity(model), Margins(none, none), ROWS[:2])
    assert nothing.clearance.tolist() == [np.inf, np.inf]
    assert nothing.index.tolist() == [0.0, 0.0]
