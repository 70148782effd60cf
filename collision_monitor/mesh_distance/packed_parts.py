# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The shapes of a model as flat arrays, and the windows through which exact queries see them.

What never changes (`Shapes`) may be shared by threads; what queries write (`State`) may not.

Shapes, integers:

==========  =============  =====================================================================
links       links x 3      body, first part, parts
parts       parts x 8      kind; of a mesh's tree: first number, first integer, first node in
                           ``reaches``, first row in ``closed``, and whether any row is closed;
                           first probe, probes
leaf_links  leaves x 1     the link of each leaf
closed      rows x 1       whether a triangle is a part of a closed surface
==========  =============  =====================================================================

Shapes, floats, in the frames of the links:

==========  =============  =====================================================================
frames      links x 12     pose of the link in its body: the rotation row by row, then the origin
link_balls  links x 4      centre and radius of a ball around the link's shapes
balls       parts x 4      the same of each part
boxes       parts x 6      least and largest coordinates of the closed triangles of a mesh
places      parts x 12     pose of a solid in its link
solids      parts x 5      as in `geometry/convex.py`
probes      probes x 3     a point of every connected piece of a part
==========  =============  =====================================================================

Behind them lie the trees of the meshes, as in `bvh/mesh_tree.py`; a solid has one of one node.

State, integers:

===========  ==============  ====================================================================
pair_table   links x links   the pair of two links, or -1
guesses      pairs x 4       the nearest parts and rows of their triangles at the last query, or -1
near         pairs x 1       pairs whose leaves are near
near_leaves  pairs x 2       their nearest leaves
touching     pairs x 1       pairs whose shapes touch
last         1 x 2           the nearest pair of the last query; how many were near
===========  ==============  ====================================================================

State, floats:

===========  ==============  ====================================================================
least        pairs x 1       distance of the nearest leaves of a pair that is near; else infinity
kept         pairs x 13      a distance that a pair once had at least, and the pose of its second
                             link in its first then: the rotation row by row, then the origin
reaches      nodes x 2       as in `mesh_distance/mesh_pair_distance.py`
===========  ==============  ====================================================================
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.common.array_views import borrow, lend
from collision_monitor.common.compiled import kernel, small_kernel

MESH, SOLID = 0, 1

_INTEGERS = (("links", 3), ("parts", 8), ("leaf_links", 1), ("closed", 1))
_FLOATS = (
    ("frames", 12), ("link_balls", 4), ("balls", 4), ("boxes", 6), ("places", 12), ("solids", 5),
    ("probes", 3),
)  # fmt: skip
_HEADER = 2 * (len(_INTEGERS) + len(_FLOATS))
_STATE_HEADER = 3


class Shapes(NamedTuple):
    """Windows into the arrays of shapes; see the module's tables."""

    links: np.ndarray
    parts: np.ndarray
    leaf_links: np.ndarray
    closed: np.ndarray
    frames: np.ndarray
    link_balls: np.ndarray
    balls: np.ndarray
    boxes: np.ndarray
    places: np.ndarray
    solids: np.ndarray
    probes: np.ndarray


class State(NamedTuple):
    """Windows into the arrays that queries write; see the module's tables."""

    pair_table: np.ndarray
    guesses: np.ndarray
    near: np.ndarray
    near_leaves: np.ndarray
    touching: np.ndarray
    last: np.ndarray
    least: np.ndarray
    kept: np.ndarray
    reaches: np.ndarray


def pack_shapes(
    tables: dict[str, np.ndarray], trees: list[tuple[np.ndarray, np.ndarray]]
) -> tuple[np.ndarray, np.ndarray]:
    """(numbers, index) of `Shapes`.

    ``tables`` by name, in which the places of the trees are filled in; ``trees`` (numbers, index)
    one for each part.
    """
    integers = [np.asarray(tables[name], dtype=np.int64) for name, _ in _INTEGERS]
    floats = [np.asarray(tables[name], dtype=np.float64) for name, _ in _FLOATS]
    header, at, first = [], _HEADER, 0
    for array in integers:
        header += [at, len(array)]
        at += array.size
    for array in floats:
        header += [first, len(array)]
        first += array.size
    for part, (numbers, index) in zip(integers[1], trees, strict=True):
        part[1], part[2] = first, at
        first, at = first + len(numbers), at + len(index)
    return (
        np.concatenate([*(a.ravel() for a in floats), *(n for n, _ in trees)]),
        np.concatenate([np.array(header), *(a.ravel() for a in integers), *(i for _, i in trees)]),
    )


