# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Markers as obstacles, clouds as points, frames as links: message by message, without a graph."""

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
from support.geometry.shape_fit import outside
from support.robots.toys import chain

pytest.importorskip("rclpy", reason="rclpy is not installed")

from geometry_msgs.msg import Point, Pose, Quaternion, Vector3  # noqa: E402
from sensor_msgs.msg import PointField  # noqa: E402
from support.ros.obstacle_messages import cloud_message  # noqa: E402
from visualization_msgs.msg import Marker  # noqa: E402

from collision_monitor import CollisionModel  # noqa: E402
from collision_monitor.errors import LiveSceneError  # noqa: E402
from collision_monitor.nodes.obstacles.cloud import read_points  # noqa: E402
from collision_monitor.nodes.obstacles.message_shapes import (
    AT_ONCE,
    Frames,  # noqa: E402
    ManyTriangles,
    MeshFile,
    marker_name,
    marker_shape,
    plain_name,
    pose_of,
)
from collision_monitor.nodes.obstacles.scene_objects import MeshWorker  # noqa: E402


def of(kind, x=0.2, y=0.2, z=0.2, **more):
    return Marker(type=kind, scale=Vector3(x=x, y=y, z=z), **more)


def some_points(count, seed=0):
    rows = np.random.default_rng(seed).uniform(-1, 1, (count, 3))
    return rows, [Point(x=x, y=y, z=z) for x, y, z in rows.tolist()]


def finish(jobs, taken):
    """Wait for the worker, and take what it made."""
    end = time.monotonic() + 60.0
    while jobs.names and time.monotonic() < end:
        jobs.done(taken.__setitem__)
        time.sleep(0.01)
    assert not jobs.names


def test_bodies_have_their_lengths():
    box = marker_shape(of(Marker.CUBE, 0.1, 0.2, 0.3), 8)
    assert (box.kind, box.size) == ("box", (0.1, 0.2, 0.3))
    ball = marker_shape(of(Marker.SPHERE, 0.1, 0.4, 0.3), 8)
    assert (ball.kind, ball.size) == ("sphere", (0.2,))  # around the ellipsoid
    cylinder = marker_shape(of(Marker.CYLINDER, 0.1, 0.4, 0.3), 8)
    assert (cylinder.kind, cylinder.size) == ("cylinder", (0.2, 0.3))
    mesh = marker_shape(of(Marker.MESH_RESOURCE, 1.0, 2.0, 3.0, mesh_resource="package://a/b"), 8)
    assert mesh == MeshFile("package://a/b", (1.0, 2.0, 3.0))


def test_lists_enclose_all_that_is_in_them():
    rows, points = some_points(40)
    signs = np.array(np.meshgrid(*[[-0.5, 0.5]] * 3)).reshape(3, -1).T
    cubes = marker_shape(of(Marker.CUBE_LIST, 0.1, 0.2, 0.3, points=points), 8)
    corners = (rows[:, None] + signs * [0.1, 0.2, 0.3]).reshape(-1, 3)
    assert outside(cubes.rows, corners) <= 1e-12
    np.testing.assert_allclose(cubes.solids.rows[:, :3], [[0.05, 0.1, 0.15]] * 40)
    np.testing.assert_allclose(cubes.solids.places[:, :3, 3], rows)
    balls = marker_shape(of(Marker.SPHERE_LIST, 0.1, 0.2, 0.3, points=points), 8)
    np.testing.assert_allclose(balls.rows[:, :3], rows)
    assert (balls.rows[:, 6] == 0.15).all()


def test_triangles_are_scaled_and_many_of_them_take_their_time():
    rows, points = some_points(30)
    found = marker_shape(of(Marker.TRIANGLE_LIST, 2.0, 3.0, 0.5, points=points), 8)
    assert outside(found.rows, rows * [2.0, 3.0, 0.5]) <= 1e-12
    (mesh,) = found.meshes
    np.testing.assert_allclose(mesh.vertices[mesh.triangles].reshape(-1, 3), rows * [2.0, 3.0, 0.5])
    rows, points = some_points(3 * AT_ONCE + 3)
    found = marker_shape(of(Marker.TRIANGLE_LIST, 1.0, 1.0, 1.0, points=points), 8)
    assert isinstance(found, ManyTriangles)
    assert outside(found.coarse.rows, rows) <= 1e-12
    jobs, taken = MeshWorker((), 8), {}
    jobs.start("a", found)
    finish(jobs, taken)
    assert outside(taken["a"].rows, rows) <= 1e-12
    assert len(taken["a"].rows) <= 8
    assert len(taken["a"].meshes[0].triangles) == AT_ONCE + 1


