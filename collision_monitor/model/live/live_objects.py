# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Objects of a live scene, and the slots reserved for them in its packed model.

The packed model of a live scene has all links of the robot, and reserved slots for objects.
Searches of its tree find pairs with objects only. Leaves, in this order: moving leaves of the
robot, slots of carried objects, fixed leaves of the robot, slots of the other objects. Nodes, in
this order: the root of everything that moves (0), the robot's tree, slots for the trees of carried
objects and, behind the last one in use, the root of everything fixed; an empty node, the tree of
the robot's fixed leaves, slots for the tree over all objects, slots for their trees.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.hierarchy import object_slots
from collision_monitor.hierarchy.packed import View, pack, windows
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.robot.description import Shape

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# -- objects and the capacity of a scene --


@dataclass(frozen=True)
class Bounds:
    """Capacity of a live scene; an object that does not fit is an error, and is never omitted.

    Attributes:
        objects: maximum number at the same time.
        leaves_per_object: maximum number of capsules and spheres around one shape.
        voxels: maximum number of voxels of a point cloud.
        carried: maximum number of objects on moving links.
        carried_leaves: maximum number of leaves of all carried objects together.
        triangles: number of triangles of all meshes together for which exact distances have room;
            a mesh that does not fit is measured by its leaves.
    """

    objects: int = 200
    leaves_per_object: int = 16
    voxels: int = 2000
    carried: int = 16
    carried_leaves: int = 256
    triangles: int = 50_000


@dataclass(eq=False)
class LiveObject:
    """An object of a live scene.

    Attributes:
        name: its name in pairs.
        link: the link that carries it.
        pose: (4, 4) in the frame of that link.
        geometry: its leaves and shapes.
        touch: links and objects that it may touch.
        expires: time of a steady clock at which it is removed, seconds; inf for never.
    """

    name: str
    link: str
    pose: np.ndarray
    geometry: ObjectGeometry
    touch: frozenset[str] = frozenset()
    expires: float = math.inf
    body: int = 0
    slot: int = -1
    leaf: int = -1  # first leaf in the packed model
    node: int = -1  # root of its tree
    carrier: int = -1  # index among the objects on moving links
    # For each link, whether the object is checked against it.
    is_allowed: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @property
    def rows(self) -> np.ndarray:
        """(k, 7) its leaves in its own frame: end points and radius."""
        return self.geometry.rows

    @property
    def shape(self) -> Shape | None:
        """The object, in its own frame, if it is a single shape."""
        return self.geometry.shape

    @property
    def nodes(self) -> int:
        """Number of nodes of its tree."""
        return 2 * len(self.rows) - 1


# -- a packed model with reserved slots --


def rounded(count: int) -> int:
    """Smallest power of two that is at least ``count``."""
    return 1 << max(count - 1, 0).bit_length()


