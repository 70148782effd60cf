# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The space arm: its size, its leaves, and the alarm on the way to a hull, against references."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from support.documented import commands, with_options
from support.geometry.reference import Reference, coal, pin
from support.paths import ROOT
from support.robots.robots import require
from support.ros.live_cases import points_of

sys.path.append(str(ROOT / "benchmarks"))

import hybrid_tree  # noqa: E402
from space_arm.range_sensor import cast, experiment  # noqa: E402
from space_arm.space_arm_peers import Peer, bvh  # noqa: E402
from space_arm.straight_approach import (  # noqa: E402
    DOWN,
    LAB_RADIUS,
    LAB_X,
    SPACE_ARM,
    SPEED,
    START,
    approach,
    load_space_arm,
    way_at,
)

METHODS = commands((ROOT / "docs/reports/methods.md").read_text(encoding="utf-8"))
CYCLE = 0.03  # s: 3 mm of the way, so that no row lies at the threshold itself
GROWN = 0.05  # m: each volume; two of them make the threshold of 0.1 m
TIP_RADIUS = 0.15
MODULES = ("core_module", "node_module", "lab_module_1", "lab_module_2")


@pytest.fixture(scope="module")
def model():
    return load_space_arm()


@pytest.fixture(scope="module")
def rows(model):
    return approach(model, CYCLE)


@pytest.fixture(scope="module")
def reference(model):
    return Reference(SPACE_ARM, [], model)


@pytest.fixture(scope="module")
def closed_form(reference, rows):
    """Distance of the tip, a ball, from the laboratory, a cylinder about x = LAB_X, z = 0."""
    found = []
    for q in rows:
        pose = reference.link_pose(q, "arm_link_7")
        x, y, z = pose[:3, :3] @ [0.0, 0.0, 0.65] + pose[:3, 3]
        assert 4.05 < y < 13.65  # beside the cylindrical part
        found.append(math.hypot(x - LAB_X, z) - TIP_RADIUS - LAB_RADIUS)
    return np.array(found)