def test_a_job_that_cannot_be_done_says_why():
    jobs, taken = MeshWorker((), 8), {}
    jobs.start("a", MeshFile("gone.stl", (1.0, 1.0, 1.0)))
    jobs.start("b", MeshFile("http://far/away.stl", (1.0, 1.0, 1.0)))
    jobs.cancel("c")
    finish(jobs, taken)
    assert "no file 'gone.stl'" in str(taken["a"])
    assert "nothing is fetched over the network" in str(taken["b"])
    assert jobs.known(MeshFile("gone.stl", (1.0, 1.0, 1.0))) is None


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (of(Marker.CUBE, 0.0), "its scale is"),
        (of(Marker.SPHERE, -0.1), "its scale is"),
        (of(Marker.CYLINDER, math.nan), "its scale is"),
        (of(Marker.ARROW), "type 0 is not supported"),
        (of(77), "type 77 is not supported"),
        (of(Marker.CUBE_LIST), "no points"),
        (of(Marker.TRIANGLE_LIST), "no points"),
        (of(Marker.TRIANGLE_LIST, points=[Point()] * 5), "5 points, which is not a multiple of 3"),
        (of(Marker.SPHERE_LIST, points=[Point(x=math.inf)]), "not finite"),
        (of(Marker.SPHERE_LIST, points=[Point(x=1.5e150)]), r"point coordinate 1.5e\+150 exceeds"),
        (of(Marker.CUBE, 1e160), r"its scale is \(1e\+160, .*: 1e\+160 exceeds the maximum"),
        (of(Marker.MESH_RESOURCE, 2e4), "20000 exceeds the maximum"),
        (of(Marker.TRIANGLE_LIST, 5e3, points=[Point(x=5.0)] * 3), "scaled point coordinate 25000"),
    ],
)
def test_what_is_no_body_is_refused(bad, why):
    with pytest.raises(LiveSceneError, match=why):
        marker_shape(bad, 8)


def test_poses():
    assert np.array_equal(pose_of(Pose(orientation=Quaternion(w=0.0))), np.eye(4))
    turned = pose_of(Pose(orientation=Quaternion(z=math.sqrt(0.5), w=math.sqrt(0.5))))
    np.testing.assert_allclose(turned[:3, :3] @ [1, 0, 0], [0, 1, 0], atol=1e-12)
    for bad, why in ((Quaternion(x=math.nan), "not finite"), (Quaternion(w=2.0), "length 2")):
        with pytest.raises(LiveSceneError, match=why):
            pose_of(Pose(orientation=bad))
    with pytest.raises(LiveSceneError, match=r"its position: 1e\+30 exceeds the maximum"):
        pose_of(Pose(position=Point(y=-1e30)))


def test_names_have_no_spaces_and_stay_different():
    assert marker_name(Marker(ns="cell", id=3)) == "cell/3"
    names = ["a b", "a%20b", "a\tb", "a_b", "a\nb", "ab"]
    plain = [plain_name(name) for name in names]
    assert len(set(plain)) == len(names)
    assert all(name == "".join(name.split()) for name in plain)


@pytest.mark.parametrize("kind", ["<f4", ">f4", "<f8", ">f8"])
@pytest.mark.parametrize(("gap", "width"), [(0, None), (4, 3), (20, 2)])
def test_points_are_read_however_they_lie(kind, gap, width):
    rows = np.random.default_rng(0).uniform(-3, 3, (12, 3))
    rows[3] = np.nan
    found = read_points(cloud_message(rows, kind=kind, gap=gap, width=width))
    np.testing.assert_allclose(found, rows.astype(np.dtype(kind)).astype(float))
    assert found.dtype == np.float64
    assert read_points(cloud_message(rows[:0], kind=kind)).shape == (0, 3)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"fields": []}, "no field 'x'"),
        ({"fields": [PointField(name="x", datatype=PointField.UINT8)]}, "no field 'x'"),
        ({"point_step": 8}, "exceeds the point step"),
        ({"height": 2}, "are not"),
        ({"row_step": 5}, "are not"),
        ({"width": 0}, "48 bytes of data, but 1 x 0 points"),
        ({"fields": [PointField(name="x", datatype=PointField.FLOAT32)] * 2}, "2 fields 'x'"),
    ],
)
def test_clouds_that_do_not_add_up_are_refused(more, why):
    with pytest.raises(LiveSceneError, match=why):
        read_points(cloud_message(np.zeros((4, 3)), **more))


class Buffer:
    """What tf2 would say."""

    def lookup_transform(self, target, source, time):
        rotations = {"map": Quaternion(z=1.0, w=0.0), "unturned": Quaternion(w=0.0)}
        if source not in rotations:
            raise LookupError(f"{source} does not exist")
        return SimpleNamespace(
            transform=SimpleNamespace(
                translation=Vector3(x=1.0, y=2.0, z=3.0), rotation=rotations[source]
            )
        )


def test_frames_are_links_or_what_tf_knows():
    model = CollisionModel.from_urdf(chain(3))
    without, with_tf = Frames(None), Frames(Buffer())
    for frames in (without, with_tf):
        link, pose = frames.find("/l2", model)
        assert link == "l2"
        np.testing.assert_array_equal(pose, np.eye(4))
        with pytest.raises(LiveSceneError, match="frame_id is empty"):
            frames.find("", model)
    with pytest.raises(LiveSceneError, match="'map' is not a link of 'toy'; other .* tf2_ros"):
        without.find("map", model)
    link, pose = with_tf.find("map", model)
    assert link == "l0"
    np.testing.assert_allclose(pose[:3, 3], [1, 2, 3])
    np.testing.assert_allclose(pose[:3, :3], np.diag([-1, -1, 1]), atol=1e-12)
    with pytest.raises(LiveSceneError, match="tf2 has no transform to 'l0': moon does not exist"):
        with_tf.find("moon", model)
    with pytest.raises(LiveSceneError, match="'unturned': .* tf2: its quaternion has length 0 "):
        with_tf.find("unturned", model)
