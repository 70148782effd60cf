# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Distances of pairs at home and over the joint ranges; thresholds of those near by design."""


import numpy as np
import pytest
from support.robots.robots import load_model
from support.robots.toys import joint, link, robot
from support.robots.vendor_robots import at_rest as rests

from collision_monitor import CollisionModel, Monitor
from collision_monitor.model import sampled_distances
from collision_monitor.model.near_by_design import near_by_design
from collision_monitor.model.thresholds import Rule, Thresholds
from collision_monitor.monitoring.monitor import Level
from collision_monitor.robot.composed import Mounted, compose
from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf import load_robot
from collision_monitor.self_collision.preparation import limited

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
    return load_model("ur5", with_srdf=False)


@pytest.mark.parametrize("exact", [True, False])
def test_a_pair_within_its_warning_distance_is_judged_by_its_usual_distance(exact):
    model = CollisionModel.from_urdf(URDF, scene={"obstacles": BALLS})
    (pair,) = near_by_design(model, 0.02, 0.1, exact, with_obstacles=True).values()
    assert set(pair.links) == {"near", "post"}
    assert (pair.near, pair.contact) == (1.0, 0.0)
    assert 0.045 <= pair.usual < 0.047 and 0.063 < pair.largest <= 0.065
    assert pair.warn == pytest.approx(0.8 * pair.usual) and pair.stop < pair.warn
    assert pair.stop == pytest.approx(0.4 * pair.usual)
    always = model.sampled_distances(exact).always_touching()
    assert [set(model.pairs[k]) for k in always] == [{"far", "shelf"}]
    # Near enough for the usual distances of other pairs.
    assert near_by_design(model, 0.005, 0.01, exact, with_obstacles=True) == {}
    # A monitor leaves obstacles alone.
    assert near_by_design(model, 0.02, 0.1, exact) == {}


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
    found = {pair.links: pair for pair in near_by_design(model, 0.02, 0.1).values()}
    pair = found["ball", "lift"] if ("ball", "lift") in found else found["lift", "ball"]
    assert pair.near < 0.2 and pair.usual == pytest.approx(0.015, abs=1e-6)
    assert (pair.warn, pair.stop) == pytest.approx((0.012, 0.006))
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
def test_a_pair_that_is_near_by_design_is_clear_at_home(gap, is_clear):
    """Two fingers rest 3 mm apart, nearer than usual, and can be pushed into each other."""
    model = two_boxes(gap, upper=0.03)
    (pair,) = near_by_design(model, 0.02, 0.1).values()
    assert pair.at_home == pytest.approx(gap, abs=1e-6) and pair.contact > 0.0
    assert pair.stop < pair.warn
    monitor = Monitor(model)
    assert (rests(monitor, [1e-6, 0.0]).level is Level.OK) == is_clear
    if is_clear:
        assert pair.warn == pytest.approx(0.8 * gap)
        assert f"{1e3 * gap:.1f} mm apart at home" in str(pair)
        assert rests(Monitor(model), [-0.002, 0.0]).action == "stop"
    assert rests(Monitor(model), [-0.01, 0.0]).action == "stop"


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("gap", [0.015, 0.039])
def test_a_pair_that_rests_near_each_other_is_clear_at_home_though_it_is_usually_far(exact, gap):
    model = two_boxes(gap, upper=1.0, lower=-0.03)
    assert near_by_design(model, 0.02, 0.1, exact, at_home=False) == {}
    (pair,) = near_by_design(model, 0.02, 0.1, exact).values()
    there = pair.at_home if not exact else gap  # of the leaves it is less
    assert pair.at_home == pytest.approx(there, abs=1e-6) and 0.0 < there <= gap
    assert (pair.warn, pair.stop) == pytest.approx((0.8 * there, min(0.02, 0.4 * there)))
    assert pair.near < 0.2 and f"{1e3 * there:.1f} mm apart at home" in pair.reason
    for part, action in ((1e-4, "none"), (0.15, "slowdown"), (0.35, "stop")):
        monitor = Monitor(model, narrow_phase="auto" if exact else "leaf")
        assert rests(monitor, [-part * there, -part * there]).action == action


