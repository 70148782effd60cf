# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Files without end and values larger than the world are refused by name, in little memory."""

import re
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.paths import ROOT
from support.processes import run_python
from support.robots.toys import chain, joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.common.files import read_bounded
from collision_monitor.common.limits import LARGEST_FILE, LARGEST_OF_JOINT, range_problem
from collision_monitor.errors import (
    CollisionMonitorError,
    MeshError,
    RobotDescriptionError,
    SceneError,
)
from collision_monitor.fitting.leaves_file import read_leaves
from collision_monitor.hierarchy.kinematics import FARTHEST
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.model.thresholds import load_thresholds
from collision_monitor.monitoring.joint_state_buffer import JointState
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.motion import read_motion
from collision_monitor.motion.motion_files import load_trajectory
from collision_monitor.robot.composed import Mounted, compose
from collision_monitor.robot.description import Shape
from collision_monitor.robot.limits import read_joint_limits
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.urdf import load_robot

ROBOT = load_robot(chain(4))


def test_no_more_than_asked_for_is_read(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"12345")
    assert read_bounded(path, 5) == b"12345"
    assert read_bounded(path, 4) is None
    assert read_bounded(Path("/dev/zero"), 1000) is None


def test_numbers_out_of_range():
    assert range_problem(1e4) == range_problem(-1e4) == range_problem(0.0, True) == ""
    assert range_problem(1.0001e4) == "10001 exceeds the maximum of 10000"
    assert range_problem(1e9, largest=LARGEST_OF_JOINT) == ""
    assert "1e+308 exceeds the maximum" in range_problem(1e308)
    assert "nan is not a number" in range_problem(float("nan"))
    assert range_problem(1e-9) == "" and "too small" in range_problem(1e-9, is_size=True)


LOADERS = """
import resource, sys, tempfile
from pathlib import Path

from collision_monitor.errors import CollisionMonitorError
from collision_monitor.motion import read_motion
from collision_monitor.robot.limits import read_joint_limits
from collision_monitor.fitting.leaves_file import read_leaves
from collision_monitor.robot.scene import load_scene
from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf import load_robot
from collision_monitor.model.thresholds import load_thresholds
from collision_monitor.verification.torques.actuators import read_drives
from collision_monitor.motion.motion_files import load_trajectory
from support.robots.toys import chain, link, robot

ROBOT = load_robot(chain(4))
folder = Path(sys.argv[1])

size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 1_000_000_000,) * 2)
found = []
for name, load in {
    "urdf": lambda p: load_robot(p), "srdf": lambda p: load_srdf(p, ROBOT),
    "scene": lambda p: load_scene(p, ROBOT), "leaves": lambda p: read_leaves(p, ROBOT),
    "thresholds": load_thresholds, "limits": lambda p: read_joint_limits(p, ["j1"]),
    "drives": read_drives, "motion": read_motion,
    "trajectory": lambda p: load_trajectory(p, ROBOT),
    "mesh": lambda p: load_robot(robot(link("a", f'<mesh filename="{p}"/>'))),
}.items():
    for path in sorted(folder.iterdir()):
        try:
            load(path)
            print("taken", name, path.name)
        except CollisionMonitorError as error:
            found.append(name)
            assert len(str(error)) < 2000, (name, path.name, len(str(error)))
        except Exception as error:
            print("wrong", name, path.name, type(error).__name__, error)
print("refused", len(found))
"""


