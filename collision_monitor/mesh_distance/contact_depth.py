# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Penetration depth of two shapes: the shortest translation found that separates them.

Candidate directions are the normals of crossing triangles, the axes of solids, products of edges,
and the directions between solids that are shrunk until they are apart. For each direction the
travel of the second shape until it is separated is computed (`separation.py`); a shape inside the
other is not separated. The result is the shortest travel. It is never below the true depth, and it
is continuous at first contact.
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

# Limits: pairs of triangles that give directions, those of them inspected closely, directions, both
# signs of each direction, directions followed to the end (most promising first), and pairs of nodes
# visited before no further direction is followed, each about 0.1 us. In deep contact one direction
# takes thousands of nodes and rarely improves the overlap.
_PAIRS, _INSPECTED, _DIRECTIONS, _WAYS, _MAX_FOLLOWED, _MAX_NODE_PAIRS = 16, 8, 64, 128, 8, 1000
# Cosine above which directions are equal, and above which another one adds little. If few triangles
# cross, the best direction is among their normals, and none may be omitted.
_SAME, _SIMILAR = 1.0 - 1e-10, 0.99
# Metres beyond the position where triangles just touch.
_BEYOND = 1e-7


@kernel
def _solid_pose(shapes, part, pose, is_second, out):
    """Write the pose of a solid in the frame of the first link."""
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
    """Return the number of crossing pairs of triangles of two parts, at most k of ``out`` (k, 2).

    ``out`` gets the rows of the triangles; -1 for a solid, which is tested as a whole.
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
def _collect_corners(data, shapes, i, j, pose, rows, count, corners):
    """Write corners (k, 18) of the listed pairs, first and second, in the first's frame."""
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
    """Largest sign * n . p of a triangle, and the corner that has it."""
    best, at = -math.inf, 0
    for m in range(3):
        c = 9 * side + 3 * m
        height = sign * (corners[k, c] * x + corners[k, c + 1] * y + corners[k, c + 2] * z)
        if height > best:
            best, at = height, m
    return best, at


