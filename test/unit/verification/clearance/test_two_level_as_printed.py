# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The published two-level check: its printed coordinates, suspects and verdicts, and its bound."""

import subprocess
import sys

import numpy as np
import pytest
from support.paths import ROOT

from collision_monitor import CollisionModel
from collision_monitor.errors import ConfigurationError
from collision_monitor.motion.motion_files import load_trajectory
from collision_monitor.robot.scene import load_scene
from collision_monitor.verification.clearance.clearance_check import (
    CollisionVerdict,
    check_clearance,
)
from collision_monitor.verification.clearance.two_level import check_two_levels

sys.path.append(str(ROOT / "benchmarks"))

from motions.probe_motion import (  # noqa: E402
    CLEAR,
    END,
    NEAR,
    PRINTED_WAY,
    REACHES,
    START,
    box,
    points,
    probe_arm,
    tip,
    trajectory,
)
from motions.two_level_as_printed import Box, Tip  # noqa: E402

PRINTED = {
    45: (254.56, -130.82, 117.75), 46: (250.32, -131.64, 108.83), 47: (245.98, -132.12, 100.08)
}  # fmt: skip


@pytest.fixture(scope="module")
def arm():
    return probe_arm()


@pytest.fixture(scope="module")
def rows(arm):
    return points(trajectory(arm.joint_names))


def place(model, q):
    return model.link_poses(q)["tip"][:3, 3]


def way_bound(start, end):
    return np.abs(end - start) @ REACHES


def test_the_urdf_is_what_the_script_makes():
    script = [sys.executable, str(ROOT / "urdf/make_probe_arm.py"), "--check"]
    subprocess.run(script, check=True)


def test_the_tip_passes_the_printed_coordinates(arm, rows):
    for k, printed in PRINTED.items():
        assert np.abs(1e3 * place(arm, rows[k - 1]) - printed).max() < 0.005 + 1e-9


def test_gaps_and_way_are_those_that_were_recovered(arm, rows):
    for center, printed in ((NEAR, 577.34), (CLEAR, 667.56)):  # the paper gives 577.34 for CLEAR
        ends = [np.linalg.norm(place(arm, rows[k]) - center) for k in (0, -1)]
        assert 1e3 * sum(ends) == pytest.approx(printed, abs=0.005)
    assert 1e3 * way_bound(START, END) == pytest.approx(1895.7, abs=0.05)


def test_the_motion_file_and_the_scenes_are_those_of_the_paper(arm):
    folder, wanted = ROOT / "config/probe_arm", trajectory(arm.joint_names)
    given = load_trajectory(folder / "motion.yaml", arm.robot).trajectory
    times = np.linspace(0.0, 9.5, 100)
    assert np.abs(given.positions(times) - wanted.positions(times)).max() < 1e-9
    for name, center in (("clear", CLEAR), ("near_miss", NEAR)):
        (obstacle,) = load_scene(folder / f"{name}.yaml", arm.robot).obstacles
        assert obstacle.shape.pose[:3, 3] == pytest.approx(center)
        assert obstacle.shape.size == pytest.approx(box(center).rows[4] * 2.0)


def test_the_clear_motion_is_certified_but_not_by_a_single_test(arm, rows):
    found = tip(arm).two_levels(rows, box(CLEAR))
    assert (found.tests, found.placed, found.suspects, found.hits) == (23, 13, (), ())


def test_the_near_miss_has_the_printed_suspects_and_is_cleared_by_the_box(arm, rows):
    printed = tip(arm).two_levels(rows, box(NEAR), printed=True)
    assert [k + 1 for k in printed.suspects] == [45, 46, 47]
    assert printed.hits == ()
    sound = tip(arm).two_levels(rows, box(NEAR))
    assert [k + 1 for k in sound.suspects] == [43, 44, 45, 46, 47, 48, 49, 50]
    assert sound.hits == ()
    # Either level alone reports a collision: the points in the ball, and the suspects.
    gaps = [np.linalg.norm(place(arm, q) - NEAR) - box(NEAR).radius for q in rows]
    assert [k + 1 for k in np.flatnonzero(np.array(gaps) <= 0.0)] == [45, 46, 47]