def test_files_that_are_huge_endless_or_lie_are_refused_in_little_memory(tmp_path):
    files = tmp_path / "files"
    files.mkdir()
    for suffix in ("stl", "urdf", "yaml", "csv"):
        with (files / f"sparse.{suffix}").open("wb") as file:
            file.truncate(3_000_000_000)
        (files / f"endless.{suffix}").symlink_to("/dev/zero")
    for claim in (0xFFFFFFFF, 42_949_672):
        header = bytes(80) + struct.pack("<I", claim)
        (files / f"claims_{claim}.stl").write_bytes(header + bytes(50))
    with (files / "two_gigabytes.stl").open("wb") as file:
        file.write(bytes(80) + struct.pack("<I", 42_949_672))
        file.truncate(84 + 50 * 42_949_672)
    bomb = "a0: &a0 [1, 2, 3, 4, 5, 6, 7, 8, 9]\n" + "".join(
        f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 30)
    )
    merges = "a0: &a0 {x: 1}\n" + "".join(
        f"a{k}: &a{k}\n  <<: [{', '.join([f'*a{k - 1}'] * 9)}]\n" for k in range(1, 30)
    )
    for name, text in {
        "aliases": bomb,
        "in_place": bomb + "obstacles: *a29\npairs: *a29\npoints: *a29\n",
        "merges": merges,
        "itself": "obstacles: &a [*a]\npairs: *a\n",
        "merged_itself": "obstacles: &a {<<: *a}\n",
        "deep": "[" * 100_000,
        "base_60": "warn: 1" + ":1" * 900_000,
        "hexadecimal": "warn: 0x" + "f" * 900_000,
        "digits": "warn: " + "9" * 900_000,
        "motion": "joint_names: [j1]\npoints: &p\n- &q {positions: [1e308], time_from_start: 1}\n"
        + "- *q\n" * 1000,
    }.items():
        (files / f"{name}.yaml").write_text(text)
    for name, text in {
        "entities": '<!DOCTYPE r [<!ENTITY a "aaaaaaaaaa">'
        + "".join(f'<!ENTITY a{k} "{f"&a{k - 1};" * 10}">' for k in range(1, 20))
        + ']><robot name="toy">&a19;</robot>',
        "deep": '<robot name="toy">' + "<group>" * 100_000,
        "groups": '<robot name="other">'
        + "".join(f'<group name="g{k}"><group name="g{k + 1}"/></group>' for k in range(5000))
        + "</robot>",
    }.items():
        (files / f"{name}.xml").write_text(text)
    done = run_python(LOADERS, files, cwd=ROOT / "test")
    lines = done.stdout.splitlines()
    assert not [line for line in lines if line.startswith("wrong")], done.stdout[-3000:]
    # What has nothing to do with a loader may be taken by it, as a mapping that names nothing it
    # knows is refused; only joint limits and drives have keys that are anybody's.
    taken = {tuple(line.split()[1:]) for line in lines if line.startswith("taken")}
    assert not {pair for pair in taken if pair[0] not in ("limits", "drives")}, taken
    assert int(lines[-1].split()[1]) > 220


def test_a_mesh_says_how_large_it_may_be(tmp_path):
    with (tmp_path / "m.stl").open("wb") as file:
        file.truncate(LARGEST_FILE + 1)
    with pytest.raises(MeshError, match="larger than 100 MB; simplify the mesh"):
        load_robot(robot(link("a", f'<mesh filename="{tmp_path}/m.stl"/>')))


@pytest.mark.parametrize(
    "path",
    [
        "package://p/../../../../../../../../etc/passwd", "package://../../etc/passwd",
        "package://p/" + "../" * 3000 + "dev/zero", "../" * 50 + "etc/passwd", "/etc/passwd",
        "file:///etc/../etc/passwd", "/dev/zero", "/dev/stdin", "/proc/self/mem", "x" * 5000,
        "package://%2e%2e/%2e%2e/etc/passwd", "package://p/%00.stl", "https://a/b.stl",
    ],
)  # fmt: skip
def test_paths_that_climb_or_lead_to_devices_are_refused(path):
    with pytest.raises(MeshError):
        load_robot(robot(link("a", f'<mesh filename="{path}"/>')))
    with pytest.raises(SceneError):
        scene = {"obstacles": [{"name": "m", "type": "mesh", "file": path}]}
        load_scene(scene, ROBOT)


def test_a_long_cycle_of_mimics_is_told_in_short():
    text = robot(
        *(link(f"l{k}") for k in range(501)),
        *(
            joint(f"j{k}", f"l{k - 1}", f"l{k}", extra=f'<mimic joint="j{(k - 2) % 500 + 1}"/>')
            for k in range(1, 501)
        ),
    )
    says = r"mimic each other in a cycle: 'j1' -> 'j500' .* \(500 joints\)"
    with pytest.raises(RobotDescriptionError, match=says) as caught:
        load_robot(text)
    assert len(str(caught.value)) < 300


