# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Pairs that are near by construction, and their thresholds."""

from dataclasses import replace

import numpy as np
import pytest
from support.robots.robots import require
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel, Monitor
from collision_monitor.model import structural_pairs
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.monitoring.monitor import Level
from collision_monitor.robot.composed import Mounted, compose

# A ball on a slide that stays 45 to 65 mm from a post, and one in a shelf that it overlaps.
URDF = robot(
    link("base"),
    link("near"),
    joint("a", "base", "near", "prismatic", "0.255 0 2", "1 0 0"),
    link("far"),
    joint("c", "base", "far", "prismatic", "0 0 1", "0 0 1"),
).replace('lower="-2" upper="2"', 'lower="-0.01" upper="0.01"')
BALLS = [
    {"name": name, "type": "sphere", "radius": 0.1, "position": position}
    for name, position in (("shelf", [0.15, 0, 1]), ("post", [0, 0, 2]))
]


@pytest.fixture(scope="module")
def ur5():
    """UR5 as its vendor describes it, without an SRDF."""
    files = require("ur5")
    return CollisionModel.from_urdf(files.urdf, package_dirs=files.package_dirs)


@pytest.mark.parametrize("exact", [True, False])
def test_a_pair_within_its_warning_distance_is_judged_by_its_usual_distance(exact):
    model = CollisionModel.from_urdf(URDF, scene={"obstacles": BALLS})
    usual = model.usual_distances(exact)
    (pair,) = usual.structural(model.pairs, 0.02, 0.1).values()
    assert set(pair.links) == {"near", "post"}
    assert (pair.near, pair.contact) == (1.0, 0.0)
    assert 0.045 <= pair.usual < 0.047 and 0.063 < pair.largest <= 0.065
    assert pair.warn == pytest.approx(0.8 * pair.usual) and pair.stop < pair.warn
    assert pair.stop == pytest.approx(0.4 * pair.usual)
    assert [set(model.pairs[k]) for k in usual.always_touching()] == [{"far", "shelf"}]
    # Near enough for the usual distances of other pairs.
    assert usual.structural(model.pairs, 0.005, 0.01) == {}
    # A monitor leaves obstacles alone.
    assert usual.structural(model.pairs, 0.02, 0.1, ["post", "shelf"]) == {}


def test_a_pair_of_few_joints_that_never_touches_is_judged_by_its_smallest_distance():
    """A lift comes within 15 mm of a ball at its lower limit, and to contact with another one."""
    low, contact = (
        robot(
            link("base"), link("ball", xyz=f"0 0 {height}"),
            joint("f", "base", "ball", "fixed", "0 0 0"),
            link("lift"), joint("z", "base", "lift", "prismatic", "0 0 2", "0 0 1"),
        ).replace('lower="-2" upper="2"', 'lower="-0.5" upper="0.2"')
        for height in (1.285, 1.31)
    )  # fmt: skip
    model = CollisionModel.from_urdf(low)
    usual = model.usual_distances()
    found = {pair.links: pair for pair in usual.structural(model.pairs, 0.02, 0.1).values()}
    pair = found["ball", "lift"] if ("ball", "lift") in found else found["lift", "ball"]
    assert pair.near < 0.2 and pair.usual == pytest.approx(0.015, abs=1e-6)
    assert (pair.warn, pair.stop) == pytest.approx((0.0075, 0.00375))
    assert rests(Monitor(model), [-0.5]).level is Level.OK
    monitor = Monitor(CollisionModel.from_urdf(contact))
    assert monitor.behaviour.thresholds.tolist() == [[0.02, 0.1]]
    assert rests(monitor, [-0.475]).level is Level.ERROR


