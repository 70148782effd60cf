# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Yes/no clearance checks of many configurations, eight at a time, with early exit.

The tests go from coarse to fine: balls around links, capsules around links
(`batch_clear/tables.py`), and then leaves, which are placed only when needed. Decided lanes are
skipped. If many obstacles are static, each moving link is tested against a tree of boxes.

A solid, capsule or sphere, is a row of ``solids``: centre (3) and half axis (3) in the frame of its
body, radius, radius of its bounding ball about the centre, and 1 / half axis squared (0 for a
sphere). ``places`` (6 rows for each solid, LANES) holds centre and half axis in the base frame.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collision_monitor.batch_clear.simd import (
    ALL,
    LANES,
    any_angle,
    bits,
    choose,
    greater,
    lesser,
    load,
    sine_cosine,
    spread,
    store,
)
from collision_monitor.common.array_views import lend
from collision_monitor.common.compiled import inlined_kernel, offline_kernel
from collision_monitor.hierarchy.packed import PRISMATIC
from collision_monitor.hierarchy.query import FARTHEST

# -- solids in eight configurations --

RADIUS, REACH, INVERSE = 6, 7, 8
COLUMNS = 9

_PARALLEL = 1e-24  # squared sine; as in `segments`


@inlined_kernel
def place_solid(poses, body, solids, places, i):
    """Place solid i, which is fixed to ``body``; poses (12 rows for each body, LANES)."""
    cx, cy, cz = solids[i, 0], solids[i, 1], solids[i, 2]
    hx, hy, hz = solids[i, 3], solids[i, 4], solids[i, 5]
    for axis in range(3):
        r0 = load(poses, 12 * body + 3 * axis)
        r1 = load(poses, 12 * body + 3 * axis + 1)
        r2 = load(poses, 12 * body + 3 * axis + 2)
        origin = load(poses, 12 * body + 9 + axis)
        store(places, 6 * i + axis, origin + r0 * cx + r1 * cy + r2 * cz)
        store(places, 6 * i + 3 + axis, r0 * hx + r1 * hy + r2 * hz)


@inlined_kernel
def place_fixed(fixed, j, solids, places, i):
    """Copy row j of ``fixed``, static solids in the base frame, to solid i."""
    for column in range(COLUMNS):
        solids[i, column] = fixed[j, column]
    for axis in range(6):
        store(places, 6 * i + axis, spread(fixed[j, axis]))


@inlined_kernel
def ball_gap_squared(places, i, j):
    """Squared distance of the centres of solids i and j."""
    x = load(places, 6 * j) - load(places, 6 * i)
    y = load(places, 6 * j + 1) - load(places, 6 * i + 1)
    z = load(places, 6 * j + 2) - load(places, 6 * i + 2)
    return x * x + y * y + z * z


@inlined_kernel
def balls_closer(places, solids, i, j, distance):
    """Bits of the lanes in which the bounding balls of solids i and j are closer."""
    reach = solids[i, REACH] + solids[j, REACH] + distance
    if reach <= 0.0:
        return 0
    return bits(ball_gap_squared(places, i, j) < reach * reach)


@inlined_kernel
def _clamp(x):
    """Limit lanes to [-1, 1]."""
    return lesser(greater(x, spread(-1.0)), spread(1.0))


@inlined_kernel
def axis_gap_squared(places, solids, i, j):
    """Squared distance of the axes of solids i and j.

    As `segments.nearest_parameters`, but about the centres: the points are c + s h with s in [-1,
    1]. The last step computes the best s for the clamped t. It returns the same s where t was not
    clamped, so no lane needs a branch.
    """
    rx = load(places, 6 * j) - load(places, 6 * i)
    ry = load(places, 6 * j + 1) - load(places, 6 * i + 1)
    rz = load(places, 6 * j + 2) - load(places, 6 * i + 2)
    ux, uy, uz = load(places, 6 * i + 3), load(places, 6 * i + 4), load(places, 6 * i + 5)
    vx, vy, vz = load(places, 6 * j + 3), load(places, 6 * j + 4), load(places, 6 * j + 5)
    b = ux * vx + uy * vy + uz * vz
    c = ux * rx + uy * ry + uz * rz
    f = vx * rx + vy * ry + vz * rz
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    nn = nx * nx + ny * ny + nz * nz
    # (r x v) . n / |n|^2, and 0 for (nearly) parallel axes
    s = (ry * vz - rz * vy) * nx + (rz * vx - rx * vz) * ny + (rx * vy - ry * vx) * nz
    a_inverse, e_inverse = solids[i, INVERSE], solids[j, INVERSE]
    s = choose(nn * (a_inverse * e_inverse) > _PARALLEL, _clamp(s / nn), spread(0.0))
    t = _clamp((b * s - f) * e_inverse)
    s = _clamp((b * t + c) * a_inverse)
    dx = rx + t * vx - s * ux
    dy = ry + t * vy - s * uy
    dz = rz + t * vz - s * uz
    return dx * dx + dy * dy + dz * dz


