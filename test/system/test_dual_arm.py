# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The package's own robot: arms, meshes and disabled pairs, and the script that makes it.

Kinematics by pinocchio against the Denavit-Hartenberg table of the paper whose arms these
are (Wu Changzheng et al., J. Shanghai Jiao Tong University 52(1), 2018, 45-53); contacts
and distances of the meshes by coal.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import trimesh
from support.geometry.exact_reference import ExactReference
from support.geometry.reference import Reference
from support.paths import ROOT
from support.robots.dual_arm_cases import ALPHA, BASES, PAPER, SIDES, D

from collision_monitor import CollisionModel
from collision_monitor.fitting.coverage import winding_numbers
from collision_monitor.fitting.enclosure import check_enclosing, check_filling
from collision_monitor.fitting.leaves_file import read_leaves
from collision_monitor.robot.urdf import load_robot

URDF = ROOT / "urdf/dual_arm.urdf"
SRDF = ROOT / "urdf/dual_arm.srdf"
MAKER = ROOT / "urdf/make_dual_arm.py"
MESHES = sorted({e.get("filename").split("/")[-1] for e in ElementTree.parse(URDF).iter("mesh")})
LEAVES = ROOT / "urdf/dual_arm_leaves.yaml"
SHOULDER_HEIGHT = 1.2

DISABLED = [
    (element.get("link1"), element.get("link2"), element.get("reason"))
    for element in ElementTree.parse(SRDF).iter("disable_collisions")
]