def two_boxes(gap, upper, lower=-0.01):
    """Two cubes of 20 mm on slides, ``gap`` metres apart at zero, that can meet."""
    return CollisionModel.from_urdf(
        robot(
            link("base"),
            link("left", '<box size="0.02 0.02 0.02"/>'),
            joint("a", "base", "left", "prismatic", f"0 {0.01 + 0.5 * gap} 1", "0 1 0"),
            link("right", '<box size="0.02 0.02 0.02"/>'),
            joint("b", "base", "right", "prismatic", f"0 {-0.01 - 0.5 * gap} 1", "0 -1 0"),
        ).replace('lower="-2" upper="2"', f'lower="{lower}" upper="{upper}"')
    )


@pytest.mark.parametrize(("gap", "is_clear"), [(0.003, True), (0.0001, False)])
def test_a_pair_that_is_near_by_construction_is_clear_at_zero(gap, is_clear):
    """Two fingers rest 3 mm apart, nearer than usual, and can be pushed into each other."""
    model = two_boxes(gap, upper=0.03)
    (pair,) = model.usual_distances().structural(model.pairs, 0.02, 0.1).values()
    assert pair.at_zero == pytest.approx(gap, abs=1e-6) and pair.contact > 0.0
    assert pair.stop < pair.warn
    monitor = Monitor(model)
    assert (rests(monitor, [1e-6, 0.0]).level is Level.OK) == is_clear
    if is_clear:
        assert pair.warn == pytest.approx(0.8 * gap) and f"{1e3 * gap:.1f} mm at zero" in str(pair)
        assert rests(Monitor(model), [-0.002, 0.0]).action == "stop"
    assert rests(Monitor(model), [-0.01, 0.0]).action == "stop"


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("gap", [0.015, 0.039])
def test_a_pair_that_rests_near_each_other_is_clear_at_zero_though_it_is_usually_far(exact, gap):
    model = two_boxes(gap, upper=1.0, lower=-0.03)
    usual = model.usual_distances(exact)
    assert usual.structural(model.pairs, 0.02, 0.1, at_rest=False) == {}
    (pair,) = usual.structural(model.pairs, 0.02, 0.1).values()
    there = pair.at_zero if not exact else gap  # of the leaves it is less
    assert pair.at_zero == pytest.approx(there, abs=1e-6) and 0.0 < there <= gap
    assert (pair.warn, pair.stop) == pytest.approx((0.8 * there, min(0.02, 0.8 * there / 1.5)))
    assert pair.near < 0.2 and f"{1e3 * there:.1f} mm at zero" in pair.reason
    for part, action in ((1e-4, "none"), (0.15, "slowdown"), (0.3, "stop")):
        monitor = Monitor(model, narrow_phase="auto" if exact else "leaf")
        assert rests(monitor, [-part * there, -part * there]).action == action


@pytest.mark.parametrize(
    ("warn", "stop", "expected"),
    [(0.0, 0.02, (0.02, 0.02)), (0.02, 0.02, (0.02, 0.02)), (0.025, 0.02, (0.02, 0.025)),
     (0.02, 0.05, (0.0208, 0.0312)), (0.1, 0.0, (0.0, 0.0312))],
)  # fmt: skip
def test_distances_at_zero_limit_the_stop_distance_no_more_than_needed(warn, stop, expected):
    monitor = Monitor(two_boxes(0.039, upper=1.0, lower=-0.03), warn, stop)
    assert monitor.behaviour.thresholds[0] == pytest.approx(expected, abs=1e-6)


def test_only_links_of_one_robot_rest_near_each_other_and_only_where_no_links_touch():
    boxes = two_boxes(0.015, upper=1.0, lower=-0.03)
    assert boxes.usual_distances().at_rest.tolist() == [True]
    assert two_boxes(0.0005, upper=1.0, lower=-0.03).usual_distances().at_rest.sum() == 0
    cell = compose([
        Mounted(boxes.robot, "one/"),
        Mounted(boxes.robot, "two/", np.eye(4) + np.diag([0.025], 3)),
    ])  # fmt: skip
    both = CollisionModel(cell).usual_distances()
    assert both.at_rest.sum() == 2 < len(both.pairs)
    at_rest = {cell_pair for cell_pair, is_at_rest in zip(
        (CollisionModel(cell).pairs[k] for k in both.pairs), both.at_rest, strict=True
    ) if is_at_rest}  # fmt: skip
    assert all(len({name[:3] for name in pair}) == 1 for pair in at_rest)
    touching = compose([
        Mounted(boxes.robot, "one/"),
        Mounted(two_boxes(-0.001, upper=1.0, lower=-0.03).robot, "two/", np.eye(4)),
    ])  # fmt: skip
    assert not CollisionModel(touching).usual_distances().at_rest.any()