@inlined_kernel
def solids_closer(places, solids, i, j, distance):
    """Bits of the lanes in which solids i and j are closer than ``distance``."""
    reach = solids[i, RADIUS] + solids[j, RADIUS] + distance
    if reach <= 0.0:
        return 0
    return bits(axis_gap_squared(places, solids, i, j) < reach * reach)


# -- the batch --

TOO_CLOSE, CLEAR, DOUBTFUL = 0, 1, 2
CHUNK = 32  # pairs between two tests whether all lanes are decided
STACK = 256  # size of the node stack; depth first adds one for each level


class ClearTables(NamedTuple):
    """Input and work space of `clear`; solids are the links, their leaves and one spare row."""

    joints: np.ndarray  # (k, 4) body, parent body, kind, column of q
    motions: np.ndarray  # (k, 2) position = gain * q + offset
    placements: np.ndarray  # (k, 12)
    links: np.ndarray  # (l, 4) body, first solid of its leaves, one past the last, row of partners
    first: np.ndarray  # (p,) first links of pairs, the most often too close first (written)
    second: np.ndarray  # (p,) their partners (written)
    hits: np.ndarray  # (p,) how often a pair was too close (written)
    limits: np.ndarray  # (p,) squared distance of ball centres to test a pair (written)
    near_of: np.ndarray  # (CHUNK,) lanes in which a pair's balls are near (written)
    solids: np.ndarray  # (s, 9) see the docstring of the module
    nodes: np.ndarray  # (n, 2) tree of static leaves; a leaf: (-1, row of fixed)
    boxes: np.ndarray  # (n, 6)
    partners: np.ndarray  # (rows, words) bit k: node k is above a partner of the links of this row
    fixed: np.ndarray  # (m, 9) static solids, in the base frame
    positions: np.ndarray  # (columns + 1, LANES) (written)
    poses: np.ndarray  # (12 * bodies, LANES) (written)
    places: np.ndarray  # (6 * s, LANES) (written)
    placed: np.ndarray  # (l,) whether a link's leaves are placed (written)
    rows: np.ndarray  # (LANES,) the row in each lane (written)
    waiting: np.ndarray  # (2 * LANES,) rows tested against the first pairs only (written)
    stack: np.ndarray  # (STACK,) nodes still to be tested (written)


@inlined_kernel
def _joint(tables, k):
    """Pose of the body that joint k moves, as in `kinematics.forward_kinematics`."""
    poses, placements = tables.poses, tables.placements
    body, parent, kind, column = (
        tables.joints[k, 0], tables.joints[k, 1], tables.joints[k, 2], tables.joints[k, 3]
    )  # fmt: skip
    position = load(tables.positions, column) * tables.motions[k, 0] + tables.motions[k, 1]
    slide, sine, cosine = spread(0.0), spread(0.0), spread(1.0)
    if kind == PRISMATIC:
        slide = position
    else:
        spare = len(tables.positions) - 1
        sine, cosine = sine_cosine(any_angle(position, tables.positions, spare))
    for row in range(3):
        if parent == 0:
            x = spread(placements[k, 3 * row])
            y = spread(placements[k, 3 * row + 1])
            z = spread(placements[k, 3 * row + 2])
            t = spread(placements[k, 9 + row])
        else:
            r0 = load(poses, 12 * parent + 3 * row)
            r1 = load(poses, 12 * parent + 3 * row + 1)
            r2 = load(poses, 12 * parent + 3 * row + 2)
            x = r0 * placements[k, 0] + r1 * placements[k, 3] + r2 * placements[k, 6]
            y = r0 * placements[k, 1] + r1 * placements[k, 4] + r2 * placements[k, 7]
            z = r0 * placements[k, 2] + r1 * placements[k, 5] + r2 * placements[k, 8]
            t = load(poses, 12 * parent + 9 + row)
            t = t + r0 * placements[k, 9] + r1 * placements[k, 10] + r2 * placements[k, 11]
        store(poses, 12 * body + 3 * row, cosine * x + sine * y)
        store(poses, 12 * body + 3 * row + 1, cosine * y - sine * x)
        store(poses, 12 * body + 3 * row + 2, z)
        store(poses, 12 * body + 9 + row, t + slide * z)


@inlined_kernel
def _place_leaves(tables, link):
    """Place the leaves of a link unless they are placed."""
    if tables.placed[link]:
        return
    tables.placed[link] = True
    for i in range(tables.links[link, 1], tables.links[link, 2]):
        place_solid(tables.poses, tables.links[link, 0], tables.solids, tables.places, i)


