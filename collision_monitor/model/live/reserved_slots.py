# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A packed model of a robot with reserved slots for objects; only pairs with objects are checked.

Leaves, in this order: moving leaves of the robot, slots of carried objects, fixed leaves of the
robot, slots of the other objects. Nodes, in this order: the root of everything that moves (0), the
robot's tree, slots for the trees of carried objects and, behind the last one in use, the root of
everything fixed; an empty node, the tree of the robot's fixed leaves, slots for the tree over all
objects, slots for their trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.hierarchy import object_slots
from collision_monitor.hierarchy.packed import View, pack, windows
from collision_monitor.model.live.live_object import Bounds

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel


def rounded(count: int) -> int:
    """The least power of two that is no less than ``count``."""
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
        """Allocate ``count`` places in a row: the first one, or -1 if no such range is free."""
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
    """The arrays, and the places of leaves and nodes in them.

    Attributes:
        numbers, index: the packed model.
        leaf_links: (leaves,) link of each leaf; objects are links behind those of the model.
    """

    def __init__(self, model: CollisionModel, bounds: Bounds) -> None:
        given = windows(*model.work_space())
        links, slots = len(model.link_names), bounds.objects + 1  # one is that of a cloud
        moving, fixed = given.moving_leaves, len(given.leaf_ends) - given.moving_leaves
        carried = bounds.carried_leaves
        self.live_leaves = (
            rounded(bounds.leaves_per_object) * bounds.objects + rounded(bounds.voxels)
        )
        leaves = moving + carried + fixed + self.live_leaves
        self.robot_nodes = given.moving_nodes
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
            """Rows of the model's leaves, at their places."""
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
            pairs=self._pairs(links, slots, bounds.carried),
            warm_start=given.warm_start * 0 - 1,
            joint_motion=given.joint_motion,
            placements=given.placements,
            poses=given.poses,
            leaf_ends=spread(given.leaf_ends),
            radii=spread(given.radii),
            ends=spread(given.leaf_ends),  # what stands still is there already
            boxes=boxes,
            moving_leaves=moving,
            moving_nodes=self.first_carried_node + 1,
        )
        self.numbers, self.index = pack(view)
        self.view = windows(self.numbers, self.index)
        link_of = np.repeat(np.arange(links), np.diff(given.links, axis=1).ravel())
        self.leaf_links = spread(link_of.reshape(-1, 1)).ravel().astype(np.int64)

    @staticmethod
    def _pairs(links: int, slots: int, carried: int) -> np.ndarray:
        """(pair numbers, 2) of each slot and link, followed by those of each carrier and slot."""
        of_links = np.tile(np.arange(links), slots), links + np.repeat(np.arange(slots), links)
        pairs = np.zeros(((links + carried) * slots, 2), dtype=np.int64)
        pairs[: links * slots] = np.column_stack(of_links)
        return pairs

    def nodes_above(self, is_marked: np.ndarray, first: int, stop: int) -> np.ndarray:
        """(stop - first,) 0 or 1: nodes with leaves of links of the model marked (links,) below."""
        out = np.empty(stop - first, dtype=np.uint8)
        object_slots.mark_above(self.numbers, self.index, self.leaf_links, is_marked, first, out)
        return out

    def set_moving(self, leaves: int, nodes: int) -> None:
        """So many carried leaves there are, and nodes over them."""
        moving_nodes = self.first_carried_node + max(nodes, 1)
        self.index[20] = self.first_carried_leaf + leaves
        self.index[21] = moving_nodes
        self.view = windows(self.numbers, self.index)

    def set_roots(self, root: int) -> None:
        """What stands still: the tree over all objects at ``root``, or -1, and the robot's."""
        self.view.warm_start[:] = -1  # one of the nearest two may be gone
        node = self.view.moving_nodes
        self.view.nodes[node, 0] = self.nothing if root < 0 else root
        self.view.nodes[node, 1] = self.fixed_node if self.fixed_nodes else self.nothing
