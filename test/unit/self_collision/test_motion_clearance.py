# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What holds along a motion: field, clearances, certificates, contacts."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.robots.dual_arm_cases import PAPER, ROOT, capsule_model
from support.robots.planar_arms import arm_distance, limits_of, meeting, planar_model

from collision_monitor import CollisionModel
from collision_monitor.model.proximity import Proximity
from collision_monitor.motion import read_motion
from collision_monitor.self_collision.arms import find_chains
from collision_monitor.self_collision.margins import Margins, choose_margins
from collision_monitor.self_collision.motion_clearance import failures, field_along, repulsion

# -- the linear repulsion field: its three zones, and what is unknown --------------------


length = st.floats(0.0, 2.0)


@pytest.mark.parametrize(
    ("distance", "force"),
    [
        (0.5, 0.0),
        (0.2, 0.0),
        (0.19, 0.01),
        (0.15, 0.05),
        (0.1499, math.inf),
        (0.0, math.inf),
        (math.inf, 0.0),
        (-math.inf, math.inf),
        (math.nan, math.inf),
    ],
)
def test_the_zones_and_what_is_unknown(distance, force):
    assert repulsion(distance, 0.2, 0.15) == pytest.approx(force, abs=1e-15)


@given(length, length, length, length)
def test_nearer_never_repels_less(a, b, d1, d2):
    danger, safe = sorted((a, b))
    far, near = repulsion(np.sort([d1, d2])[::-1], safe, danger)
    assert near >= far >= 0.0
    assert (far == 0.0) == (max(d1, d2) >= safe)


# -- index, clearance and closest pair along a motion: against all distances, one by one --


ROWS = read_motion(ROOT / "config/dual_arm_motion.csv").positions


def slow(model, margins, rows):
    """The same by model.distances and the field of single pairs."""
    index, clearance, closest = [], [], []
    for q in rows:
        distances = model.distances(q)
        total = 0.0
        for k, d in enumerate(distances):
            if margins.safe[k] > -np.inf:
                total += np.inf if d < margins.danger[k] else max(margins.safe[k] - d, 0.0)
        index.append(total)
        kept = np.where(margins.kept, distances, np.inf)
        clearance.append(kept.min())
        closest.append(int(kept.argmin()))
    return np.array(index), np.array(clearance), closest


@cache
def fitted():
    """The package's dual arm among its obstacles, with the leaves that other tests have fitted."""
    return CollisionModel.from_urdf(
        ROOT / "urdf/dual_arm.urdf", srdf=ROOT / "urdf/dual_arm.srdf",
        scene=ROOT / "urdf/dual_arm_scene.yaml",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("which", "distances"),
    [("capsules", (0.1, 0.05)), ("fitted with scene", (0.02, 0.0)), ("capsules", (0.3, 0.3))],
)
def test_it_is_what_all_pairs_say_one_by_one(which, distances):
    model = capsule_model(PAPER.offset) if which == "capsules" else fitted()
    margins = choose_margins(model, find_chains(model.robot, model.semantics), ROWS, *distances)
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


def test_a_motion_far_from_everything_has_a_clearance_too():
    model = capsule_model(PAPER.offset)
    none = np.full(len(model.pairs), -np.inf)
    far = model.pairs.index(("right_link_7", "left_link_7"))
    safe = none.copy()
    safe[far] = 0.01
    found = field_along(Proximity(model), Margins.plain(safe, safe), ROWS[:1])
    assert found.clearance[0] == pytest.approx(model.distances(ROWS[0])[far])
    assert found.clearance[0] > 1.7 and found.closest[0] == far
    nothing = field_along(Proximity(model), Margins.plain(none, none), ROWS[:2])
    assert nothing.clearance.tolist() == [np.inf, np.inf]
    assert nothing.index.tolist() == [0.0, 0.0]


# -- certificates of whole motions: against dense sampling and closed-form distances -----


MODEL = planar_model()
PROXIMITY = Proximity(MODEL)
BETWEEN = np.isfinite(limits_of(MODEL, 0.0))


def densely(a, b, count=201):
    """Least distance of the arms between two rows, by sines and cosines."""
    return min(arm_distance(a + s * (b - a)) for s in np.linspace(0.0, 1.0, count))


def test_the_segments_that_fail_are_those_that_come_too_near():
    rows, limit = meeting(25), 0.1
    least = np.array([densely(a, b) for a, b in zip(rows[:-1], rows[1:], strict=True)])
    found = failures(PROXIMITY, rows, limits_of(MODEL, limit))
    assert [f.segment for f in found] == np.flatnonzero(least < limit).tolist()
    assert 3 < len(found) < 20
    for f in found:
        q = rows[f.segment] + f.s * (rows[f.segment + 1] - rows[f.segment])
        at = MODEL.distances(q)[f.pair]
        assert BETWEEN[f.pair] and 0.0 <= f.s <= 1.0
        # one of the pair's leaves, which is not always the nearest one; links here have one leaf
        assert f.missing == pytest.approx(limit - at, abs=1e-9) or f.missing == 0.0
    first = failures(PROXIMITY, rows, limits_of(MODEL, limit), first_only=True)
    assert first == found[:1]
    assert failures(PROXIMITY, rows[: found[0].segment + 1], limits_of(MODEL, limit)) == []


angles = st.lists(st.floats(-1.2, 1.2), min_size=6, max_size=6).map(np.array)


@settings(max_examples=40, deadline=None)
@given(a=angles, b=angles, limit=st.floats(-0.02, 0.3))
def test_no_failure_is_a_proof(a, b, limit):
    least = densely(a, b, 101)
    if not failures(PROXIMITY, np.array([a, b]), limits_of(MODEL, limit)):
        assert least >= limit - 1e-7
    elif least > limit + 1e-4:  # what is not so near can be told
        # ... but for what lies between the samples
        assert densely(a, b, 4001) < limit + 1e-4