@kernel
def _travel_of_pairs(shapes, i, j, first, second, rows, count, corners, x, y, z, enough):
    """Travel of the second part along a unit vector until all listed pairs are apart.

    Returns the travel and the pair that determines it; any value from ``enough`` on stops the
    search.
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
def _add_direction(directions, count, x, y, z, same):
    """Add a direction of any length unless a known one is within the cosine ``same``.

    Returns the number of directions.
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
    """Add the cross product of two vectors unless they are nearly parallel."""
    x, y, z = u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]
    size = (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    if x * x + y * y + z * z <= 1e-10 * size:
        return known
    return _add_direction(directions, known, x, y, z, same)


@small_kernel
def _axis(placed, m):
    """Axis m of a solid."""
    return placed[0, m], placed[1, m], placed[2, m]


@kernel
def _add_directions_of_solid(shapes, part, placed, corners, k, side, directions, known):
    """Add directions between a solid, shrunk until it is apart, and a triangle of pair k."""
    shrunk, other, points = work_space(1.0, 1, 5), work_space(1.0, 4, 3), work_space(1.0, 2, 3)
    for m in range(3):
        c = 9 * side + 3 * m
        other[m, 0], other[m, 1], other[m, 2] = to_inner(
            placed, corners[k, c], corners[k, c + 1], corners[k, c + 2]
        )
    for step in range(4):
        _shrink_solid(shapes.solids, part, step, shrunk, ZERO)
        if solid_distance(shrunk, ZERO, other, TRUE, ZERO, math.inf, points) > 0.0:
            return _add_point_direction(placed, points, directions, known)
    return known


@kernel
def _add_point_direction(placed, points, directions, known):
    """Add the direction from one point to another, given in the frame at ``placed``."""
    x, y, z = points[1, 0] - points[0, 0], points[1, 1] - points[0, 1], points[1, 2] - points[0, 2]
    return _add_direction(
        directions, known,
        placed[0, 0] * x + placed[0, 1] * y + placed[0, 2] * z,
        placed[1, 0] * x + placed[1, 1] * y + placed[1, 2] * z,
        placed[2, 0] * x + placed[2, 1] * y + placed[2, 2] * z, _SAME,
    )  # fmt: skip


@kernel
def _shrink_solid(solids, part, step, out, row):
    """Write a solid with its sides moved inwards; ``step`` 0 to 3 increases the amount."""
    share = 1e-4 if step == 0 else (3e-3 if step == 1 else (0.1 if step == 2 else 1.0))
    least = math.inf
    for k in range(3):
        if solids[part, k] > 0.0:
            least = min(least, solids[part, k])
    for k in range(3):
        out[row, k] = max(0.0, solids[part, k] - share * least) if least < math.inf else 0.0
    out[row, ROUND], out[row, RADIUS] = solids[part, ROUND], 0.0


@kernel
def _add_directions_between_solids(shapes, i, j, first, second, directions, known):
    """Add axes of both solids, their products, and the direction between them when shrunk."""
    shrunk, other, points = work_space(1.0, 2, 5), work_space(1.0, 7, 3), work_space(1.0, 2, 3)
    compose_inverse(first, second, other)
    for step in range(4):
        _shrink_solid(shapes.solids, i, step, shrunk, ZERO)
        _shrink_solid(shapes.solids, j, step, shrunk, ONE)
        if solid_distance(shrunk, ZERO, other, FALSE, ONE, math.inf, points) > 0.0:
            known = _add_point_direction(first, points, directions, known)
            break
    for m in range(3):
        for n in range(3):
            known = _add_product(directions, known, _axis(first, m), _axis(second, n), _SAME)
    return known


@kernel
def _find_directions(shapes, i, j, first, second, rows, count, corners, directions, known):
    """Add candidate unit vectors, to be tried with both signs; return their number."""
    i_is_solid, j_is_solid = shapes.parts[i, 0] != MESH, shapes.parts[j, 0] != MESH
    if i_is_solid and j_is_solid:
        known = _add_directions_between_solids(shapes, i, j, first, second, directions, known)
    for m in range(3):
        if i_is_solid:
            known = _add_direction(directions, known, first[0, m], first[1, m], first[2, m], _SAME)
        if j_is_solid:
            known = _add_direction(
                directions, known, second[0, m], second[1, m], second[2, m], _SAME
            )
    for k in range(min(count, _INSPECTED)):
        if i_is_solid and not j_is_solid:
            known = _add_directions_of_solid(shapes, i, first, corners, k, ONE, directions, known)
        if j_is_solid and not i_is_solid:
            known = _add_directions_of_solid(shapes, j, second, corners, k, ZERO, directions, known)
    for k in range(count):
        same = _SAME if k < _INSPECTED else _SIMILAR
        for side in range(2):
            if rows[k, side] >= 0:
                u, v = _edge(corners, k, side, ZERO), _edge(corners, k, side, ONE)
                known = _add_product(directions, known, u, v, same)
    for k in range(min(count, _INSPECTED)):
        for m in range(9):
            u = _axis(first, m // 3) if i_is_solid else _edge(corners, k, ZERO, m // 3)
            v = _axis(second, m % 3) if j_is_solid else _edge(corners, k, ONE, m % 3)
            known = _add_product(directions, known, u, v, _SAME)
    if known == 0:  # only points and segments
        known = _add_direction(directions, known, 1.0, 0.0, 0.0, _SAME)
        known = _add_direction(directions, known, 0.0, 1.0, 0.0, _SAME)
        known = _add_direction(directions, known, 0.0, 0.0, 1.0, _SAME)
    return known


@kernel
def _contact_point(shapes, i, j, first, second, rows, corners, k, x, y, z, out):
    """Write a point at the contact of pair k to row 0 of ``out``: the deepest of the smaller part.

    Returns whether the point belongs to the first part.
    """
    a, at_a = _extreme(corners, k, ZERO, x, y, z, 1.0)
    b, at_b = _extreme(corners, k, ONE, x, y, z, -1.0)
    size_a = _longest_edge(corners, k, ZERO) if rows[k, 0] >= 0 else shapes.balls[i, 3]
    size_b = _longest_edge(corners, k, ONE) if rows[k, 1] >= 0 else shapes.balls[j, 3]
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
def _longest_edge(corners, k, side):
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
    """`separation.way_out` of two parts along a unit vector, from ``start`` on."""
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
def _translate(pose, way, x, y, z, out):
    """Write a pose translated by ``way`` along a unit vector."""
    for row in range(7):
        for column in range(3):
            out[row, column] = pose[row, column]
    out[3, 0], out[3, 1] = pose[3, 0] + way * x, pose[3, 1] + way * y
    out[3, 2] = pose[3, 2] + way * z


@kernel
def _axes_of_links(pose, directions, known):
    """Add the axes of both links to the directions; return their number."""
    for m in range(3):
        known = _add_direction(
            directions, known, 1.0 * (m == 0), 1.0 * (m == 1), 1.0 * (m == 2), _SAME
        )
        known = _add_direction(directions, known, pose[0, m], pose[1, m], pose[2, m], _SAME)
    return known


@small_kernel
def _direction(directions, k):
    """Direction k with both signs: twice as many."""
    sign = 1.0 if k % 2 == 0 else -1.0
    return sign * directions[k // 2, 0], sign * directions[k // 2, 1], sign * directions[k // 2, 2]


@kernel
def _shortest_travel(ways, count):
    """Index of the shortest travel."""
    best = 0
    for k in range(count):
        if ways[k, 0] < ways[best, 0]:
            best = k
    return best


@kernel
def part_depth(data, shapes, i, j, pose, enough, most, nx, ny, nz, points):
    """Return (depth, row, row) of two parts that touch, cross or contain one another; else -1.

    Metres; at most ``most``, a travel that separates the parts along the given unit vector; any
    value up to ``enough`` stops the search. ``pose`` of the second link in the first. ``points``
    (3, 3) gets a point of each part at the contact, at a distance equal to the depth, and the unit
    vector of the second part's travel, in the frame of the first link.
    """
    rows, corners = work_space(i, _PAIRS, 2), work_space(most, _PAIRS, 18)
    first, second, moved = work_space(most, 7, 3), work_space(most, 7, 3), work_space(most, 7, 3)
    directions, ways = work_space(most, _DIRECTIONS, 3), work_space(most, _WAYS, 1)
    none = np.int64(-1)
    # Separated along the direction of the leaves by a plane.
    best_way = min(most, -parts_gap(data, shapes, i, ONE, j, ONE, pose, nx, ny, nz))
    if best_way <= enough:
        return best_way, none, none
    radii = shapes.solids[i, RADIUS] + shapes.solids[j, RADIUS]
    known = ZERO
    if radii > 0.0:
        core, row_a, row_b = call_part_distance(
            data, shapes, i, j, pose, none, none, radii + _BEYOND, TRUE, points
        )
        if 0.0 < core < radii + _BEYOND:
            depth = min(-finish(shapes, i, j, core, points), most)
            if shapes.parts[i, 0] != MESH and shapes.parts[j, 0] != MESH:
                return max(depth, -1.0), row_a, row_b
            x, y, z = points[2, 0], points[2, 1], points[2, 2]
            known = _add_direction(directions, known, x, y, z, _SAME)
    _solid_pose(shapes, i, pose, FALSE, first)
    _solid_pose(shapes, j, pose, TRUE, second)
    count = call_list_contacts(data, shapes, i, j, pose, rows)
    held = count == 0
    if held:
        if not call_holds(data, shapes, i, j, pose):
            return -1.0, none, none
        known = 2 * _axes_of_links(pose, directions, known)
    else:
        _collect_corners(data, shapes, i, j, pose, rows, count, corners)
        known = 2 * _find_directions(
            shapes, i, j, first, second, rows, count, corners, directions, known
        )
    for k in range(known):
        ways[k, 0] = 0.0
        if not held:
            x, y, z = _direction(directions, k)
            ways[k, 0], _ = _travel_of_pairs(
                shapes, i, j, first, second, rows, count, corners, x, y, z, best_way
            )
    # Solids are convex: along a direction they are separated where they just touch.
    sure = shapes.parts[i, 0] != MESH and shapes.parts[j, 0] != MESH
    looks = np.int64(_MAX_NODE_PAIRS)
    for _ in range(1 if sure else min(known, _MAX_FOLLOWED)):
        k = _shortest_travel(ways, known)
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
                _translate(pose, way + _BEYOND, x, y, z, moved)
                if call_holds(data, shapes, i, j, moved):
                    way, looks = call_part_way_out(
                        data, shapes, i, j, pose, first, second, way, x, y, z, TRUE, best_way,
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
    _, k = _travel_of_pairs(shapes, i, j, first, second, rows, count, corners, nx, ny, nz, math.inf)
    if _contact_point(shapes, i, j, first, second, rows, corners, k, nx, ny, nz, points):
        _move_point(points, ZERO, ONE, -depth, nx, ny, nz)
    else:
        points[1, 0], points[1, 1], points[1, 2] = points[0, 0], points[0, 1], points[0, 2]
        _move_point(points, ONE, ZERO, depth, nx, ny, nz)
    return depth, rows[k, 0], rows[k, 1]


@small_kernel
def _move_point(points, source, out, way, x, y, z):
    """Write row ``source`` of ``points``, moved along a unit vector, to row ``out``."""
    points[out, 0] = points[source, 0] + way * x
    points[out, 1] = points[source, 1] + way * y
    points[out, 2] = points[source, 2] + way * z