def windows(numbers: np.ndarray, index: np.ndarray) -> Shapes:
    """The Shapes of two packed arrays for numpy: windows, not copies."""
    found = []
    for k, (_, columns) in enumerate(_INTEGERS + _FLOATS):
        source = index if k < len(_INTEGERS) else numbers
        first, rows = index[2 * k : 2 * k + 2].tolist()
        found.append(source[first : first + rows * columns].reshape(rows, columns))
    return Shapes(*found)


def new_state(links: int, pairs: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """(numbers, index) of a `State` that knows nothing yet; ``pairs`` (p, 2) of links."""
    count = len(pairs)
    table = np.full((links, links), -1, dtype=np.int64)
    table[pairs[:, 0], pairs[:, 1]] = table[pairs[:, 1], pairs[:, 0]] = np.arange(count)
    kept = np.full((count, 13), -np.inf)
    return (
        np.concatenate([np.full(count, np.inf), kept.ravel(), np.zeros(2 * nodes)]),
        np.concatenate(
            [[links, count, nodes], table.ravel(), np.full(8 * count + 1, -1, dtype=np.int64), [0]]
        ),
    )


def pair_table(index: np.ndarray) -> np.ndarray:
    """(links, links) numbers of pairs, of a state's ``index``: a window, not a copy."""
    links = int(index[0])
    return index[_STATE_HEADER : _STATE_HEADER + links * links].reshape(links, links)


def forget_pairs(numbers: np.ndarray, index: np.ndarray, which: np.ndarray | slice) -> None:
    """Let a state know nothing of some pairs, because their shapes are others."""
    links, pairs, _ = index[:_STATE_HEADER].tolist()
    numbers[pairs : 14 * pairs].reshape(pairs, 13)[which] = -np.inf
    guesses = _STATE_HEADER + links * links
    index[guesses : guesses + 4 * pairs].reshape(pairs, 4)[which] = -1


@kernel
def unpack_shapes(numbers, index):
    """The Shapes of two packed arrays; valid as long as they live."""
    return Shapes(
        borrow(index, index[0], index[1], 3),
        borrow(index, index[2], index[3], 8),
        borrow(index, index[4], index[5], 1),
        borrow(index, index[6], index[7], 1),
        borrow(numbers, index[8], index[9], 12),
        borrow(numbers, index[10], index[11], 4),
        borrow(numbers, index[12], index[13], 4),
        borrow(numbers, index[14], index[15], 6),
        borrow(numbers, index[16], index[17], 12),
        borrow(numbers, index[18], index[19], 5),
        borrow(numbers, index[20], index[21], 3),
    )


@kernel
def unpack_state(numbers, index):
    """The State of two packed arrays; valid as long as they live."""
    links, pairs, nodes = index[0], index[1], index[2]
    at = _STATE_HEADER + links * links
    return State(
        borrow(index, _STATE_HEADER, links, links),
        borrow(index, at, pairs, 4),
        borrow(index, at + 4 * pairs, pairs, 1),
        borrow(index, at + 5 * pairs, pairs, 2),
        borrow(index, at + 7 * pairs, pairs, 1),
        borrow(index, at + 8 * pairs, 1, 2),
        borrow(numbers, 0, pairs, 1),
        borrow(numbers, pairs, pairs, 13),
        borrow(numbers, 14 * pairs, nodes, 2),
    )


@small_kernel
def data_of(numbers, index, work, work_index, calls):
    """What `exact_part` needs to find trees: arrays, where ``reaches`` begin, and addresses.

    ``numbers`` and ``index`` of the shapes, ``work`` and ``work_index`` of the state.
    """
    return lend(numbers), lend(index), lend(work), 14 * work_index[1], lend(calls)