@pytest.mark.parametrize(
    ("warn", "stop", "expected"),
    [(0.0, 0.02, (0.02, 0.02)), (0.03, 0.02, (0.02, 0.03)), (0.039, 0.01, (0.01, 0.0312)),
     (0.1, 0.0, (0.0, 0.0312))],
)  # fmt: skip
def test_thresholds_at_home_are_never_above_those_of_other_pairs(warn, stop, expected):
    monitor = Monitor(two_boxes(0.039, upper=1.0, lower=-0.03), warn, stop)
    assert monitor.behaviour.thresholds[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("end", ["/", "_"])  # of the prefixes
def test_only_links_of_one_robot_rest_near_each_other_and_only_where_no_links_touch(end):
    boxes = two_boxes(0.015, upper=1.0, lower=-0.03)
    assert boxes.sampled_distances().at_home == pytest.approx([0.015])
    assert near_by_design(two_boxes(0.0001, upper=1.0, lower=-0.03), 0.02, 0.1) == {}
    cell = compose([
        Mounted(boxes.robot, f"one{end}"),
        Mounted(boxes.robot, f"two{end}", np.eye(4) + np.diag([0.025], 3)),
    ])  # fmt: skip
    both = CollisionModel(cell)
    sampled = both.sampled_distances()
    is_near = sampled.at_home < sampled_distances.REACH
    assert is_near.sum() == 2 < len(both.pairs)
    assert all(len({name[:3] for name in both.pairs[k]}) == 1 for k in sampled.pairs[is_near])
    touching = CollisionModel(compose([
        Mounted(boxes.robot, f"one{end}"),
        Mounted(two_boxes(-0.001, upper=1.0, lower=-0.03).robot, f"two{end}", np.eye(4)),
    ]))  # fmt: skip
    assert (touching.sampled_distances().at_home == sampled_distances.REACH).all()


STATE = """<robot name="toy">
  <group name="hand"><joint name="a"/><joint name="b"/></group>
  <group_state name="open" group="hand"><joint name="a" value="{0}"/><joint name="b" value="{0}"/>
  </group_state></robot>"""


def test_named_states_of_the_srdf_are_home():
    """Two fingers that are 200 mm apart at zero, and 20 mm in the pose of rest of their vendor."""
    urdf = two_boxes(0.2, upper=1.0, lower=-0.11)
    rest = load_srdf(STATE.format(-0.09), urdf.robot)
    model = CollisionModel(urdf.robot, rest)
    assert model.home_configurations().tolist() == [[0.0, 0.0], [-0.09, -0.09]]
    assert near_by_design(urdf, 0.02, 0.1) == {}
    (pair,) = near_by_design(model, 0.02, 0.1).values()
    assert (pair.warn, pair.stop) == pytest.approx((0.016, 0.008))
    assert rests(Monitor(urdf), [-0.09, -0.09]).level is not Level.OK
    assert rests(Monitor(model), [-0.09, -0.09]).level is Level.OK
    # Zero itself is one pose, as is one that the fingers cannot take; a rounded limit is the limit.
    zero = [0.0, 0.0]
    for position, homes in ((0, [zero]), (9, [zero]), (1.0005, [zero, [1.0, 1.0]])):
        other = CollisionModel(urdf.robot, load_srdf(STATE.format(position), urdf.robot))
        assert other.home_configurations().tolist() == homes


def test_whole_turns_of_a_joint_without_end_stops_are_not_part_of_home():
    turning = load_robot(robot(link("a"), link("b"), joint("j", "a", "b", "continuous")))
    back = load_srdf(STATE.format(5.0).replace('"a"', '"j"'), turning)
    model = CollisionModel(turning, back)
    assert model.home_configurations().ravel() == pytest.approx([0.0, 5.0 - 2.0 * np.pi])


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
    pair = near_by_design(model, 0.02, 0.1)[wall]
    assert 0.05 < pair.contact < 0.1 and 0.05 < np.mean(gaps <= 0.0) < 0.1
    assert 0.0 < pair.stop == pytest.approx(0.4 * max(pair.usual, 0.0002))
    assert np.mean((gaps > 0.0) & (gaps <= pair.stop)) < 0.05


def test_grids_reach_the_corners_of_the_ranges_where_a_random_sample_is_not():
    """A tool on a gantry meets a ball in a corner of its plane."""
    text = robot(
        link("base", '<sphere radius="0.02"/>', "0.16 0.16 0"), link("x", ""),
        link("tool", '<sphere radius="0.02"/>'),
        joint("jx", "base", "x", "prismatic", "0 0 0", "1 0 0"),
        joint("jy", "x", "tool", "prismatic", "0 0 0", "0 1 0"),
    ).replace('lower="-2" upper="2"', 'lower="-0.15" upper="0.15"')  # fmt: skip
    model = CollisionModel.from_urdf(text)
    sampled = model.sampled_distances()
    assert sampled.least.tolist() == [0.0] and 0.0 < sampled.contacts[0] < 0.03
    assert near_by_design(model, 0.02, 0.1) == {}
    apart = CollisionModel.from_urdf(text.replace("0.16 0.16 0", "0.18 0.18 0"))
    (pair,) = near_by_design(apart, 0.02, 0.1).values()
    assert pair.is_smallest and pair.near < 0.3
    assert pair.usual == pytest.approx(0.03 * 2**0.5 - 0.04, abs=1e-6)


def test_joints_without_a_range_do_not_count_in_a_grid():
    """A gantry with a fixed height, 5 mm above a plate."""
    text = robot(
        link("base", '<box size="1 1 0.02"/>'),
        link("x", ""), link("y", ""), link("tool", '<box size="0.03 0.03 0.02"/>'),
        joint("jx", "base", "x", "prismatic", "0 0 0.0", "1 0 0"),
        joint("jy", "x", "y", "prismatic", "0 0 0", "0 1 0"),
        joint("jz", "y", "tool", "prismatic", "0 0 0.025", "0 0 1").replace(
            'lower="-2" upper="2"', 'lower="0" upper="0"'
        ),
    ).replace('lower="-2" upper="2"', 'lower="-0.4" upper="0.4"')  # fmt: skip
    (pair,) = near_by_design(CollisionModel.from_urdf(text), 0.02, 0.1).values()
    assert pair.usual == pytest.approx(0.005, abs=1e-6) and "always within 5.0 mm" in pair.reason


def test_pairs_of_few_joints_of_a_chain_are_measured_over_the_whole_range_of_each():
    """Pairs of a chain share joints: none is measured while the joints of another rest."""
    links = [link("l0", '<sphere radius="0.01"/>')]
    for k in range(1, 9):
        place = "0.1 0 0.03"
        links += [
            link(f"l{k}", '<sphere radius="0.01"/>'),
            joint(f"j{k}", f"l{k - 1}", f"l{k}", "revolute", place, "0 0 1"),
        ]
    model = CollisionModel.from_urdf(robot(*links))
    sampled = model.sampled_distances()
    rows = {frozenset(model.pairs[k]): row for row, k in enumerate(sampled.pairs.tolist())}
    for step in (2, 3):
        some = [rows[frozenset((f"l{k}", f"l{k + step}"))] for k in range(9 - step)]
        assert np.ptp(sampled.quantiles[some, 10]) < 0.01  # equal links, equal ranges
        assert np.ptp(sampled.least[some]) < 0.002


def test_rules_come_before_distances_by_design(ur5):
    monitor = Monitor(ur5)
    row = ur5.pairs.index(("wrist_2_link", "ee_link"))
    assert monitor.behaviour.thresholds[row] == pytest.approx([0.0079, 0.0158], abs=2e-4)
    monitor.set_thresholds(Thresholds(0.1, 0.02, (Rule("wrist_2_link ee_link", 0.05, 0.01),)))
    assert monitor.behaviour.thresholds[row].tolist() == [0.01, 0.05]
    assert row not in monitor.behaviour.structural_pairs
    monitor.set_thresholds(Thresholds(0.1, 0.02, (Rule("* *", 0.1, 0.02),)))
    assert (monitor.behaviour.thresholds == [0.02, 0.1]).all()


def test_a_rule_leaves_the_distance_by_design_that_it_does_not_give(ur5):
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
    """Every pair near by design is within 20 mm, and would always be a stop."""
    near = Monitor(ur5).behaviour.structural_pairs
    assert {tuple(sorted(pair.links)) for pair in near.values()} >= {
        ("base_link", "upper_arm_link"), ("forearm_link", "wrist_2_link"),
        ("wrist_1_link", "wrist_3_link"), ("ee_link", "wrist_2_link"),
    }  # fmt: skip
    reasons = {pair.links: pair.reason for pair in near.values()}
    assert reasons["wrist_1_link", "wrist_3_link"] == (
        "never in contact: near in 100% of the configurations, never found nearer than 13.4 mm, "
        "14.3 mm apart at home, always within 14.5 mm"
    )
    # In 20,000 random configurations 3.9 % are contacts, and 5 % of the others are below 6.5 mm.
    assert "in contact in 3%, usually at least 7.1 mm" in reasons["upper_arm_link", "base_link"]
    q = np.array([0.3, -1.2, 1.4, -0.9, 1.57, 0.2])
    state = rests(Monitor(ur5), q)
    assert (state.level, state.action, state.speed_scale) == (Level.OK, "none", 1.0)
    assert state.distance == ur5.distance(q, by_design=False).distance > 0.2


def test_contact_of_a_pair_near_by_design_is_a_stop(ur5):
    rows = ur5.random_configurations(3000, 3)
    by_design = np.array(list(Monitor(ur5).behaviour.structural_pairs))
    near = rows[ur5.min_distances(rows) < 0.0]
    touching = [q for q in near if ur5.surface_distances(q, by_design).min() <= 0.0][:20]
    assert len(touching) == 20
    for q in touching:
        state = rests(Monitor(ur5), q)
        assert (state.level, state.action) == (Level.ERROR, "stop")


def test_pairs_near_by_design_do_not_stop_a_robot_that_moves(ur5):
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


@pytest.mark.parametrize("distance", [0.05, 0.14, 0.15, 0.4, 2.0])
def test_shares_are_those_of_random_configurations_at_any_distance(distance):
    """Two boxes on slides, up to 2 m apart; a table does not reach as far unless it is asked to."""
    model = two_boxes(0.02, upper=1.0, lower=-0.03)
    rows = model.random_configurations(4000, seed=8)
    share = np.mean([model.distances(q)[0] <= distance for q in rows])
    assert model.shares_within(distance) == pytest.approx([share], abs=0.06)
    assert model.sampled_distances(False, distance).reach > distance
    assert model.sampled_distances(False).reach == sampled_distances.REACH


def test_narrower_position_limits_do_not_change_the_table_of_a_robot():
    model = two_boxes(0.02, upper=1.0, lower=-0.03)
    limits = {name: (0.5, 0.6) for name in model.joint_names}
    narrow = limited(model, model.joint_names, np.zeros(2), limits)
    assert (narrow.distances(narrow.lower) > 0.15).all()
    near = narrow.sampled_distances(exact=False).quantiles  # first of all, and kept for the robot
    whole = two_boxes(0.02, upper=1.0, lower=-0.03).sampled_distances(exact=False).quantiles
    assert near.tolist() == whole.tolist() != []