@inlined_kernel
def _leaf_against(tables, leaf, first, last, open_lanes, margin, slack):
    """Return (hit, doubtful) lanes of one leaf against solids first .. last - 1."""
    places, solids = tables.places, tables.solids
    hit, doubtful = 0, 0
    for j in range(first, last):
        if balls_closer(places, solids, leaf, j, margin + slack) & open_lanes:
            gap = axis_gap_squared(places, solids, leaf, j)
            reach = solids[leaf, RADIUS] + solids[j, RADIUS] + margin
            low, high = max(reach - slack, 0.0), max(reach + slack, 0.0)
            hit |= bits(gap < low * low)
            doubtful |= bits(gap < high * high)
            if not open_lanes & ~hit:
                break
    return hit, doubtful


@inlined_kernel
def _links_against(tables, a, b, open_lanes, margin, slack):
    """Return (hit, doubtful) lanes of the leaves of two moving links."""
    places, solids, links = tables.places, tables.solids, tables.links
    _place_leaves(tables, a)
    _place_leaves(tables, b)
    hit, doubtful = 0, 0
    several = links[a, 2] - links[a, 1] > 1 and links[b, 2] - links[b, 1] > 1
    for i in range(links[a, 1], links[a, 2]):
        near = balls_closer(places, solids, i, b, margin + slack) & open_lanes & ~hit
        if near and several:
            near &= solids_closer(places, solids, i, b, margin + slack)
        if near:
            h, d = _leaf_against(tables, i, links[b, 1], links[b, 2], near, margin, slack)
            hit |= h
            doubtful |= d
    return hit, doubtful


@inlined_kernel
def _box_closer(tables, link, node, distance):
    """Lanes in which a link may be closer than ``distance`` to the leaves in a box.

    A box has no depth: a link whose ball centre is inside always counts as near.
    """
    boxes, places = tables.boxes, tables.places
    reach = max(tables.solids[link, REACH] + distance, 0.0)
    total = spread(0.0)
    for axis in range(3):
        center = load(places, 6 * link + axis)
        gap = greater(boxes[node, axis] - center, center - boxes[node, axis + 3])
        gap = greater(gap, spread(0.0))
        total = total + gap * gap
    return ALL & ~bits(total > reach * reach)


@inlined_kernel
def _static_against(tables, link, open_lanes, margin, slack):
    """Return (hit, doubtful) lanes of a link against all static leaves."""
    row, spare = tables.links[link, 3], len(tables.solids) - 1
    nodes, stack, solids, places = tables.nodes, tables.stack, tables.solids, tables.places
    hit, doubtful = 0, 0
    stack[0] = 0
    size = 1
    while size > 0:
        size -= 1
        node = stack[size]
        near = _box_closer(tables, link, node, margin + slack) & open_lanes & ~hit
        if not near:
            continue
        if nodes[node, 0] >= 0:
            for side in range(2):
                child = nodes[node, side]
                if tables.partners[row, child >> 6] >> (child & 63) & 1:
                    stack[size] = child
                    size += 1
            continue
        place_fixed(tables.fixed, nodes[node, 1], solids, places, spare)
        near &= solids_closer(places, solids, link, spare, margin + slack)
        if near:
            _place_leaves(tables, link)
            first, last = tables.links[link, 1], tables.links[link, 2]
            h, d = _leaf_against(tables, spare, first, last, near, margin, slack)
            hit |= h
            doubtful |= d
    return hit, doubtful


@inlined_kernel
def _place_links(tables):
    """Run the kinematics and place all links."""
    links = tables.links
    for k in range(len(tables.joints)):
        _joint(tables, k)
    for link in range(len(links)):
        if links[link, 0] > 0:
            place_solid(tables.poses, links[link, 0], tables.solids, tables.places, link)
            tables.placed[link] = False


@inlined_kernel
def _move_up(tables, p, lowest):
    """Count a hit of pair p, and swap it with the pair before if that has fewer hits."""
    hits, limits, first, second = tables.hits, tables.limits, tables.first, tables.second
    hits[p] += 1
    if p > lowest and hits[p] > hits[p - 1]:
        first[p], first[p - 1] = first[p - 1], first[p]
        second[p], second[p - 1] = second[p - 1], second[p]
        limits[p], limits[p - 1] = limits[p - 1], limits[p]
        hits[p], hits[p - 1] = hits[p - 1], hits[p]