def test_the_files_are_what_the_script_makes():
    script = [sys.executable, str(ROOT / "urdf/make_space_arm.py"), "--check"]
    done = subprocess.run(script, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_it_has_the_size_of_the_published_arm(model, reference):
    assert len(model.joint_names) == 7
    tool = reference.link_pose(np.zeros(7), "tool")[:3, 3]
    base = reference.link_pose(np.zeros(7), "arm_base")[:3, 3]
    assert np.linalg.norm(tool - base) == pytest.approx(11.0)
    shapes = [s for n in model.link_names if n.startswith("arm_") for s in model.fits[n]]
    assert len(shapes) == 13
    radii = [
        shape.size[0]
        for name, link in model.robot.links.items()
        for shape in link.shapes
        if name.startswith("arm_")
    ]
    assert len(radii) == 13
    assert min(radii) == pytest.approx(0.15)
    assert max(radii) == pytest.approx(0.25)
    hulls = {
        name: np.vstack([s.vertices for s in model.robot.links[name].shapes]) for name in MODULES
    }
    assert np.ptp(hulls["core_module"][:, 0]) == pytest.approx(16.5)
    across = [np.hypot(points[:, 1], points[:, 2]).max() for points in hulls.values()]
    assert min(across) == pytest.approx(1.8, abs=1e-3)
    assert max(across) == pytest.approx(4.2, abs=1e-3)


def test_one_leaf_a_body_gives_the_tree_of_the_paper(model):
    moving = [leaf for leaf in model.leaves if leaf.link.startswith("arm_")]
    assert len(moving) == 13
    assert math.ceil(math.log2(len(moving))) + 1 == 5
    kinds = {leaf.kind for leaf in moving}
    assert kinds == {"capsule", "sphere"}


def test_the_leaves_enclose_every_body(model):
    rng = np.random.default_rng(0)
    for name, link in model.robot.links.items():
        leaves = [leaf for leaf in model.leaves if leaf.link == name]
        for shape in link.shapes:
            each = 1 + 4000 // len(shape.triangles) if shape.kind == "mesh" else 4000
            points = points_of(shape, rng, each) @ shape.pose[:3, :3].T + shape.pose[:3, 3]
            outside = np.min([leaf.distances_to(points) for leaf in leaves], axis=0)
            assert outside.max() <= 1e-9, f"{name}: {shape.source}"


def test_the_end_goes_straight_at_the_hull_at_its_speed(model, reference, rows):
    tools = np.array([reference.link_pose(q, "tool")[:3, 3] for q in rows])
    wanted = START + way_at(CYCLE * np.arange(len(rows)))[:, None] * DOWN
    assert np.abs(tools - wanted).max() < 1e-5
    rates = np.abs(np.diff(rows, axis=0)) / CYCLE
    assert (rates <= model.velocity_limits).all()
    assert (rows >= model.lower).all()
    assert (rows <= model.upper).all()


def test_distances_on_the_way_are_those_of_coal(model, reference, rows):
    geometry, _ = reference.leaf_geometry()
    for q in rows[::10]:
        theirs = reference.distances(geometry, q).min()
        assert model.distance(q).distance == pytest.approx(theirs, abs=1e-6)


def test_the_hull_comes_nearer_as_geometry_says(model, rows, closed_form):
    k = model.pairs.index(("arm_link_7", "lab_module_1"))
    ours = np.array([model.distances(q)[k] for q in rows])
    assert closed_form[0] == pytest.approx(1.5, abs=1e-5)
    # The leaf encloses the hull, and stands off it by less than a millimetre beside the tube.
    assert (ours <= closed_form + 1e-9).all()
    assert (ours >= closed_form - 1e-3).all()


def _first(near):
    return int(np.flatnonzero(near)[0])


def test_the_alarm_comes_at_the_right_pose(model, reference, rows, closed_form):
    threshold = 2.0 * GROWN
    distances = model.min_distances(rows)
    first = _first(distances <= threshold)
    assert threshold - SPEED * CYCLE - 1e-5 < distances[first] <= threshold
    assert distances[first - 1] > threshold
    assert set(model.distance(rows[first]).links) == {"arm_link_7", "lab_module_1"}
    # Where coal says, and where geometry says.
    geometry, _ = reference.leaf_geometry()
    coals = [reference.distances(geometry, q).min() for q in rows[first - 2 : first + 2]]
    assert first - 2 + _first(np.array(coals) <= threshold) == first
    assert _first(closed_form <= threshold) == first


def test_the_alarm_is_not_later_than_the_triangles_say_nor_much_earlier(model, rows):
    meshes = Peer(model, str(SPACE_ARM), lambda shape: bvh(shape, coal.BVHModelOBBRSS))
    first = _first(model.min_distances(rows) <= 2.0 * GROWN)
    for q in rows[[first - 1, first]]:
        true = meshes.least_distance(q)
        # The tip's triangles lie up to 3 mm inside its ball.
        assert model.distance(q).distance <= true + 1e-9
        assert true - model.distance(q).distance < 4e-3


def test_the_sensor_sees_the_hull_by_itself_and_alarms_a_cycle_later(model, rows, closed_form):
    first = _first(model.min_distances(rows) <= 2.0 * GROWN)
    around = slice(first - 50, first + 10)  # casting rays is slow
    seen, true = experiment(model, rows[around], CYCLE, 2.0 * GROWN), closed_form[around]
    off = (seen.measured[1:] - true[:-1])[true[:-1] > 0.01]
    assert np.isnan(seen.measured[0]) and np.isfinite(off).all()
    # Half of the resolution, and the scatter; the mesh is up to 3 mm inside the cylinder.
    assert abs(off.mean()) < 4e-3 and 1.5e-3 < off.std() < 2.5e-3
    alarms = _first(seen.alarm), _first(seen.sensor_alarm)
    assert alarms[0] == first - around.start
    # Noise of 2 mm is less than the way of 3 mm in a cycle.
    assert -3 <= alarms[1] - alarms[0] - 1 <= 3


def test_rays_hit_the_nearest_triangle_in_front_only():
    corners = np.array([[[-1, -1, z], [3, -1, z], [-1, 3, z]] for z in (2.0, 5.0, -1.0)])
    assert cast(np.zeros(3), np.array([[0.0, 0.0, 1.0]]), corners) == pytest.approx(2.0)
    assert cast(np.array([0.0, 0.0, 3.0]), np.array([[0.0, 0.0, 1.0]]), corners) == 2.0
    assert cast(np.zeros(3), np.array([[1.0, 0.0, 0.0]]), corners) == np.inf
    assert cast(np.array([5.0, 5.0, 0.0]), np.array([[0.0, 0.0, 1.0]]), corners) == np.inf


def test_volumes_are_those_of_the_shapes(model):
    table = {row["part"]: row for row in hybrid_tree.volumes(model)}
    assert set(table) == {"arm", *MODULES, "total"}
    for row in table.values():
        numbers = [row[key] for key in ("obb_m3", "leaves_m3", "real_m3")]
        assert np.isfinite(numbers).all()
        assert 0.0 < row["real_m3"] < 1.005 * row["leaves_m3"]
    # Independently: cylinders and the ball by formula, hulls by the divergence theorem.
    arm = 0.0
    for name, link in model.robot.links.items():
        volume = 0.0
        for shape in link.shapes:
            if shape.kind == "cylinder":
                arm += math.pi * shape.size[0] ** 2 * shape.size[1]
            elif shape.kind == "sphere":
                arm += 4.0 / 3.0 * math.pi * shape.size[0] ** 3
            else:
                a, b, c = np.moveaxis(shape.vertices[shape.triangles], 1, 0)
                volume += float((a * np.cross(b, c)).sum() / 6.0)
        if name in MODULES:
            assert table[name]["real_m3"] == pytest.approx(volume)
    assert table["arm"]["real_m3"] == pytest.approx(arm)
    # What the paper reports: 28 % less than oriented boxes.
    assert table["total"]["leaves_m3"] < 0.72 * table["total"]["obb_m3"]


def run_benchmark(monkeypatch, capsys, *words):
    """What it prints with these arguments."""
    monkeypatch.setattr(sys, "argv", ["benchmarks/hybrid_tree.py", *words])
    hybrid_tree.main()
    return capsys.readouterr().out


def run_documented(monkeypatch, capsys, command, **short):
    """What a command of docs/reports/methods.md measures, with these options short."""
    words = with_options(command, {f"--{name}": value for name, value in short.items()})
    return json.loads(run_benchmark(monkeypatch, capsys, *words[1:], "--json"))


@pytest.mark.slow
def test_the_benchmark_prints_what_it_measured(monkeypatch, capsys, tmp_path):
    pytest.importorskip("matplotlib")
    command = METHODS["benchmarks/hybrid_tree.py --cycle"]
    picture = tmp_path / "a.png"
    result = run_documented(
        monkeypatch, capsys, command, cycle="0.5", passes="1", plot=str(picture)
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert result["fit"] == "published"
    assert result["leaves"] == result["shapes"] == 18
    assert result["versions"]["pinocchio"] == pin.__version__
    assert len(result["times"]) == 21
    assert result["alarm"]["distance_m"] <= 0.1 < result["alarm"]["distance_before_m"]
    assert 0.0 <= result["sensor"]["sensor_alarm_m"] <= 0.1
    text = hybrid_tree.report(result)
    assert text.count("\n| ") == 2 + 21 + 6
    assert "nan" not in text


@pytest.mark.slow
def test_the_benchmark_measures_real_robots_between_copies(monkeypatch, capsys):
    require("ur5")
    command = METHODS["benchmarks/hybrid_tree.py --robots"]
    result = run_documented(monkeypatch, capsys, command, robots="ur5", passes="1")
    ur5 = result["ur5"]
    # Eight links with a shape each, and two copies of them; 17 pairs of its own.
    assert ur5["leaves"] == ur5["shapes"] == 3 * 8
    assert ur5["link_pairs"] == ur5["leaf_pairs"] > 17
    assert len(ur5["times"]) == 17
    assert 1.0 <= ur5["near_pairs"]["shapes"] <= min(ur5["near_pairs"].values())
    text = hybrid_tree.report_robots(result)
    assert "24 leaves around 24 shapes, fit published" in text
    ur5["savings"][0]["less"] = -0.07
    assert ": 7% more time than all pairs" in hybrid_tree.report_robots(result)