def test_joints_without_a_range_do_not_hide_a_contact():
    """A gantry with a fixed height; a thin post stands 5 mm above a plate that it cannot reach."""
    text = robot(
        link("base", '<box size="1 1 0.02"/>'),
        link("post", '<box size="0.004 0.004 0.02"/>', "0.21 0.13 0.02"),
        joint("f", "base", "post", "fixed", "0 0 0"),
        link("x", ""), link("y", ""), link("tool", '<box size="0.03 0.03 0.02"/>'),
        joint("jx", "base", "x", "prismatic", "0 0 0.0", "1 0 0"),
        joint("jy", "x", "y", "prismatic", "0 0 0", "0 1 0"),
        joint("jz", "y", "tool", "prismatic", "0 0 0.025", "0 0 1").replace(
            'lower="-2" upper="2"', 'lower="0" upper="0"'
        ),
    ).replace('lower="-2" upper="2"', 'lower="-0.4" upper="0.4"')  # fmt: skip
    model = CollisionModel.from_urdf(text)
    usual = model.usual_distances()
    names = [model.pairs[k] for k in usual.pairs]
    found = dict(zip(map(frozenset, names), usual.smallest, strict=True))
    assert found[frozenset(("post", "tool"))] == 0.0
    assert found[frozenset(("base", "tool"))] == pytest.approx(0.005, abs=1e-6)


def test_reasons_name_the_distance_at_zero_only_where_it_decides():
    pair = structural_pairs.StructuralPair(("a", "b"), 1.0, 0.004, 0.01, 0.02, 0.015, 0.012, 0.008)
    assert "15.0 mm at zero" in pair.reason and "less than 1%" in pair.reason
    assert "at zero" not in replace(pair, warn=0.05).reason
    assert "at zero" not in replace(pair, at_zero=0.0001, warn=0.00008).reason


def test_a_pair_that_is_usually_near_does_not_stop_above_its_usual_distance():
    """A drum turns about an axis beside its centre, and touches a wall in 7 % of its positions."""
    ball = '<sphere radius="0.1"/>'
    model = CollisionModel.from_urdf(
        robot(
            link("base"), link("wall", '<box size="0.02 1 1"/>', "0.13 0 1"),
            joint("f", "base", "wall", "fixed", "0 0 0"),
            link("slide", ""), joint("s", "base", "slide", "prismatic", "0 0 1", "0 1 0"),
            link("drum", ball, "-0.0205 0 0"),
            joint("r", "slide", "drum", "continuous", "0 0 0", "0 0 1"),
        ).replace('lower="-2" upper="2"', 'lower="-0.1" upper="0.1"')
    )  # fmt: skip
    rows = model.random_configurations(4000, seed=9)
    wall = next(k for k, pair in enumerate(model.pairs) if set(pair) == {"wall", "drum"})
    gaps = np.array([model.surface_distances(q, np.array([wall]))[0] for q in rows])
    pair = model.usual_distances().structural(model.pairs, 0.02, 0.1)[wall]
    assert 0.05 < pair.contact < 0.1 and 0.05 < np.mean(gaps <= 0.0) < 0.1
    assert 0.0005 < pair.stop <= max(pair.usual, 0.001) / 1.5 + 1e-12
    assert np.mean((gaps > 0.0) & (gaps <= pair.stop)) < 0.05