def test_a_hit_is_one(arm, rows):
    for row in (45, 94):
        assert row in tip(arm).two_levels(rows, box(place(arm, rows[row]))).hits
    turned = np.eye(4)
    turned[:3, 3] = place(arm, rows[45]) + [0.0, 0.012, 0.0]
    size = np.array([0.037, 0.014, 0.006])
    assert tip(arm).two_levels(rows, Box(turned, size)).hits == ()
    turned[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]  # now 37 mm along y
    assert 45 in tip(arm).two_levels(rows, Box(turned, size)).hits


def test_the_printed_way_would_certify_a_motion_that_collides(arm, rows):
    """The tip goes 11.7 mm into the ball, and 504.64 is less than 577.34."""
    motion = trajectory(arm.joint_names)
    times = np.linspace(0.0, 9.5, 2001)
    way = np.array([place(arm, q) for q in motion.positions(times)])
    deepest = np.linalg.norm(way - NEAR, axis=1).min() - box(NEAR).radius
    assert 1e3 * deepest == pytest.approx(-11.7, abs=0.05)
    gaps = [np.linalg.norm(place(arm, rows[k]) - NEAR) for k in (0, -1)]
    assert PRINTED_WAY < sum(gaps)  # certified, as printed
    assert np.linalg.norm(np.diff(way, axis=0), axis=1).sum() > PRINTED_WAY  # but no bound
    # Ours is no less than the way of the tip, and does not certify.
    assert way_bound(rows[0], rows[-1]) > sum(gaps) - 2 * box(NEAR).radius
    assert tip(arm).two_levels(rows, box(NEAR)).suspects
    ball = {"obstacles": [{"name": "ball", "type": "sphere", "radius": box(NEAR).radius,
                           "position": NEAR.tolist()}]}  # fmt: skip
    model = CollisionModel.from_urdf(ROOT / "urdf/probe_arm.urdf", scene=ball)
    found = check_clearance(model, motion, exact=True)
    assert (found.verdict, set(found.pair)) == (CollisionVerdict.COLLIDES, {"wrist_2_link", "ball"})
    met = np.linalg.norm(way - NEAR, axis=1) < box(NEAR).radius + 0.5e-3  # half of the probe
    assert found.violations[0].first == pytest.approx(times[met.argmax()], abs=0.01)


def test_the_way_is_never_longer_than_its_bound(arm):
    rng = np.random.default_rng(0)
    for start in arm.random_configurations(50):
        end = start + rng.uniform(-0.5, 0.5, 6)
        gone = np.linalg.norm(place(arm, end) - place(arm, start))
        assert gone <= way_bound(start, end)


def test_all_links_are_cleared_at_every_instant_where_leaves_are_not(arm):
    motion = trajectory(arm.joint_names)
    by_leaves = check_clearance(arm, motion)
    assert by_leaves.verdict is CollisionVerdict.COLLIDES  # capsules about box and arm
    found = check_clearance(arm, motion, exact=True)
    assert (found.verdict, found.violations) == (CollisionVerdict.FREE, ())
    near = next(p for p in found.series.minima if set(p.pair) == {"wrist_2_link", "obstacle"})
    pair = [set(links) for links in arm.pairs].index({"wrist_2_link", "obstacle"})
    passing = motion.positions(np.linspace(4.6, 4.7, 1001))
    nearest = min(arm.distances(q, exact=True)[pair] for q in passing)
    # The tip is 1.11 mm from the box and the probe half a millimetre thick.
    assert 1.111e-3 - 0.5e-3 <= nearest <= 1.111e-3
    assert 0.0 < near.lower <= nearest <= near.distance <= near.lower + 1e-3
    assert near.time == pytest.approx(4.644, abs=0.05)
    clear = check_clearance(probe_arm(CLEAR), motion, exact=True)
    assert clear.verdict is CollisionVerdict.FREE
    for center in (CLEAR, NEAR):
        two_level = check_two_levels(probe_arm(center), motion)
        assert two_level.violations == ()
        near = [s for s in two_level.suspects if "obstacle" in s.pair]
        assert [s.first < 4.6 < s.last for s in near] == ([True] if center is NEAR else [])


@pytest.mark.parametrize(
    ("link", "reaches", "message"),
    [("hand", REACHES, "no link 'hand'"), ("tip", REACHES[:3], r"\(3,\), not \(6,\)")],
)
def test_what_does_not_fit_is_refused(arm, link, reaches, message):
    with pytest.raises(ConfigurationError, match=message):
        Tip(arm, link, reaches)