EXTREMES = st.sampled_from(
    "0 -0 1 0.3 1e308 -1e308 1.7976931348623157e308 1e200 1e154 1e17 1e7 1e6 1e-3 1e-6 1e-7 9e-8 "
    "1e-154 1e-300 5e-324 -5e-324 2.2250738585072014e-308 nan inf -inf 1e999".split()
)
NUMBERS = 17
TEMPLATE = (
    '<robot name="r"><link name="a"><collision><origin xyz="{0} {1} 0" rpy="{2} 0 0"/><geometry>'
    '<capsule radius="{3}" length="{4}"/></geometry></collision></link>'
    '<link name="b"><collision><geometry><cylinder radius="{5}" length="{6}"/></geometry>'
    '</collision></link>'
    '<link name="c"><collision><geometry><box size="{7} {8} 0.3"/></geometry></collision></link>'
    '<link name="d"><collision><geometry><sphere radius="{9}"/></geometry></collision></link>'
    '<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="{10} 3 0"/>'
    '<axis xyz="{11} 0 1"/><limit lower="-1" upper="{12}" effort="1" velocity="{13}"/></joint>'
    '<joint name="k" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0 3 0"/>'
    '<limit lower="{14}" upper="1e5" effort="1" velocity="1"/><mimic joint="j" multiplier="{15}" '
    'offset="{16}"/></joint><joint name="l" type="fixed"><parent link="c"/><child link="d"/>'
    '<origin xyz="0 3 0"/></joint></robot>'
)
USUAL = "0 0 0 0.1 0.3 0.1 0.3 0.3 0.3 0.1 0 0 1 1 -1 1 0".split()