def test_thresholds_change_gradually_with_the_share_of_near_configurations():
    """Left and right pairs of a robot have slightly different samples."""

    def thresholds(near):
        levels = np.r_[np.linspace(0.03, 0.099, near), np.linspace(0.101, 0.15, 41 - near)]
        usual = structural_pairs.UsualDistances([0], [levels], [0.0], [0.15], [0.0], [False], [])
        found = usual.structural([("a", "b")], 0.02, 0.1)
        return (found[0].stop, found[0].warn) if found else (0.02, 0.1)

    values = np.array([thresholds(near) for near in range(14, 28)])
    assert (values[np.arange(14, 28) / 41 < 0.4] == [0.02, 0.1]).all()
    assert (values[np.arange(14, 28) / 41 >= 0.5] < [0.0150, 0.0300]).all()
    steps = np.diff(values, axis=0)
    assert (steps[:, 1] < 0.001).all() and (steps[:, 1] > -0.02).all()


def test_errors_of_meshes_are_no_smallest_distance():
    """Two boxes come within 0.05 mm: that is contact, not a distance to be halved."""
    near, apart = two_boxes(0.01, 0.02, -0.004975), two_boxes(0.01, 0.02, -0.0045)
    assert near.usual_distances().smallest.tolist() == [0.0]
    assert apart.usual_distances().smallest.tolist() == pytest.approx([0.001])


def test_few_joints_are_sampled_evenly_in_batches_that_share_no_joint():
    model = CollisionModel.from_urdf(
        robot(
            link("l0"),
            *(part for k in range(1, 9) for part in (
                link(f"l{k}"), joint(f"j{k}", f"l{k - 1}", f"l{k}", "revolute", "0.1 0 0", "0 0 1")
            )),
        )
    )  # fmt: skip
    chains = [tuple(range(k, k + 2)) for k in range(7)] + [tuple(range(k, k + 3)) for k in range(6)]
    batches = structural_pairs._batches({columns: [k] for k, columns in enumerate(chains)})
    assert sorted(k for batch in batches for (k,) in batch.values()) == list(range(13))
    for batch in batches:
        used = [column for columns in batch for column in columns]
        assert len(set(used)) == len(used) and len({len(columns) for columns in batch}) == 1
        rows = structural_pairs._evenly_spread(model, batch)
        parts = (rows - model.lower) / (model.upper - model.lower)
        for columns in batch:
            count = round(len(rows) ** (1.0 / len(columns)))
            cells = np.floor(parts[:, list(columns)] * count)
            assert len(np.unique(cells, axis=0)) == len(rows) == count ** len(columns)


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("place", ["0.1 0.05 0.05", "-0.207 -0.132 0.151", "0.222 0.006 0.238"])
def test_a_pair_of_few_joints_that_touches_in_a_small_region_keeps_its_distances(exact, place):
    """A gantry whose tool meets a ball in less than a thousandth of its space."""
    text = robot(
        link("base", '<sphere radius="0.02"/>', place), link("x", ""), link("y", ""),
        link("tool", '<sphere radius="0.02"/>'),
        joint("jx", "base", "x", "prismatic", "0 0 0", "1 0 0"),
        joint("jy", "x", "y", "prismatic", "0 0 0", "0 1 0"),
        joint("jz", "y", "tool", "prismatic", "0 0 0", "0 0 1"),
    ).replace('lower="-2" upper="2"', 'lower="-0.4" upper="0.4"')  # fmt: skip
    model = CollisionModel.from_urdf(text)
    assert model.pairs == [("base", "tool")] or model.pairs == [("tool", "base")]
    assert model.usual_distances(exact).structural(model.pairs, 0.02, 0.1) == {}


def rests(monitor, q):
    """The state of a monitor after three joint states at q."""
    for k in range(3):
        state = monitor.update(monitor.model.joint_names, np.array(q), now=10.0 + 0.01 * k)
    return state