def dh_chain(side: str, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Joint centres and tip (8, 3) and rotation of the tip (3, 3), by the DH table."""
    pose = np.eye(4)
    pose[:3, :3] = BASES[SIDES.index(side)]
    pose[:3, 3] = 0.0, PAPER.offset * (-1.0 if side == "right" else 1.0), SHOULDER_HEIGHT
    centres = [pose[:3, 3]]
    for theta, d, alpha in zip(angles, D, ALPHA, strict=True):
        c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        turn = [[c, -s * ca, s * sa, 0.0], [s, c * ca, -c * sa, 0.0], [0.0, sa, ca, d]]
        pose = pose @ np.vstack([turn, [0.0, 0.0, 0.0, 1.0]])
        centres.append(pose[:3, 3])
    return np.array(centres), pose[:3, :3]


@pytest.fixture(scope="module")
def model() -> CollisionModel:
    """The robot with the leaves that come with it, and without its SRDF."""
    return CollisionModel.from_urdf(URDF, leaves=LEAVES, check_leaves=False)


@pytest.fixture(scope="module")
def coal(model) -> ExactReference:
    """Distances of its meshes, at poses by pinocchio."""
    return ExactReference(model, Reference(URDF, [], model))


def configurations(model, count: int) -> np.ndarray:
    """Rows within the limits, four tenths of the values at a limit: folds are there."""
    rng = np.random.default_rng(11)
    rows = rng.uniform(model.lower, model.upper, (count, len(model.lower)))
    where = rng.random(rows.shape)
    return np.where(where < 0.2, model.lower, np.where(where < 0.4, model.upper, rows))


def test_the_arms_are_those_of_the_paper(model):
    reference = Reference(URDF, [], model)
    names = {side: [f"{side}_joint_{i}" for i in range(1, 8)] for side in SIDES}
    known = [*names["right"], *names["left"]]
    assert sorted(reference.pin_model.names) == sorted(["universe", *known])
    assert model.name == reference.pin_model.name == "dual_arm"
    for q in configurations(model, 50):
        for side in SIDES:
            angles = np.array([q[model.joint_names.index(name)] for name in names[side]])
            links = [f"{side}_link_{i}" for i in range(1, 8)]
            *frames, tool = (reference.link_pose(q, name) for name in (*links, f"{side}_tool"))
            centres, rotation = dh_chain(side, angles)
            found = [pose[:3, 3] for pose in (*frames, tool)]
            assert np.array(found) == pytest.approx(centres, abs=1e-12)
            assert tool[:3, :3] == pytest.approx(rotation, abs=1e-12)


def capsule_surface(length: float, radius: float) -> np.ndarray:
    """Points on the capsule around (0, 0, 0) to (0, 0, length)."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(150, 3))
    points *= radius / np.linalg.norm(points, axis=1, keepdims=True)
    points[points[:, 2] > 0.0, 2] += length
    if length == 0.0:
        return points
    angle, z = rng.uniform([[0.0], [0.0]], [[2.0 * np.pi], [length]], (2, 150))
    return np.vstack([points, np.column_stack([radius * np.cos(angle), radius * np.sin(angle), z])])


@pytest.mark.parametrize("number", range(1, 8))
def test_an_arm_mesh_encloses_the_capsule_of_its_link(number):
    root = ElementTree.parse(URDF).getroot()
    meshes = set()
    for side in SIDES:
        collisions = root.findall(f"link[@name='{side}_link_{number}']/collision")
        meshes |= {item.find("geometry/mesh").get("filename") for item in collisions}
        for item in collisions:
            assert item.find("origin").attrib == {"xyz": "0 0 0", "rpy": "0 0 0"}
            assert "scale" not in item.find("geometry/mesh").attrib
    assert meshes == {f"package://collision_monitor/urdf/meshes/arm_link_{number}.stl"}
    mesh = np.array(trimesh.load(ROOT / f"urdf/meshes/arm_link_{number}.stl").triangles)
    length = D[number - 1]
    assert winding_numbers(capsule_surface(length, 0.05), mesh) == pytest.approx(1.0, abs=1e-6)
    # nor is it much more
    assert winding_numbers(capsule_surface(length, 0.07), mesh) == pytest.approx(0.0, abs=1e-6)


def test_meshes_are_closed_and_turned_outwards():
    assert len(MESHES) == 14
    for name in MESHES:
        mesh = trimesh.load(ROOT / "urdf/meshes" / name)
        assert mesh.is_watertight, name
        assert mesh.is_winding_consistent, name
        assert mesh.volume > 1e-4, name
        assert len(mesh.split()) == 1, name


def test_disabled_pairs_never_mix_the_arms_and_each_stands_once():
    pairs = [frozenset(pair[:2]) for pair in DISABLED]
    assert len(set(pairs)) == len(pairs)
    assert {reason for *_, reason in DISABLED} == {"Adjacent", "Never"}
    for a, b, _ in DISABLED:
        assert {a.split("_")[0], b.split("_")[0]} != set(SIDES), (a, b)


@pytest.mark.parametrize("pair", [(a, b) for a, b, reason in DISABLED if reason == "Never"])
def test_pairs_that_never_touch_stay_apart(model, coal, pair):
    rows = configurations(model, 60)
    assert min(coal.distance_between(pair, coal.poses(q)) for q in rows) > 0.03


def test_adjacent_pairs_follow_each_other_and_touch_in_every_pose(model, coal):
    parent = {joint.child: joint.parent for joint in model.robot.joints}
    for a, b, reason in DISABLED:
        if reason != "Adjacent":
            continue
        # over one joint, or two tubes in the housing between them
        tubes = a[-1] in "135" and a[:-1] == b[:-1]
        assert parent[b] == a or (tubes and parent[parent[b]] == a), (a, b)
        for q in configurations(model, 50):
            assert coal.distance_between((a, b), coal.poses(q)) <= 0.0, (a, b)


def check(folder: Path) -> subprocess.CompletedProcess:
    command = [sys.executable, str(MAKER), "--check", "--output", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


def test_changed_and_missing_files_are_named(tmp_path):
    for folder in ("urdf", "config"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    assert check(tmp_path).returncode == 0
    names = ["urdf/dual_arm.urdf", "urdf/dual_arm.srdf", "urdf/dual_arm_scene.yaml",
             "urdf/meshes/arm_link_3.stl", "config/dual_arm_motion.csv"]  # fmt: skip
    changed, missing = names[:4], names[4]
    for name in changed:
        content = bytearray((tmp_path / name).read_bytes())
        content[len(content) // 2] ^= 1
        (tmp_path / name).write_bytes(content)
    (tmp_path / missing).unlink()
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    done = check(tmp_path)
    assert done.returncode == 1
    said = sorted(done.stderr.splitlines())
    assert said == sorted(f"differs: {tmp_path / name}" for name in names)
    assert before == {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}


def test_the_shipped_leaves_are_for_these_shapes_and_enclose_them():
    robot = load_robot(URDF)
    assert "shapes:" in LEAVES.read_text()
    leaves = read_leaves(LEAVES, robot)  # refuses them for other shapes
    check_enclosing(robot, leaves)
    check_filling(robot, leaves)
