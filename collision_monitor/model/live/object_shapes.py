# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Exact distances between the shapes of links and the objects of a live scene."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.hierarchy.clearance import Clearance
from collision_monitor.mesh_distance import parts
from collision_monitor.mesh_distance.mesh_distance import (
    ExactDistance,
    ExactShapes,
    LinkShapes,
    ball_around,
    pose_rows,
)
from collision_monitor.mesh_distance.parts import (
    balls_of_solids,
    parts_of,
    solid_row,
    volumes_of_solids,
)
from collision_monitor.model.live.live_object import Bounds, LiveObject
from collision_monitor.robot.description import Shape

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


class ObjectShapes:
    """The links of a robot, followed by a reserved slot of convex solids for each object.

    Boxes, cylinders, spheres and capsules are measured as they are; meshes and clouds as their
    leaves, which enclose them.
    """

    def __init__(
        self,
        model: CollisionModel,
        bounds: Bounds,
        packed: tuple[np.ndarray, np.ndarray],
        leaf_links: np.ndarray,
        pairs: np.ndarray,
        names: Callable[[int], tuple[str, str]],
    ) -> None:
        """Build everything, and compile the queries.

        Args:
            model: the robot.
            bounds: of the scene.
            packed: arrays of `hierarchy.packed` with the leaves of links and objects.
            leaf_links: (leaves,) link of each leaf; objects are links behind those of the model.
            pairs: (p, 2) links and slots of each pair; the scene changes those of two objects.
            names: of the two of a pair.
        """
        free = parts_of([Shape("sphere", np.eye(4), (1.0,))], model.exact_shapes.hierarchy)
        room = [bounds.voxels] + [bounds.leaves_per_object] * bounds.objects
        slots = {
            f"slot {k}": LinkShapes((), 0, np.eye(4), free * count) for k, count in enumerate(room)
        }
        links = model.exact_shapes.links()
        shapes = ExactShapes({**links, **slots}, leaf_links, model.exact_shapes.hierarchy)
        # Weak: memory in a circle would wait for a search before it is free.
        refusal, names = weakref.WeakMethod(model.refusal), weakref.WeakMethod(names)
        self._exact = ExactDistance(
            shapes, packed, pairs, lambda k: names()(k), lambda code, q: refusal()(code, q)
        )
        self._pairs = pairs
        self._leaf_links, self._first_slot, self._kind = leaf_links, len(links), shapes.hierarchy
        numbers, index = shapes.arrays()
        self._shapes = parts.windows(numbers, index)
        self._shapes.links[self._first_slot :, 2] = 0  # nothing is there
        self._first_part = int(self._shapes.links[self._first_slot, 1])
        # The trees of the slots are alike, one behind another; each begins with its volume.
        first, size = self._shapes.parts[self._first_part, 1], len(free[0].tree[0])
        columns = volumes_of_solids(self._kind, free[0].solid[None]).shape[1]
        count = sum(room)
        self._volumes = numbers[first : first + size * count].reshape(count, size)[:, :columns]

    def put(self, thing: LiveObject, pose: np.ndarray) -> None:
        """Write an object, at ``pose`` (4, 4) in the frame of its body."""
        shapes, row = self._shapes, self._first_slot + thing.slot
        first = int(shapes.links[row, 1])
        shapes.frames[row] = pose_rows(pose[None])
        solids, places = _solids_of(thing)
        parts = slice(first, first + len(solids))
        rows = pose_rows(places)
        if shapes.links[row, 2] != len(solids) or not (
            (shapes.solids[parts] == solids).all() and (shapes.places[parts] == rows).all()
        ):
            shapes.solids[parts], shapes.places[parts] = solids, rows
            shapes.balls[parts] = balls_of_solids(solids, places[:, :3, 3])
            shapes.probes[shapes.parts[parts, 6]] = places[:, :3, 3]
            shapes.link_balls[row] = ball_around(shapes.balls[parts])
            self._volumes[first - self._first_part :][: len(solids)] = volumes_of_solids(
                self._kind, solids
            )
            self.forget((self._pairs[:, 0] == row) | (self._pairs[:, 1] == row))
        shapes.links[row] = thing.body, first, len(solids)

    def use_pairs(self, table: np.ndarray) -> None:
        """Take over the numbers of pairs, and which leaves are whose."""
        parts.pair_table(self._exact.state[1])[:] = table
        self._shapes.leaf_links[:, 0] = self._leaf_links

    def forget(self, which: np.ndarray | slice) -> None:
        """Know nothing of some pairs, because they are others."""
        parts.forget_pairs(*self._exact.state, which)

    def nearest(self, q: np.ndarray) -> Clearance:
        """The nearest pair; in contact, the deepest by its leaves."""
        return self._exact.nearest(q, depth=False)

    def bound(
        self, q: np.ndarray, pairs: np.ndarray, leaves: np.ndarray, within: float | np.ndarray,
        loose: float, seconds: float,
    ) -> np.ndarray:  # fmt: skip
        """As `CollisionModel.exact_bounds`."""
        return self._exact.bound(q, pairs, leaves, within, loose, seconds)


def _solids_of(thing: LiveObject) -> tuple[np.ndarray, np.ndarray]:
    """(k, 5) solids as of `geometry.convex`, and their poses (k, 4, 4) in the object's frame."""
    if thing.shape is not None and thing.shape.kind != "mesh":
        return solid_row(thing.shape)[None], thing.shape.pose[None]
    rows = thing.rows
    along = rows[:, 3:6] - rows[:, :3]
    lengths = np.linalg.norm(along, axis=1)
    solids = np.zeros((len(rows), 5))
    solids[:, 2], solids[:, 4] = 0.5 * lengths, rows[:, 6]
    poses = np.tile(np.eye(4), (len(rows), 1, 1))
    poses[:, :3, 3] = 0.5 * (rows[:, :3] + rows[:, 3:6])
    long = lengths > 0.0
    z = along[long] / lengths[long, None]
    # Any two directions across: the first is that of the axis which is least along z.
    x = np.cross(np.eye(3)[np.abs(z).argmin(axis=1)], z)
    x /= np.linalg.norm(x, axis=1)[:, None]
    poses[long, :3, :3] = np.stack([x, np.cross(z, x), z], axis=2)
    return solids, poses