@inlined_kernel
def _pairs_against(tables, start, stop, lowest, alive, margin, slack):
    """Return (alive, doubtful) lanes after pairs start .. stop - 1.

    The balls of all pairs are tested first: without branches, this takes half the time.
    """
    places, solids, near_of = tables.places, tables.solids, tables.near_of
    for p in range(start, stop):
        gap = ball_gap_squared(places, tables.first[p], tables.second[p])
        near_of[p - start] = bits(gap < tables.limits[p])
    unsure = 0
    for p in range(start, stop):
        near = near_of[p - start] & alive
        if near:
            a, b = tables.first[p], tables.second[p]
            near &= solids_closer(places, solids, a, b, margin + slack)
            if near:
                hit, doubtful = _links_against(tables, a, b, near, margin, slack)
                unsure |= doubtful
                if hit & alive:
                    alive &= ~hit
                    _move_up(tables, p, lowest)
    return alive, unsure


@inlined_kernel
def _block(tables, start, stop, lowest, alive, margin, slack):
    """Return (clear, doubtful) lanes of ``alive`` after pairs start .. stop - 1.

    Static leaves are tested after the last pair. Pairs before ``lowest`` keep their order.
    """
    _place_links(tables)
    unsure = 0
    for first in range(start, stop, CHUNK):
        last = min(first + CHUNK, stop)
        alive, doubtful = _pairs_against(tables, first, last, lowest, alive, margin, slack)
        unsure |= doubtful
        if not alive:
            return 0, 0
    if stop == len(tables.hits):
        for link in range(len(tables.links)):
            if tables.links[link, 3] >= 0:
                hit, doubtful = _static_against(tables, link, alive, margin, slack)
                unsure |= doubtful
                alive &= ~hit
                if not alive:
                    return 0, 0
    return alive, unsure & alive


@inlined_kernel
def _set_limits(tables, distance):
    """Set the distance of balls below which each pair needs a finer test."""
    solids = tables.solids
    for p in range(len(tables.hits)):
        reach = solids[tables.first[p], REACH] + solids[tables.second[p], REACH] + distance
        tables.limits[p] = max(reach, 0.0) ** 2


@inlined_kernel
def _fill(tables, configurations, rows):
    """Load one row into each lane; return the first lane with an invalid joint position, or -1."""
    wrong = -1
    for lane in range(LANES):
        is_valid = True
        for column in range(configurations.shape[1]):
            value = configurations[rows[lane], column]
            tables.positions[column, lane] = value
            is_valid &= abs(value) <= FARTHEST  # false for NaN
        if not is_valid:
            wrong = lane if wrong < 0 else wrong
    return wrong


@offline_kernel
def clear(tables, configurations, margin, slack, out):
    """Fill out (N,) with CLEAR, TOO_CLOSE or DOUBTFUL; return row of an invalid value, or -1.

    Doubtful: within ``slack`` metres of ``margin``, so that rounding could change the result.

    With many pairs, rows that pass the most likely pairs are collected until they fill a block for
    the remaining pairs. Otherwise one undecided row would occupy eight lanes.
    """
    tables = ClearTables(
        lend(tables.joints),
        lend(tables.motions),
        lend(tables.placements),
        lend(tables.links),
        lend(tables.first),
        lend(tables.second),
        lend(tables.hits),
        lend(tables.limits),
        lend(tables.near_of),
        lend(tables.solids),
        lend(tables.nodes),
        lend(tables.boxes),
        lend(tables.partners),
        lend(tables.fixed),
        lend(tables.positions),
        lend(tables.poses),
        lend(tables.places),
        lend(tables.placed),
        lend(tables.rows),
        lend(tables.waiting),
        lend(tables.stack),
    )
    _set_limits(tables, margin + slack)
    count, pairs, rows = len(configurations), len(tables.hits), tables.rows
    split = CHUNK if pairs > 2 * CHUNK else pairs
    row, waiting = 0, 0
    while row < count or waiting > 0:
        fresh = row < count and waiting < LANES
        filled = min(LANES, count - row if fresh else waiting)
        for lane in range(LANES):
            k = min(lane, filled - 1)
            rows[lane] = row + k if fresh else tables.waiting[waiting - 1 - k]
        if fresh:
            row += filled
        else:
            waiting -= filled
        wrong = _fill(tables, configurations, rows)
        if wrong >= 0:
            return rows[wrong]
        # A collected row has passed the first ``split`` pairs: these must not change.
        start, stop = (0, split) if fresh else (split, pairs)
        lowest = split if not fresh and waiting > 0 else 0
        alive, doubtful = _block(
            tables, start, stop, lowest, ALL >> (LANES - filled), margin, slack
        )
        for lane in range(filled):
            k = rows[lane]
            if not alive >> lane & 1:
                out[k] = TOO_CLOSE
            elif doubtful >> lane & 1:
                out[k] = DOUBTFUL
            elif fresh or out[k] != DOUBTFUL:
                out[k] = CLEAR
            if stop < pairs and alive >> lane & 1:
                tables.waiting[waiting] = k
                waiting += 1
    return -1
