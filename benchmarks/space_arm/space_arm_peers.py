# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Other methods for the same bodies: all pairs of leaves, boxes, and triangles in boxes.

Every one answers for the pairs of links that the model checks, kinematics included, in one
compiled call from Python. All pairs of leaves use the model's own arrays and kernels, without a
tree, in two forms. The plain form measures every pair of leaves. The form with filters also has
what the tree's distance query has besides the tree: the warm start (the nearest pair of the last
query is measured first) and the comparison of bounding balls before a pair is measured. For
contacts only the balls apply; the tree's own contact query has neither. The other peers are
pinocchio's loop over coal's pairs.
"""

from __future__ import annotations

from collections.abc import Callable

import coal
import numpy as np
import pinocchio as pin
import trimesh
from space_arm.box_trees import ROOM, box_tree

from collision_monitor import CollisionModel
from collision_monitor.common.compiled import kernel
from collision_monitor.fitting.bounding_shapes import fit_box
from collision_monitor.fitting.fitter import given_leaves
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.geometry.segments import capsule_distance, capsule_witness
from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.kinematics import first_bad, forward_kinematics, place_leaves
from collision_monitor.hierarchy.link_balls import surely_farther
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import Clearance
from collision_monitor.model.leaf_queries import require_length
from collision_monitor.robot.description import Shape

Query = Callable[[np.ndarray], object]
_SECTIONS = 48  # sides of the prism of triangles that stands for a cylinder


@kernel
def _all_pairs_distance(numbers, index, q, warm_start, filters):
    """What `hierarchy.query.distance` returns, from every checked pair of leaves in turn.

    ``filters``: with the comparison of balls, and with the pair in ``warm_start`` (1, 2) first.
    """
    if first_bad(q) >= 0:
        return -2, -1, np.nan, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    best, best_i, best_j = np.inf, -1, -1
    if filters and warm_start[0, 0] >= 0:
        best_i, best_j = warm_start[0, 0], warm_start[0, 1]
        best = capsule_distance(view.ends, view.radii, best_i, best_j)
    for p in range(len(view.pairs)):
        a, b = view.pairs[p, 0], view.pairs[p, 1]
        for i in range(view.links[a, 0], view.links[a, 1]):
            for j in range(view.links[b, 0], view.links[b, 1]):
                if filters and surely_farther(view.ends, view.reaches, i, j, best):
                    continue
                distance = capsule_distance(view.ends, view.radii, i, j)
                if distance < best:
                    best, best_i, best_j = distance, i, j
    warm_start[0, 0], warm_start[0, 1] = best_i, best_j
    d, ax, ay, az, bx, by, bz, nx, ny, nz = capsule_witness(view.ends, view.radii, best_i, best_j)
    return best_i, best_j, d, ax, ay, az, bx, by, bz, nx, ny, nz


@kernel
def _all_pairs_contacts(numbers, index, q, margin, found, filters):
    """What `hierarchy.query.contacts` returns, from every checked pair of leaves in turn."""
    if first_bad(q) >= 0:
        return -2
    view = unpack(numbers, index)
    forward_kinematics(view, q)
    place_leaves(view, view.moving_leaves)
    count = 0
    for p in range(len(view.pairs)):
        a, b = view.pairs[p, 0], view.pairs[p, 1]
        for i in range(view.links[a, 0], view.links[a, 1]):
            for j in range(view.links[b, 0], view.links[b, 1]):
                if filters and surely_farther(view.ends, view.reaches, i, j, margin):
                    continue
                if capsule_distance(view.ends, view.radii, i, j) < margin:
                    if count < len(found):
                        found[count, 0], found[count, 1] = i, j
                    count += 1
    return count


def all_pairs_distance(model: CollisionModel, filters: bool) -> Query:
    """As `CollisionModel.distance`, checks of the argument and result included; no tree."""
    links = [leaf.link for leaf in model.leaves]
    compiled = compiled_distance(model, filters)

    def ask(q: np.ndarray) -> Clearance:
        result = compiled(model.configuration(q))
        i, j = result[0], result[1]
        if i < 0:
            raise model.refusal(i, q)
        return Clearance(result[2], (links[i], links[j]), result[3:9], result[9:], (i, j))

    return ask


def all_pairs_contacts(model: CollisionModel, margin: float, filters: bool) -> Query:
    """As `CollisionModel.contacts`; no tree."""
    (numbers, index), pairs = model.work_space(), np.empty((ROOM, 2), dtype=np.int64)

    def ask(q: np.ndarray) -> list[tuple[int, int]]:
        require_length(margin)
        q = model.configuration(q)
        count = _all_pairs_contacts(numbers, index, q, float(margin), pairs, filters)
        if count < 0:
            raise model.refusal(count, q)
        return pairs_found(count, pairs)

    return ask


def compiled_distance(model: CollisionModel, filters: bool) -> Query:
    """The compiled call of `all_pairs_distance` alone."""
    (numbers, index), warm_start = model.work_space(), np.array([[-1, -1]])
    return lambda q: _all_pairs_distance(numbers, index, q, warm_start, filters)


def compiled_contacts(model: CollisionModel, margin: float, filters: bool) -> Query:
    """The compiled call of `all_pairs_contacts` alone."""
    (numbers, index), found = model.work_space(), np.empty((ROOM, 2), dtype=np.int64)
    return lambda q: _all_pairs_contacts(numbers, index, q, margin, found, filters)


def body_links(model: CollisionModel) -> list[str]:
    """The link of every shape: of the bodies of `box_tree_contacts`."""
    return [name for name in model.link_names for _ in model.robot.links[name].shapes]


def bodies_of(model: CollisionModel) -> CollisionModel:
    """The model, or one of the same pairs with a leaf for each shape, where links have several.

    The trees of boxes have a box for each shape, however many leaves the model has.

    Raises:
        RuntimeError: the two models do not check the same pairs.
    """
    if [leaf.link for leaf in model.leaves] == body_links(model):
        return model
    leaves = given_leaves(model.robot, FitSettings(), fit="published")
    bodies = CollisionModel(model.robot, model.semantics, model.scene, leaves=leaves)
    if bodies.pairs != model.pairs:
        raise RuntimeError("with a leaf for each shape other pairs are checked")
    return bodies


def box_tree_contacts(model: CollisionModel, margin: float, oriented: bool) -> tuple[Query, Query]:
    """A tree of boxes (`box_trees.py`): as `CollisionModel.contacts`, and its compiled call.

    ``model``: of `bodies_of`. Pairs are those of shapes, as indices into `body_links`.
    """
    compiled = box_tree(model, margin, oriented, lambda shape: fit_box(_outline(shape)))

    def ask(q: np.ndarray) -> list[tuple[int, int]]:
        require_length(margin)
        found, count = compiled(model.configuration(q))
        if count < 0:
            raise model.refusal(count, q)
        return pairs_found(count, found)

    return ask, compiled


def pairs_found(count: int, found: np.ndarray) -> list[tuple[int, int]]:
    """The first ``count`` rows.

    Raises:
        RuntimeError: the buffer is too small.
    """
    if count > len(found):
        raise RuntimeError(f"more than {len(found)} pairs at once: raise ROOM")
    return list(map(tuple, found[:count].tolist()))


def compiled_tree(model: CollisionModel, margin: float) -> tuple[Query, Query]:
    """The compiled calls of the tree alone: for distance, for contacts."""
    (numbers, index), found = model.work_space(), np.empty((ROOM, 2), dtype=np.int64)
    return (
        lambda q: query.distance(numbers, index, q),
        lambda q: query.contacts(numbers, index, q, margin, found),
    )


def _outline(shape: Shape) -> np.ndarray:
    """Points with the oriented box of a shape: of what is round, the corners of its exact box."""
    if shape.kind == "mesh":
        return np.asarray(shape.vertices, dtype=float)
    sides = np.array(shape.size)
    if shape.kind != "box":
        across, ball = 2.0 * shape.size[0], 2.0 * shape.size[0] * (shape.kind != "cylinder")
        sides = np.array([across, across, sum(shape.size[1:]) + ball])
    return np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T * sides


def triangles(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    """(vertices, triangles) of a shape in its own frame."""
    if shape.kind == "mesh":
        return np.asarray(shape.vertices, dtype=float), np.asarray(shape.triangles)
    if shape.kind == "cylinder":
        radius, length = shape.size
        mesh = trimesh.creation.cylinder(radius, height=length, sections=_SECTIONS)
    else:
        mesh = trimesh.creation.icosphere(2, *shape.size)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def bvh(shape: Shape, kind: type) -> tuple[object, np.ndarray]:
    """(coal's hierarchy of ``kind`` over the triangles, pose in the link)."""
    vertices, faces = triangles(shape)
    tree = kind()
    tree.beginModel(len(faces), len(vertices))
    tree.addVertices(vertices)
    tree.addTriangles(np.asarray(faces, dtype=np.int32))
    tree.endModel()
    return tree, shape.pose


def box(shape: Shape) -> tuple[object, np.ndarray]:
    """(coal's box, pose in the link): the oriented box of a shape."""
    oriented = fit_box(triangles(shape)[0])
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = oriented.axes, oriented.center
    if np.linalg.det(oriented.axes) < 0.0:
        pose[:3, 0] *= -1.0
    return coal.Box(*oriented.extents), shape.pose @ pose


class Peer:
    """Bodies of coal on the robot of pinocchio; ``pairs`` are the names of links at each."""

    def __init__(
        self,
        model: CollisionModel,
        urdf: str,
        body: Callable[[Shape], tuple[object, np.ndarray]],
        margin: float = 0.0,
    ) -> None:
        """``margin``: bodies nearer than that count as contacts, metres."""
        self._model = pin.buildModelFromUrdf(urdf)
        self._data = self._model.createData()
        self._geometry = pin.GeometryModel()
        columns = [self._model.joints[self._model.getJointId(n)].idx_q for n in model.joint_names]
        if columns != list(range(len(columns))):
            raise RuntimeError("pinocchio has the joints in another order")
        bodies: dict[str, list[int]] = {}
        for name, link in model.robot.links.items():
            frame = self._model.frames[self._model.getFrameId(name, pin.FrameType.BODY)]
            for shape in link.shapes:
                made, pose = body(shape)
                place = frame.placement * pin.SE3(pose)
                own = bodies.setdefault(name, [])
                item = pin.GeometryObject(f"{name}/{len(own)}", frame.parentJoint, place, made)
                own.append(self._geometry.addGeometryObject(item))
        self.pairs: list[tuple[str, str]] = []
        for a, b in model.pairs:
            for i in bodies[a]:
                for j in bodies[b]:
                    self._geometry.addCollisionPair(pin.CollisionPair(i, j))
                    self.pairs.append((a, b))
        self._results = pin.GeometryData(self._geometry)
        for request in self._results.collisionRequests:
            request.security_margin = margin

    def measure(self, q: np.ndarray) -> None:
        """Distances of all pairs."""
        pin.computeDistances(self._model, self._data, self._geometry, self._results, q)

    def test(self, q: np.ndarray) -> bool:
        """Whether any pair is closer than the margin; all pairs are checked."""
        return pin.computeCollisions(
            self._model, self._data, self._geometry, self._results, q, False
        )

    def least_distance(self, q: np.ndarray) -> float:
        """The smallest distance of all pairs."""
        self.measure(q)
        return min(result.min_distance for result in self._results.distanceResults)

    def contacts(self, q: np.ndarray) -> set[tuple[str, str]]:
        """Pairs of links nearer than the margin."""
        self.test(q)
        results = self._results.collisionResults
        return {p for p, r in zip(self.pairs, results, strict=True) if r.isCollision()}