def test_rules_come_before_structural_distances(ur5):
    monitor = Monitor(ur5)
    row = ur5.pairs.index(("wrist_2_link", "ee_link"))
    assert monitor.behaviour.thresholds[row] == pytest.approx([0.0049, 0.0098], abs=2e-4)
    monitor.set_thresholds(Thresholds(0.1, 0.02, (Rule("wrist_2_link ee_link", 0.05, 0.01),)))
    assert monitor.behaviour.thresholds[row].tolist() == [0.01, 0.05]
    assert row not in monitor.behaviour.structural_pairs
    monitor.set_thresholds(Thresholds(0.1, 0.02, (Rule("* *", 0.1, 0.02),)))
    assert (monitor.behaviour.thresholds == [0.02, 0.1]).all()


def test_a_rule_leaves_the_structural_distance_that_it_does_not_give(ur5):
    monitor, pair = Monitor(ur5), ("forearm_link", "wrist_2_link")
    row = ur5.pairs.index(pair)
    stop, warn = monitor.behaviour.thresholds[row]
    for rule, distances in (
        (Rule(" ".join(pair), warn=0.01), (stop, 0.01)),
        (Rule(" ".join(pair), warn=0.001), (stop, stop)),
        (Rule(" ".join(pair), stop=0.001), (0.001, warn)),
    ):
        monitor.set_thresholds(Thresholds(0.1, 0.02, (rule,)))
        assert monitor.behaviour.thresholds[row] == pytest.approx(distances)
        listed = monitor.behaviour.structural_pairs[row]
        assert (listed.stop, listed.warn) == pytest.approx(distances)
        assert rests(monitor, [0.3, -1.2, 1.4, -0.9, 1.57, 0.2]).level is Level.OK


def test_a_vendor_robot_is_clear_without_any_configuration(ur5):
    """Every pair with structural distances was within 20 mm, a permanent stop, before."""
    structural = Monitor(ur5).behaviour.structural_pairs
    assert {tuple(sorted(pair.links)) for pair in structural.values()} >= {
        ("base_link", "upper_arm_link"), ("forearm_link", "wrist_2_link"),
        ("wrist_1_link", "wrist_3_link"), ("ee_link", "wrist_2_link"),
    }  # fmt: skip
    reasons = {pair.links: pair.reason for pair in structural.values()}
    assert reasons["wrist_1_link", "wrist_3_link"] == "never found nearer than 13.4 mm"
    # In 20,000 random configurations 3.9 % are contacts, and 5 % of the others are below 6.5 mm.
    assert "in contact in 3%, usually at least 7.1 mm" in reasons["upper_arm_link", "base_link"]
    q = np.array([0.3, -1.2, 1.4, -0.9, 1.57, 0.2])
    state = rests(Monitor(ur5), q)
    assert (state.level, state.action, state.speed_scale) == (Level.OK, "none", 1.0)
    assert state.distance == ur5.distance(q, by_design=False).distance > 0.2


def test_contact_of_a_structural_pair_is_a_stop(ur5):
    rows = ur5.random_configurations(3000, 3)
    structural = np.array(list(Monitor(ur5).behaviour.structural_pairs))
    near = rows[ur5.min_distances(rows) < 0.0]
    touching = [q for q in near if ur5.surface_distances(q, structural).min() <= 0.0][:20]
    assert len(touching) == 20
    for q in touching:
        monitor = Monitor(ur5)
        for k in range(2):
            state = monitor.update(ur5.joint_names, q, now=10.0 + 0.01 * k)
        assert (state.level, state.action) == (Level.ERROR, "stop")


def test_structural_pairs_do_not_stop_a_robot_that_moves(ur5):
    """Their leaves touch on the braking path, and by its reach a joint could close the gap."""
    monitor, levels = Monitor(ur5), set()
    start = np.array([0.3, -1.2, 1.4, -0.9, 1.57, 0.2])
    speed = np.array([0.8, 0.2, -0.2, 0.8, 0.8, -1.0])
    for k in range(120):
        now = 10.0 + 0.008 * k
        state = monitor.update(ur5.joint_names, start + 0.008 * k * speed, now, now)
        levels.add(state.level)
        assert state.speed_scale == 1.0, state.message
    assert levels == {Level.OK}
