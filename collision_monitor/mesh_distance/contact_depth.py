# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How deep two shapes are in one another: how far one must move for them to be apart.

Directions are tried: the normals of the triangles that cross, the axes of solids, products of
edges, and the ways between solids that are shrunk until they are apart. Along each, it is worked
out how far the second shape must move to be free of the first (`separation.py`), and not be
held by it or hold it. The answer is the shortest such way of all directions tried: never
shorter than the true depth, and where shapes begin to touch it begins at zero.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.common.array_views import work_space
from collision_monitor.common.compiled import FALSE, ONE, TRUE, ZERO, kernel, small_kernel
from collision_monitor.geometry.convex import RADIUS, ROUND, farthest, solid_distance
from collision_monitor.mesh_distance.mesh_crossing import crossing_triangles
from collision_monitor.mesh_distance.mesh_pair_distance import place_corners
from collision_monitor.mesh_distance.part_calls import (
    call_holds,
    call_list_contacts,
    call_part_distance,
    call_part_way_out,
)
from collision_monitor.mesh_distance.part_distance import finish, touching_rows, tree_of
from collision_monitor.mesh_distance.parts import (
    MESH,
)
from collision_monitor.mesh_distance.poses import (
    compose,
    compose_inverse,
    fill_absolute,
    take_pose,
    to_inner,
    to_outer,
)
from collision_monitor.mesh_distance.separation import (
    fill_axes,
    parts_gap,
    solid_reach,
    turn_axes,
    way_out,
)

# Pairs of triangles that give directions, those of them that are looked at closely, directions,
# the two ways of each, and how many of them are followed to their end, the most promising first,
# while no more pairs of nodes have been looked at than this, each about 0.1 us. Where shapes are
# deep in one another, to follow one takes thousands, and seldom finds less than their overlap.
_PAIRS, _CLOSE_LOOKS, _DIRECTIONS, _WAYS, _TRIED, _LOOKS = 16, 8, 64, 128, 8, 1000
# Cosine from which on directions are the same, and from which on another one adds little: where
# few triangles cross the right one is among their normals, and none may be left out.
_SAME, _SIMILAR = 1.0 - 1e-10, 0.99
# Metres beyond the place where triangles just touch.
_BEYOND = 1e-7


@kernel
def _solid_pose(shapes, part, pose, is_second, out):
    """Pose of a solid in the frame of the first link."""
    place = work_space(1.0, 7, 3)
    take_pose(shapes.places, part, place)
    if is_second:
        compose(pose, place, out)
    else:
        for i in range(4):
            for j in range(3):
                out[i, j] = place[i, j]
    fill_absolute(out)


@kernel
def list_contacts(data, shapes, i, j, pose, out):
    """How many pairs of triangles of two parts meet, up to the rows of ``out`` (k, 2).

    ``out`` gets the rows, -1 for a solid, which meets a triangle as a whole.
    """
    most = len(out)
    i_is_mesh, j_is_mesh = shapes.parts[i, 0] == MESH, shapes.parts[j, 0] == MESH
    if i_is_mesh and j_is_mesh:
        a, b = tree_of(data, shapes, i), tree_of(data, shapes, j)
        return min(crossing_triangles(a, b, pose, most, out), most)
    place, placed = work_space(1.0, 7, 3), work_space(1.0, 7, 3)
    points = work_space(1.0, 2, 3)
    if not i_is_mesh and not j_is_mesh:
        _solid_pose(shapes, j, pose, TRUE, placed)
        take_pose(shapes.places, i, place)
        other = work_space(1.0, 7, 3)
        compose_inverse(place, placed, other)
        radii = shapes.solids[i, RADIUS] + shapes.solids[j, RADIUS]
        found = solid_distance(
            shapes.solids, i, other, FALSE, j, radii + _BEYOND, points
        )
        out[0, 0] = out[0, 1] = -1
        return np.int64(1 if found <= radii else 0)
    mesh, solid = (i, j) if i_is_mesh else (j, i)
    if i_is_mesh:
        _solid_pose(shapes, solid, pose, TRUE, placed)
    else:
        take_pose(shapes.places, solid, place)
        compose_inverse(pose, place, placed)
        fill_absolute(placed)
    tree, volume = tree_of(data, shapes, mesh), tree_of(data, shapes, solid)
    count = touching_rows(
        tree, volume.volumes, shapes.solids, solid, placed, out, 0 if i_is_mesh else 1
    )
    for k in range(count):
        out[k, 1 if i_is_mesh else 0] = -1
    return count