class Ranges:
    """Allocates ranges of an array of ``size`` places; sizes are rounded to powers of two."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.clear()

    def clear(self) -> None:
        """Free all ranges."""
        self._end = 0
        self._free: dict[int, list[int]] = {}

    def take(self, count: int) -> int:
        """Allocate ``count`` consecutive places; return the first, or -1 if none are free."""
        size = rounded(count)
        if free := self._free.get(size):
            return free.pop()
        if self._end + size > self.size:
            return -1
        first = self._end
        self._end += size
        return first

    def give_back(self, first: int, count: int) -> None:
        """Free the range that `take` returned for the same ``count``."""
        self._free.setdefault(rounded(count), []).append(first)


class Room:
    """The packed arrays, and the positions of leaves and nodes in them.

    Attributes:
        numbers, index: the packed model.
        leaf_links: (leaves,) link of each leaf; objects follow the links of the model.
        model_leaves: index of each leaf in ``model.leaves``; -1 in slots.
        own_pairs: number of the robot's own pairs, which come first.
    """

    def __init__(self, model: CollisionModel, bounds: Bounds) -> None:
        given = windows(*model.work_space())
        links, slots = len(model.link_names), bounds.objects + 1  # one is reserved for a cloud
        moving, fixed = given.moving_leaves, len(given.leaf_ends) - given.moving_leaves
        carried = bounds.carried_leaves
        self.live_leaves = (
            rounded(bounds.leaves_per_object) * bounds.objects + rounded(bounds.voxels)
        )
        leaves = moving + carried + fixed + self.live_leaves
        self.first_carried_leaf = moving
        self.first_fixed_leaf = moving + carried
        self.first_live_leaf = moving + carried + fixed
        self.first_carried_node = 1 + given.moving_nodes
        self.nothing = self.first_carried_node + 2 * carried + 1
        self.fixed_node = self.nothing + 1
        self.fixed_nodes = max(2 * fixed - 1, 0)
        self.top_node = self.fixed_node + self.fixed_nodes
        self.first_live_node = self.top_node + slots
        nodes = self.first_live_node + 2 * self.live_leaves
        words = -(-nodes // 64)

        def spread(rows: np.ndarray) -> np.ndarray:
            """Rows of the model's leaves, at their positions here."""
            out = np.zeros((leaves, rows.shape[1]), dtype=rows.dtype)
            out[:moving] = rows[:moving]
            out[self.first_fixed_leaf : self.first_live_leaf] = rows[moving:]
            return out

        tree = np.tile(np.array([-1, 0]), (nodes, 1))
        robot = given.nodes[: given.moving_nodes].copy()
        robot[robot[:, 0] >= 0] += 1
        tree[1 : self.first_carried_node] = robot
        still = given.nodes[given.moving_nodes :].copy()
        inner = still[:, 0] >= 0
        still[inner] += self.fixed_node - given.moving_nodes
        still[~inner, 1] += carried
        tree[self.fixed_node : self.top_node] = still
        tree[0] = 1, self.first_carried_node
        boxes = np.tile([np.inf] * 3 + [-np.inf] * 3, (nodes, 1))
        boxes[self.fixed_node : self.top_node] = given.boxes[given.moving_nodes :]
        link_rows = given.links.copy()
        link_rows[link_rows[:, 0] >= moving] += carried
        view = View(
            joint_table=given.joint_table,
            leaf_bodies=spread(given.leaf_bodies),
            nodes=tree,
            open_bits=np.zeros((self.nothing, words), dtype=np.int64),
            links=np.vstack([link_rows, np.zeros((slots, 2), dtype=np.int64)]),
            pairs=np.vstack([given.pairs, self._pairs(links, slots, bounds.carried)]),
            warm_start=given.warm_start * 0 - 1,
            joint_motion=given.joint_motion,
            placements=given.placements,
            poses=given.poses,
            leaf_ends=spread(given.leaf_ends),
            radii=spread(given.radii),
            ends=spread(given.leaf_ends),  # fixed leaves are placed already
            boxes=boxes,
            moving_leaves=moving,
            moving_nodes=self.first_carried_node + 1,
        )
        self.numbers, self.index = pack(view)
        self.view = windows(self.numbers, self.index)
        self.own_pairs = len(given.pairs)
        link_of = np.repeat(np.arange(links), np.diff(given.links, axis=1).ravel())
        self.leaf_links = spread(link_of.reshape(-1, 1)).ravel().astype(np.int64)
        ranks = np.arange(1, 1 + moving + fixed).reshape(-1, 1)
        self.model_leaves: list[int] = (spread(ranks).ravel() - 1).tolist()

    @staticmethod
    def _pairs(links: int, slots: int, carried: int) -> np.ndarray:
        """Pairs (pair numbers, 2) of each slot and link, then of each carrier and slot."""
        of_links = np.tile(np.arange(links), slots), links + np.repeat(np.arange(slots), links)
        pairs = np.zeros(((links + carried) * slots, 2), dtype=np.int64)
        pairs[: links * slots] = np.column_stack(of_links)
        return pairs

    def nodes_above(self, is_marked: np.ndarray, first: int, stop: int) -> np.ndarray:
        """Return (stop - first,) 0 or 1: nodes above leaves of links in ``is_marked`` (links,)."""
        out = np.empty(stop - first, dtype=np.uint8)
        object_slots.mark_above(self.numbers, self.index, self.leaf_links, is_marked, first, out)
        return out

    def open_fixed(self, row: int, count: int, is_marked: np.ndarray) -> None:
        """Mark fixed leaves of links in ``is_marked`` (links,) as checked for some rows."""
        bits = self.view.open_bits
        flags = np.zeros(64 * bits.shape[1], dtype=np.uint8)
        flags[self.fixed_node : self.top_node] = self.nodes_above(
            is_marked, self.fixed_node, self.top_node
        )
        bits[row : row + count] |= np.packbits(flags, bitorder="little").view(np.int64)

    def set_moving(self, leaves: int, nodes: int) -> None:
        """Set the number of carried leaves, and of the nodes above them."""
        moving_nodes = self.first_carried_node + max(nodes, 1)
        self.index[20] = self.first_carried_leaf + leaves
        self.index[21] = moving_nodes
        self.view = windows(self.numbers, self.index)

    def close_carried(self, above: int) -> None:
        """Mark no carried object as checked, and nodes above objects for all: those below decide.

        ``above``: number of nodes above the trees of carried objects.
        """
        first, moving_nodes = self.first_carried_node, self.view.moving_nodes
        nothing, everything = np.zeros((2, self.nothing), dtype=np.uint8)
        everything[:] = 1
        self.view.open_bits[first:] = 0
        object_slots.open_range(self.index, nothing, 0, moving_nodes, first, self.nothing - first)
        self.view.open_bits[0] = self.view.open_bits[first : first + above] = -1
        for node, count in (
            (first, above), (moving_nodes, 1), (self.top_node, self.first_live_node - self.top_node)
        ):  # fmt: skip
            if count:
                object_slots.open_range(self.index, everything, 0, moving_nodes, node, count)

    def set_roots(self, root: int) -> None:
        """Set the fixed trees: of all objects at ``root``, or -1, and of the robot."""
        node = self.view.moving_nodes
        self.view.nodes[node, 0] = self.nothing if root < 0 else root
        self.view.nodes[node, 1] = self.fixed_node if self.fixed_nodes else self.nothing