@settings(
    max_examples=25, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(st.dictionaries(st.integers(0, NUMBERS - 1), EXTREMES, min_size=1, max_size=3))
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_extreme_numbers_give_finite_distances_or_an_error(where):
    values = list(USUAL)
    for k, value in where.items():
        values[k] = value
    try:
        model = CollisionModel.from_urdf(TEMPLATE.format(*values))
    except CollisionMonitorError:
        return
    for q in ([0.0], [0.5], [-1e5]):
        found = model.distance(q)
        assert np.isfinite(found.distance) and np.isfinite(found.points).all()
        assert np.linalg.norm(found.normal) == pytest.approx(1.0)
        assert np.isfinite(model.distances(q)).all()


def test_the_usual_numbers_load():
    assert len(CollisionModel.from_urdf(TEMPLATE.format(*USUAL)).pairs) >= 2


FAR = "123456789012345.678"
VALUE = float(FAR)


@pytest.fixture(scope="module")
def model():
    return CollisionModel.from_urdf(chain(4))


def sphere(**more):
    return {"obstacles": [{"name": "s", "type": "sphere", "radius": 0.1} | more]}


def hinge(**more):
    return {"joints": [{"name": "h", "type": "revolute", "axis": [0, 0, 1], "lower": 0.0,
                        "upper": 1.0} | more], **sphere(joint="h")}  # fmt: skip


def moved(x):
    pose = np.eye(4)
    pose[0, 3] = x
    return pose


def written(folder, name, text):
    (folder / name).write_text(text)
    return folder / name


CSV, YAML = "time,j1,j2,j3\n0,0,0,0\n1,{},0,0\n", (
    "joint_names: [j1, j2, j3]\npoints:\n"
    "- {{positions: [0, 0, 0], velocities: [0, 0, 0], time_from_start: {{sec: 1}}}}\n"
    "- {{positions: [{}, 0, 0], velocities: [{}, 0, 0], time_from_start: {{sec: 2}}}}\n"
)
STL = "solid a\nfacet normal 0 0 0\nouter loop\nvertex 0 0 0\nvertex {} 0 0\nvertex 0 1 0\n"
STL += "endloop\nendfacet\nendsolid a\n"
LEAVES = {f"l{k}": [{"p0": [0, 0, 0], "p1": [0, 0, 1], "radius": 0.1}] for k in range(4)}
CASES = {
    "urdf size": ("sphere radius", lambda m, d: load_robot(
        chain(4).replace('radius="0.', f'radius="{FAR}" was="', 1))),
    "urdf mesh": ("link 'a'", lambda m, d: load_robot(
        robot(link("a", f'<mesh filename="{written(d, "a.stl", STL.format(FAR))}"/>')))),
    "urdf joint": ("joint 'j'", lambda m, d: load_robot(robot(
        link("a", '<sphere radius="1"/>'), link("b"),
        joint("j", "a", "b", xyz=f"{FAR} 0 0")))),
    "mounted": ("position", lambda m, d: compose([Mounted(ROBOT, "a/", moved(VALUE))], "two")),
    "scene size": ("obstacles[0].sphere", lambda m, d: load_scene(sphere(radius=VALUE), ROBOT)),
    "scene place": ("obstacles[0].position", lambda m, d: load_scene(
        sphere(position=[0, VALUE, 0]), ROBOT)),
    "scene velocity": ("joints[0].velocity", lambda m, d: load_scene(hinge(velocity=VALUE), ROBOT)),
    "leaf": ("links.l1[0].p0, p1", lambda m, d: read_leaves({"links": LEAVES | {
        "l1": [{"p0": [VALUE, 0, 0], "p1": [0, 0, 0], "radius": 0.1}]}}, ROBOT)),
    "leaf radius": ("links.l1[0].radius", lambda m, d: read_leaves({"links": LEAVES | {
        "l1": [{"center": [0, 0, 0], "radius": VALUE}]}}, ROBOT)),
    "thresholds": ("warn", lambda m, d: load_thresholds(written(d, "t.yaml", f"warn: {FAR}\n"))),
    "pair thresholds": ("warn", lambda m, d: Monitor(m, warn_distance=VALUE)),
    "configuration": ("joint 'j1'", lambda m, d: m.distance([VALUE, 0.0, 0.0])),
    "configurations": ("row 1: joint 'j1'", lambda m, d: m.min_distances(
        np.array([[0.0] * 3, [-VALUE, 0.0, 0.0]]))),
    "many at once": ("row 0: joint 'j2'", lambda m, d: m.is_clear(np.array([[0.0, VALUE, 0.0]]))),
    "exact": ("joint 'j3'", lambda m, d: m.distance([0.0, 0.0, VALUE], exact=True)),
    "stamp": ("stamped", lambda m, d: Monitor(m).buffer.update(
        JointState(["j1", "j2", "j3"], (0.0, 0.0, 0.0), 1.0, VALUE))),
    "limits": ("max_velocity", lambda m, d: read_joint_limits(
        written(d, "l.yaml", f"joint_limits: {{j1: {{max_velocity: {FAR}}}}}\n"), ["j1"])),
    "csv": ("'j1'", lambda m, d: read_motion(written(d, "m.csv", CSV.format(FAR)))),
    "csv of verify": ("'j1'", lambda m, d: load_trajectory(
        written(d, "m.csv", CSV.format(FAR)), ROBOT)),
    "yaml": ("positions too large: 'j1'", lambda m, d: read_motion(
        written(d, "m.yaml", YAML.format(FAR, 0)))),
    "yaml rate": ("velocities too large: 'j1'", lambda m, d: load_trajectory(
        written(d, "m.yaml", YAML.format(0, FAR)), ROBOT)),
    "live size": ("ball: its size", lambda m, d: LiveScene(m).add(
        "ball", Shape("sphere", np.eye(4), (VALUE,)))),
    "live leaves": ("ball: its leaves", lambda m, d: LiveScene(m).add(
        "ball", np.full((1, 7), VALUE))),
    "live place": ("ball: its position", lambda m, d: LiveScene(m).add(
        "ball", Shape("sphere", np.eye(4), (0.1,)), None, moved(VALUE))),
    "joint state": ("position of joint 'j1'", lambda m, d: Monitor(m).buffer.update(
        JointState(["j1", "j2", "j3"], (VALUE, 0.0, 0.0), 1.0))),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_values_beyond_the_bounds_are_rejected_by_name(case, model, tmp_path):
    says, load = CASES[case]
    with pytest.raises(CollisionMonitorError) as caught:
        load(model, tmp_path)
    text = str(caught.value).replace(str(tmp_path), "")
    assert says in text and "1.23457e+14" in text, text
    assert not re.search(r"\d{7}", text), text


@pytest.mark.parametrize("size", [1e5, 1e150, 1e160, 1e308])
def test_sizes_that_overflow_are_refused_before_they_are_computed_with(model, size):
    scene = LiveScene(model)
    for kind, count in (("box", 3), ("sphere", 1), ("cylinder", 2), ("capsule", 2)):
        with pytest.raises(CollisionMonitorError, match="exceeds the maximum of 10000"):
            scene.add("far", Shape(kind, np.eye(4), (size,) * count))
    assert not scene.objects


def test_a_robot_far_away_in_its_world_has_a_short_message(model):
    scene = LiveScene(model)
    scene.add("far", Shape("sphere", np.eye(4), (9000.0,)), None, moved(-9999.123456))
    monitor = Monitor(model, live=scene)
    for k in range(3):
        state = monitor.update(["j1", "j2", "j3"], [0.1, 0.1, 0.1], now=1.0 + 0.1 * k)
    assert not re.search(r"\d{4}\.\d{3}|\d{7}", state.message), state.message


def test_kernels_have_the_same_bound():
    assert FARTHEST == LARGEST_OF_JOINT