@kernel
def _take_triangles(data, shapes, i, j, pose, rows, count, corners):
    """Corners (k, 18) of the pairs listed: of the first and the second, in the first's frame."""
    a, b = tree_of(data, shapes, i), tree_of(data, shapes, j)
    placed = work_space(1.0, 6, 3)
    for k in range(count):
        if rows[k, 0] >= 0:
            for m in range(9):
                corners[k, m] = a.corners[rows[k, 0], m]
        if rows[k, 1] >= 0:
            place_corners(b.corners, rows[k, 1], pose, placed)
            for m in range(9):
                corners[k, 9 + m] = placed[3 + m // 3, m % 3]


@kernel
def _extreme(corners, k, side, x, y, z, sign):
    """Largest sign * n . p of a triangle, and which corner has it."""
    best, at = -math.inf, 0
    for m in range(3):
        c = 9 * side + 3 * m
        height = sign * (corners[k, c] * x + corners[k, c + 1] * y + corners[k, c + 2] * z)
        if height > best:
            best, at = height, m
    return best, at


@kernel
def _way(shapes, i, j, first, second, rows, count, corners, x, y, z, enough):
    """How far the second must move along a unit vector for all pairs listed to be apart.

    And which pair says so. Any number from ``enough`` on as soon as it is known to be that far.
    """
    reach_a = reach_b = 0.0
    if count > 0 and rows[0, 0] < 0:
        reach_a = solid_reach(shapes, i, first, x, y, z)
    if count > 0 and rows[0, 1] < 0:
        reach_b = solid_reach(shapes, j, second, -x, -y, -z)
    way, at = -math.inf, 0
    for k in range(count):
        here = reach_a + reach_b
        if rows[k, 0] >= 0:
            here += _extreme(corners, k, ZERO, x, y, z, 1.0)[0]
        if rows[k, 1] >= 0:
            here += _extreme(corners, k, ONE, x, y, z, -1.0)[0]
        if here > way:
            way, at = here, k
            if way >= enough:
                break
    return way, at


@kernel
def _add(directions, count, x, y, z, same):
    """Add a direction of any length, unless one is known that is nearer than the cosine ``same``.

    Returns how many there are.
    """
    length = math.sqrt(x * x + y * y + z * z)
    if length < 1e-12 or count >= len(directions):
        return count
    x, y, z = x / length, y / length, z / length
    for k in range(count):
        if abs(directions[k, 0] * x + directions[k, 1] * y + directions[k, 2] * z) > same:
            return count
    directions[count, 0], directions[count, 1], directions[count, 2] = x, y, z
    return count + 1


@kernel
def _edge(corners, k, side, m):
    """Edge m of a triangle as a vector."""
    c, d = 9 * side + 3 * m, 9 * side + 3 * ((m + 1) % 3)
    return (
        corners[k, d] - corners[k, c],
        corners[k, d + 1] - corners[k, c + 1],
        corners[k, d + 2] - corners[k, c + 2],
    )


@kernel
def _add_product(directions, known, u, v, same):
    """Add the product of two vectors, if they are not nearly parallel."""
    x, y, z = u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]
    size = (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    if x * x + y * y + z * z <= 1e-10 * size:
        return known
    return _add(directions, known, x, y, z, same)


@small_kernel
def _axis(placed, m):
    """Axis m of a solid."""
    return placed[0, m], placed[1, m], placed[2, m]


@kernel
def _add_ways_out_of_solid(shapes, part, placed, corners, k, side, directions, known):
    """Add the ways between a solid that is shrunk until it is apart and a triangle of pair k."""
    shrunk, other, points = work_space(1.0, 1, 5), work_space(1.0, 4, 3), work_space(1.0, 2, 3)
    for m in range(3):
        c = 9 * side + 3 * m
        other[m, 0], other[m, 1], other[m, 2] = to_inner(
            placed, corners[k, c], corners[k, c + 1], corners[k, c + 2]
        )
    for step in range(4):
        _shrink_solid(shapes.solids, part, step, shrunk, ZERO)
        if solid_distance(shrunk, ZERO, other, TRUE, ZERO, math.inf, points) > 0.0:
            return _add_way(placed, points, directions, known)
    return known


@kernel
def _add_way(placed, points, directions, known):
    """Add the way from one point to another of the frame at ``placed``."""
    x, y, z = points[1, 0] - points[0, 0], points[1, 1] - points[0, 1], points[1, 2] - points[0, 2]
    return _add(
        directions, known,
        placed[0, 0] * x + placed[0, 1] * y + placed[0, 2] * z,
        placed[1, 0] * x + placed[1, 1] * y + placed[1, 2] * z,
        placed[2, 0] * x + placed[2, 1] * y + placed[2, 2] * z, _SAME,
    )  # fmt: skip


@kernel
def _shrink_solid(solids, part, step, out, row):
    """A solid with its sides moved inwards, by more the higher ``step`` of 0 to 3 is."""
    share = 1e-4 if step == 0 else (3e-3 if step == 1 else (0.1 if step == 2 else 1.0))
    least = math.inf
    for k in range(3):
        if solids[part, k] > 0.0:
            least = min(least, solids[part, k])
    for k in range(3):
        out[row, k] = max(0.0, solids[part, k] - share * least) if least < math.inf else 0.0
    out[row, ROUND], out[row, RADIUS] = solids[part, ROUND], 0.0


@kernel
def _add_ways_between_solids(shapes, i, j, first, second, directions, known):
    """Add axes of both solids, their products, and the way between them when shrunk."""
    shrunk, other, points = work_space(1.0, 2, 5), work_space(1.0, 7, 3), work_space(1.0, 2, 3)
    compose_inverse(first, second, other)
    for step in range(4):
        _shrink_solid(shapes.solids, i, step, shrunk, ZERO)
        _shrink_solid(shapes.solids, j, step, shrunk, ONE)
        if solid_distance(shrunk, ZERO, other, FALSE, ONE, math.inf, points) > 0.0:
            known = _add_way(first, points, directions, known)
            break
    for m in range(3):
        for n in range(3):
            known = _add_product(directions, known, _axis(first, m), _axis(second, n), _SAME)
    return known


@kernel
def _find_directions(shapes, i, j, first, second, rows, count, corners, directions, known):
    """Add unit vectors, either way of which may be a way out; how many there are."""
    i_is_solid, j_is_solid = shapes.parts[i, 0] != MESH, shapes.parts[j, 0] != MESH
    if i_is_solid and j_is_solid:
        known = _add_ways_between_solids(shapes, i, j, first, second, directions, known)
    for m in range(3):
        if i_is_solid:
            known = _add(directions, known, first[0, m], first[1, m], first[2, m], _SAME)
        if j_is_solid:
            known = _add(directions, known, second[0, m], second[1, m], second[2, m], _SAME)
    for k in range(min(count, _CLOSE_LOOKS)):
        if i_is_solid and not j_is_solid:
            known = _add_ways_out_of_solid(shapes, i, first, corners, k, ONE, directions, known)
        if j_is_solid and not i_is_solid:
            known = _add_ways_out_of_solid(shapes, j, second, corners, k, ZERO, directions, known)
    for k in range(count):
        same = _SAME if k < _CLOSE_LOOKS else _SIMILAR
        for side in range(2):
            if rows[k, side] >= 0:
                u, v = _edge(corners, k, side, ZERO), _edge(corners, k, side, ONE)
                known = _add_product(directions, known, u, v, same)
    for k in range(min(count, _CLOSE_LOOKS)):
        for m in range(9):
            u = _axis(first, m // 3) if i_is_solid else _edge(corners, k, ZERO, m // 3)
            v = _axis(second, m % 3) if j_is_solid else _edge(corners, k, ONE, m % 3)
            known = _add_product(directions, known, u, v, _SAME)
    if known == 0:  # points and segments alone
        known = _add(directions, known, 1.0, 0.0, 0.0, _SAME)
        known = _add(directions, known, 0.0, 1.0, 0.0, _SAME)
        known = _add(directions, known, 0.0, 0.0, 1.0, _SAME)
    return known


@kernel
def _contact_point(shapes, i, j, first, second, rows, corners, k, x, y, z, out):
    """A point at the contact of pair k, in ``out`` row 0: of the smaller of the two, the deepest.

    Whether it is one of the first.
    """
    a, at_a = _extreme(corners, k, ZERO, x, y, z, 1.0)
    b, at_b = _extreme(corners, k, ONE, x, y, z, -1.0)
    size_a = _size(corners, k, ZERO) if rows[k, 0] >= 0 else shapes.balls[i, 3]
    size_b = _size(corners, k, ONE) if rows[k, 1] >= 0 else shapes.balls[j, 3]
    takes_first = size_a <= size_b
    if takes_first and rows[k, 0] >= 0:
        for m in range(3):
            out[0, m] = corners[k, 3 * at_a + m]
    elif not takes_first and rows[k, 1] >= 0:
        for m in range(3):
            out[0, m] = corners[k, 9 + 3 * at_b + m]
    else:
        part, placed, sign = (i, first, 1.0) if takes_first else (j, second, -1.0)
        dx, dy, dz = sign * x, sign * y, sign * z
        px, py, pz = farthest(
            shapes.solids, part,
            placed[0, 0] * dx + placed[1, 0] * dy + placed[2, 0] * dz,
            placed[0, 1] * dx + placed[1, 1] * dy + placed[2, 1] * dz,
            placed[0, 2] * dx + placed[1, 2] * dy + placed[2, 2] * dz,
        )  # fmt: skip
        px, py, pz = to_outer(placed, px, py, pz)
        radius = shapes.solids[part, RADIUS]
        out[0, 0], out[0, 1], out[0, 2] = px + radius * dx, py + radius * dy, pz + radius * dz
    return takes_first


@kernel
def _size(corners, k, side):
    """Longest edge of a triangle."""
    longest = 0.0
    for m in range(3):
        x, y, z = _edge(corners, k, side, m)
        longest = max(longest, x * x + y * y + z * z)
    return math.sqrt(longest)


@kernel
def part_way_out(
    data, shapes, i, j, pose, first, second, start, x, y, z, anywhere, limit, looks
):
    """`clearing.way_out` of two parts along a unit vector, from ``start`` on."""
    axes, ends = work_space(start, 5, 4), work_space(start, 2, 3)
    axes_a, axes_b = work_space(start, 5, 4), work_space(start, 5, 4)
    fill_axes(x, y, z, axes)
    i_is_mesh, j_is_mesh = shapes.parts[i, 0] == MESH, shapes.parts[j, 0] == MESH
    if i_is_mesh:
        for row in range(5):
            for column in range(4):
                axes_a[row, column] = axes[row, column]
    else:
        turn_axes(axes, first, axes_a)
        ends[0, 0] = -solid_reach(shapes, i, first, -x, -y, -z)
        ends[0, 1], ends[0, 2] = solid_reach(shapes, i, first, x, y, z), shapes.solids[i, RADIUS]
    if j_is_mesh:
        turn_axes(axes, pose, axes_b)
    else:
        turn_axes(axes, second, axes_b)
        ends[1, 0] = -solid_reach(shapes, j, second, -x, -y, -z)
        ends[1, 1], ends[1, 2] = solid_reach(shapes, j, second, x, y, z), shapes.solids[j, RADIUS]
    a, b = tree_of(data, shapes, i), tree_of(data, shapes, j)
    return way_out(
        a, b, i_is_mesh, j_is_mesh, shapes.solids, i, j, axes_a, axes_b, ends, start, anywhere,
        limit, looks,
    )  # fmt: skip


@kernel
def _move(pose, way, x, y, z, out):
    """A pose moved along a unit vector."""
    for row in range(7):
        for column in range(3):
            out[row, column] = pose[row, column]
    out[3, 0], out[3, 1] = pose[3, 0] + way * x, pose[3, 1] + way * y
    out[3, 2] = pose[3, 2] + way * z


@kernel
def _axes_of_links(pose, directions, known):
    """Add the axes of both links to the directions; how many there are."""
    for m in range(3):
        known = _add(directions, known, 1.0 * (m == 0), 1.0 * (m == 1), 1.0 * (m == 2), _SAME)
        known = _add(directions, known, pose[0, m], pose[1, m], pose[2, m], _SAME)
    return known


@small_kernel
def _direction(directions, k):
    """Direction k of twice as many: each way of each."""
    sign = 1.0 if k % 2 == 0 else -1.0
    return sign * directions[k // 2, 0], sign * directions[k // 2, 1], sign * directions[k // 2, 2]


@kernel
def _nearest_way(ways, count):
    """Index of the shortest way."""
    best = 0
    for k in range(count):
        if ways[k, 0] < ways[best, 0]:
            best = k
    return best


@kernel
def part_depth(data, shapes, i, j, pose, enough, most, nx, ny, nz, points):
    """(depth, row, row) of two parts that touch, cross or hold one another; -1 if they do not.

    Metres; at most ``most``, how far apart the second is surely moved along the unit vector given;
    and anything up to ``enough`` once it is known to be no more. ``pose`` of the second's link in
    the first's. ``points`` (3, 3) gets a point of each at the contact, as far apart as the depth
    is, and the unit vector along which the second part has to move, in the frame of the first link.
    """
    rows, corners = work_space(i, _PAIRS, 2), work_space(most, _PAIRS, 18)
    first, second, moved = work_space(most, 7, 3), work_space(most, 7, 3), work_space(most, 7, 3)
    directions, ways = work_space(most, _DIRECTIONS, 3), work_space(most, _WAYS, 1)
    none = np.int64(-1)
    # Past one another along the way of the leaves; a plane parts them there.
    best_way = min(most, -parts_gap(data, shapes, i, ONE, j, ONE, pose, nx, ny, nz))
    if best_way <= enough:
        return best_way, none, none
    radii = shapes.solids[i, RADIUS] + shapes.solids[j, RADIUS]
    known = ZERO
    if radii > 0.0:
        core, row_a, row_b = call_part_distance(
            data, shapes, i, j, pose, none, none, radii + _BEYOND, True, points
        )
        if 0.0 < core < radii + _BEYOND:
            depth = min(-finish(shapes, i, j, core, points), most)
            if shapes.parts[i, 0] != MESH and shapes.parts[j, 0] != MESH:
                return max(depth, -1.0), row_a, row_b
            x, y, z = points[2, 0], points[2, 1], points[2, 2]
            known = _add(directions, known, x, y, z, _SAME)
    _solid_pose(shapes, i, pose, FALSE, first)
    _solid_pose(shapes, j, pose, TRUE, second)
    count = call_list_contacts(data, shapes, i, j, pose, rows)
    held = count == 0
    if held:
        if not call_holds(data, shapes, i, j, pose):
            return -1.0, none, none
        known = 2 * _axes_of_links(pose, directions, known)
    else:
        _take_triangles(data, shapes, i, j, pose, rows, count, corners)
        known = 2 * _find_directions(
            shapes, i, j, first, second, rows, count, corners, directions, known
        )
    for k in range(known):
        ways[k, 0] = 0.0
        if not held:
            x, y, z = _direction(directions, k)
            ways[k, 0], _ = _way(
                shapes, i, j, first, second, rows, count, corners, x, y, z, best_way
            )
    # Solids are convex: where they touch along a way is where it ends.
    sure = shapes.parts[i, 0] != MESH and shapes.parts[j, 0] != MESH
    looks = np.int64(_LOOKS)
    for _ in range(1 if sure else min(known, _TRIED)):
        k = _nearest_way(ways, known)
        start = ways[k, 0]
        if start >= best_way or best_way <= enough:
            break
        x, y, z = _direction(directions, k)
        way = start
        if not sure:
            way = max(start, -parts_gap(data, shapes, i, ONE, j, ONE, pose, x, y, z))
            if way < best_way:
                best_way, nx, ny, nz = way, x, y, z
        if not sure and looks > 0:
            way, looks = call_part_way_out(
                data, shapes, i, j, pose, first, second, start, x, y, z, held, best_way, looks
            )
            if way < best_way and not held:
                _move(pose, way + _BEYOND, x, y, z, moved)
                if call_holds(data, shapes, i, j, moved):
                    way, looks = call_part_way_out(
                        data, shapes, i, j, pose, first, second, way, x, y, z, True, best_way,
                        looks,
                    )  # fmt: skip
        if way < best_way:
            best_way, nx, ny, nz = way, x, y, z
        ways[k, 0] = math.inf
    depth = max(0.0, best_way)
    points[2, 0], points[2, 1], points[2, 2] = nx, ny, nz
    if held:
        points[1, 0], points[1, 1], points[1, 2] = to_outer(
            pose, shapes.balls[j, 0], shapes.balls[j, 1], shapes.balls[j, 2]
        )
        _move_point(points, ONE, ZERO, depth, nx, ny, nz)
        return depth, none, none
    _, k = _way(shapes, i, j, first, second, rows, count, corners, nx, ny, nz, math.inf)
    if _contact_point(shapes, i, j, first, second, rows, corners, k, nx, ny, nz, points):
        _move_point(points, ZERO, ONE, -depth, nx, ny, nz)
    else:
        points[1, 0], points[1, 1], points[1, 2] = points[0, 0], points[0, 1], points[0, 2]
        _move_point(points, ONE, ZERO, depth, nx, ny, nz)
    return depth, rows[k, 0], rows[k, 1]


@small_kernel
def _move_point(points, source, out, way, x, y, z):
    """Row ``out`` of ``points`` is row ``source`` moved along a unit vector."""
    points[out, 0] = points[source, 0] + way * x
    points[out, 1] = points[source, 1] + way * y
    points[out, 2] = points[source, 2] + way * z
