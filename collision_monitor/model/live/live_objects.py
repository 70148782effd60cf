# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Objects of a live scene, and the slots reserved for them in its packed model.

The packed model of a live scene has all links of the robot, and reserved slots for objects.
Every object has a tree of its own, and searches are over pairs of trees: each object with the
robot's moving tree, a carried one with the robot's fixed tree and the other objects, too. Leaves,
in this order: moving leaves of the robot, slots of carried objects, fixed leaves of the robot,
slots of the other objects; their trees are in the same order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from collision_monitor.common.settings import check_settings, setting
from collision_monitor.errors import LiveSceneError
from collision_monitor.hierarchy.packed import View, gathered, pack, set_content, windows
from collision_monitor.model.live.object_geometry import ObjectGeometry
from collision_monitor.robot.description import Shape

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel

# -- objects and the capacity of a scene --


@dataclass(frozen=True)
class Bounds:
    """Capacity of a live scene; an object that does not fit is an error, and is never omitted.

    Raises:
        LiveSceneError: a value is out of its range.
    """

    # fmt: off
    objects: int = setting(
        200, "maximum number of objects on ~/scene; further objects are rejected and reported as "
        "ERROR", most=2000)
    leaves_per_object: int = setting(
        16, "maximum number of capsules and spheres per object of ~/scene", most=64)
    voxels: int = setting(
        2000, "maximum number of voxels of ~/cloud; if exceeded, the voxel size is doubled",
        most=20000)
    carried: int = setting(16, "maximum number of objects on moving links", least=1)
    carried_leaves: int = setting(
        256, "maximum number of leaves of all carried objects together", least=1)
    triangles: int = setting(
        50000, "number of triangles of all meshes on ~/scene for which exact distances have room; "
        "meshes that do not fit are measured by their leaves", most=1000000)
    # fmt: on

    def __post_init__(self) -> None:
        """Check all values."""
        check_settings(self, LiveSceneError)


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
        view: its windows, with room for all searches.
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
        self.first_carried_node = given.moving_nodes
        self.fixed_node = self.first_carried_node + 2 * carried
        fixed_nodes = len(given.nodes) - given.moving_nodes
        self.first_live_node = self.fixed_node + fixed_nodes
        nodes = self.first_live_node + 2 * self.live_leaves
        # Bits: of each moving node of the robot, of each slot, and of each fixed node.
        self._rows = given.moving_nodes + slots
        words = max(-(-(self._rows + fixed_nodes) // 64), 1)

        def spread(rows: np.ndarray) -> np.ndarray:
            """Rows of the model's leaves, at their positions here."""
            out = np.zeros((leaves, rows.shape[1]), dtype=rows.dtype)
            out[:moving] = rows[:moving]
            out[self.first_fixed_leaf : self.first_live_leaf] = rows[moving:]
            return out

        tree = np.tile(np.array([-1, 0, 0]), (nodes, 1))
        tree[: given.moving_nodes] = given.nodes[: given.moving_nodes]
        still = given.nodes[given.moving_nodes :].copy()
        inner = still[:, 0] >= 0
        still[inner, :2] += self.fixed_node - given.moving_nodes
        still[~inner, 1] += carried
        still[:, 2] = self._rows + np.arange(fixed_nodes)
        tree[self.fixed_node : self.first_live_node] = still
        boxes = np.tile([np.inf] * 3 + [-np.inf] * 3, (nodes, 1))
        boxes[self.fixed_node : self.first_live_node] = given.boxes[given.moving_nodes :]
        link_rows = given.links.copy()
        link_rows[link_rows[:, 0] >= moving] += carried
        view = View(
            joint_table=given.joint_table,
            leaf_bodies=spread(given.leaf_bodies),
            nodes=tree,
            open_bits=np.zeros((self._rows, words), dtype=np.int64),
            links=np.vstack([link_rows, np.zeros((slots, 2), dtype=np.int64)]),
            pairs=np.vstack([given.pairs, self._pairs(links, slots, bounds.carried)]),
            searches=np.zeros(((slots + 1) * (bounds.carried + 1), 2), dtype=np.int64),
            warm_start=given.warm_start * 0 - 1,
            joint_motion=given.joint_motion,
            placements=given.placements,
            poses=given.poses,
            leaf_ends=spread(given.leaf_ends),
            radii=spread(given.radii),
            reaches=spread(given.reaches),
            ends=spread(given.leaf_ends),  # fixed leaves are placed already
            boxes=boxes,
            link_balls=np.pad(given.link_balls, [(0, slots), (0, 0)]),
            link_centers=np.pad(given.link_centers, [(0, slots), (0, 0)]),
            moving_leaves=moving,
            moving_nodes=given.moving_nodes,
        )
        self.numbers, self.index = pack(view)
        self.view = windows(self.numbers, self.index)
        self.own_pairs = len(given.pairs)
        link_of = model.leaf_links
        # (nodes, links) whether a leaf of the link is below the node
        self._is_below = gathered(given.nodes, link_of[:, None] == np.arange(links))
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

    def bit_of(self, slot: int) -> int:
        """Bit of all nodes of the tree of an object."""
        return self.first_carried_node + slot

    def close_objects(self) -> None:
        """Mark no carried object as checked against anything."""
        self.view.open_bits[self.first_carried_node :] = 0

    def open_object(self, obj: LiveObject, partners: Sequence[int]) -> None:
        """Set what an object is checked against: links, and carried objects in some slots."""
        bits, bit = self.view.open_bits, self.bit_of(obj.slot)
        is_above = self._is_below[:, obj.is_allowed].any(axis=1)
        is_open = np.zeros(len(bits), dtype=bool)
        is_open[: self.first_carried_node] = is_above[: self.first_carried_node]
        is_open[[self.bit_of(slot) for slot in partners]] = True
        mask = np.left_shift(np.int64(1), bit % 64)
        words = bits[:, bit // 64]
        words[:] = np.where(is_open, words | mask, words & ~mask)
        if obj.carrier >= 0:
            flags = np.zeros(64 * bits.shape[1], dtype=np.uint8)
            of_fixed = is_above[self.first_carried_node :]
            flags[self._rows : self._rows + len(of_fixed)] = of_fixed
            bits[bit] |= np.packbits(flags, bitorder="little").view(np.int64)

    def set_searches(self, carried: Sequence[LiveObject], others: Sequence[LiveObject]) -> None:
        """Search the trees of some objects, and no others."""
        roots = np.array([each.node for each in (*carried, *others)], dtype=np.int64)
        firsts = [np.zeros_like(roots)]
        seconds = [roots]
        fixed = [self.fixed_node] if self.first_live_node > self.fixed_node else []
        for k in range(len(carried)):
            partners = np.append(roots[k + 1 :], fixed).astype(np.int64)
            firsts.append(np.full(len(partners), roots[k]))
            seconds.append(partners)
        searches = np.column_stack([np.concatenate(firsts), np.concatenate(seconds)])
        self.view.searches[: len(searches)] = searches
        leaves = sum(len(each.rows) for each in carried)
        nodes = sum(each.nodes for each in carried)
        set_content(
            self.index, len(searches), self.first_carried_leaf + leaves,
            self.first_carried_node + nodes,
        )  # fmt: skip
        self.view.warm_start[:] = -1  # one of the nearest two may have been removed
