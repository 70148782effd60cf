# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How deep two shapes are in one another: how far one must move for them to be apart.

Directions are tried: the normals of the triangles that cross, the axes of solids, products of
edges, and the ways between solids that are shrunk until they are apart. Along each, the second
shape is moved until no pair of triangles overlaps; then it is asked what crosses there, and moved
on, until nothing does and neither holds the other. Nearest first: the answer is the shortest such
way of all directions tried. So no way that is shorter than the true depth is ever given, and where
shapes begin to touch the depth begins at zero.
"""

from __future__ import annotations

import math

import numpy as np

from collision_monitor.kernels.borrow import work_space
from collision_monitor.kernels.convex import RADIUS, ROUND, farthest, solid_distance
from collision_monitor.kernels.exact_pair import holds, tree_of
from collision_monitor.kernels.exact_tables import MESH
from collision_monitor.kernels.jit import kernel
from collision_monitor.kernels.mesh_crossing import crossing_triangles
from collision_monitor.kernels.mesh_distance import place_corners
from collision_monitor.kernels.mesh_solid import touching_rows
from collision_monitor.kernels.poses import (
    compose,
    compose_inverse,
    fill_absolute,
    take_pose,
    to_inner,
    to_outer,
)
from collision_monitor.kernels.reaches import fill_reaches

# Pairs of triangles that are looked at, those of them whose edges and solids give directions, and
# directions. What they leave out is found where it is asked what crosses.
_PAIRS, _CLOSE_LOOKS, _DIRECTIONS, _WAYS = 96, 6, 40, 80
# Directions nearer than this to one that is known, as the cosine, add nothing.
_SAME = 0.995
# How often it is asked, and metres beyond the place where triangles just touch.
_ROUNDS, _BEYOND = 24, 1e-7


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
def _reach(shapes, part, placed, x, y, z):
    """Largest n . p over a solid at ``placed``, its radius included, for a unit n = (x, y, z)."""
    dx = placed[0, 0] * x + placed[1, 0] * y + placed[2, 0] * z
    dy = placed[0, 1] * x + placed[1, 1] * y + placed[2, 1] * z
    dz = placed[0, 2] * x + placed[1, 2] * y + placed[2, 2] * z
    px, py, pz = farthest(shapes.solids, part, dx, dy, dz)
    middle = placed[3, 0] * x + placed[3, 1] * y + placed[3, 2] * z
    return middle + px * dx + py * dy + pz * dz + shapes.solids[part, RADIUS]


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
        _solid_pose(shapes, j, pose, True, placed)
        take_pose(shapes.places, i, place)
        other = work_space(1.0, 7, 3)
        compose_inverse(place, placed, other)
        radii = shapes.solids[i, RADIUS] + shapes.solids[j, RADIUS]
        found = solid_distance(
            shapes.solids, i, other, False, j, radii + _BEYOND, points
        )
        out[0, 0] = out[0, 1] = -1
        return np.int64(1 if found <= radii else 0)
    mesh, solid = (i, j) if i_is_mesh else (j, i)
    if i_is_mesh:
        _solid_pose(shapes, solid, pose, True, placed)
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
        reach_a = _reach(shapes, i, first, x, y, z)
    if count > 0 and rows[0, 1] < 0:
        reach_b = _reach(shapes, j, second, -x, -y, -z)
    way, at = -math.inf, 0
    for k in range(count):
        here = reach_a + reach_b
        if rows[k, 0] >= 0:
            here += _extreme(corners, k, 0, x, y, z, 1.0)[0]
        if rows[k, 1] >= 0:
            here += _extreme(corners, k, 1, x, y, z, -1.0)[0]
        if here > way:
            way, at = here, k
            if way >= enough:
                break
    return way, at


@kernel
def _add(directions, count, x, y, z):
    """Add a direction of any length that is not known yet; how many there are."""
    length = math.sqrt(x * x + y * y + z * z)
    if length < 1e-12 or count >= len(directions):
        return count
    x, y, z = x / length, y / length, z / length
    for k in range(count):
        if abs(directions[k, 0] * x + directions[k, 1] * y + directions[k, 2] * z) > _SAME:
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
def _add_product(directions, known, u, v):
    """Add the product of two vectors, if they are not nearly parallel."""
    x, y, z = u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]
    size = (u[0] * u[0] + u[1] * u[1] + u[2] * u[2]) * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2])
    if x * x + y * y + z * z <= 1e-10 * size:
        return known
    return _add(directions, known, x, y, z)


@kernel
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
        _shrink_solid(shapes.solids, part, step, shrunk, 0)
        if solid_distance(shrunk, 0, other, True, 0, math.inf, points) > 0.0:
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
        placed[2, 0] * x + placed[2, 1] * y + placed[2, 2] * z,
    )  # fmt: skip


@kernel
def _shrink_solid(solids, part, step, out, row):
    """A solid with its sides moved inwards, by more the higher ``step`` of 0 to 3 is."""
    share = 0.03 if step == 0 else (0.15 if step == 1 else (0.5 if step == 2 else 1.0))
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
        _shrink_solid(shapes.solids, i, step, shrunk, 0)
        _shrink_solid(shapes.solids, j, step, shrunk, 1)
        if solid_distance(shrunk, 0, other, False, 1, math.inf, points) > 0.0:
            known = _add_way(first, points, directions, known)
            break
    for m in range(3):
        for n in range(3):
            known = _add_product(directions, known, _axis(first, m), _axis(second, n))
    return known


@kernel
def _find_directions(shapes, i, j, first, second, rows, count, corners, directions):
    """Fill ``directions`` (k, 3) with unit vectors, either way of which may be a way out."""
    known = 0
    i_is_solid, j_is_solid = shapes.parts[i, 0] != MESH, shapes.parts[j, 0] != MESH
    if i_is_solid and j_is_solid:
        known = _add_ways_between_solids(shapes, i, j, first, second, directions, known)
    for m in range(3):
        if i_is_solid:
            known = _add(directions, known, first[0, m], first[1, m], first[2, m])
        if j_is_solid:
            known = _add(directions, known, second[0, m], second[1, m], second[2, m])
    for k in range(min(count, _CLOSE_LOOKS)):
        if i_is_solid and not j_is_solid:
            known = _add_ways_out_of_solid(shapes, i, first, corners, k, 1, directions, known)
        if j_is_solid and not i_is_solid:
            known = _add_ways_out_of_solid(shapes, j, second, corners, k, 0, directions, known)
    for k in range(count):
        if known >= _DIRECTIONS - 12:
            break
        for side in range(2):
            if rows[k, side] >= 0:
                known = _add_product(
                    directions, known, _edge(corners, k, side, 0), _edge(corners, k, side, 1)
                )
    for k in range(min(count, _CLOSE_LOOKS)):
        for m in range(9):
            u = _axis(first, m // 3) if i_is_solid else _edge(corners, k, 0, m // 3)
            v = _axis(second, m % 3) if j_is_solid else _edge(corners, k, 1, m % 3)
            known = _add_product(directions, known, u, v)
    if known == 0:  # points and segments alone
        known = _add(directions, known, 1.0, 0.0, 0.0)
        known = _add(directions, known, 0.0, 1.0, 0.0)
        known = _add(directions, known, 0.0, 0.0, 1.0)
    return known


@kernel
def _past(data, shapes, i, j, pose, first, second, x, y, z):
    """How far the second part must move along a unit vector to be past all of the first."""
    far = 0.0
    if shapes.parts[i, 0] == MESH:
        a = tree_of(data, shapes, i)
        fill_reaches(a, 0, x, y, z)
        far += a.reaches[0, 0]
    else:
        far += _reach(shapes, i, first, x, y, z)
    if shapes.parts[j, 0] != MESH:
        return far + _reach(shapes, j, second, -x, -y, -z)
    b = tree_of(data, shapes, j)
    fill_reaches(
        b, 1,
        -pose[0, 0] * x - pose[1, 0] * y - pose[2, 0] * z,
        -pose[0, 1] * x - pose[1, 1] * y - pose[2, 1] * z,
        -pose[0, 2] * x - pose[1, 2] * y - pose[2, 2] * z,
    )  # fmt: skip
    return far + b.reaches[0, 1] - (x * pose[3, 0] + y * pose[3, 1] + z * pose[3, 2])


@kernel
def _contact_point(shapes, i, j, first, second, rows, corners, k, x, y, z, out):
    """A point at the contact of pair k, in ``out`` row 0: of the smaller of the two, the deepest.

    Whether it is one of the first.
    """
    a, at_a = _extreme(corners, k, 0, x, y, z, 1.0)
    b, at_b = _extreme(corners, k, 1, x, y, z, -1.0)
    size_a = _size(corners, k, 0) if rows[k, 0] >= 0 else shapes.balls[i, 3]
    size_b = _size(corners, k, 1) if rows[k, 1] >= 0 else shapes.balls[j, 3]
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
def part_depth(data, shapes, i, j, pose, most, points):
    """(depth, row, row) of two parts that touch, cross or hold one another; -1 if they do not.

    Metres; at most ``most``. ``pose`` of the second's link in the first's. ``points`` (3, 3) gets
    a point of each at the contact, as far apart as the depth is, and the unit vector along which
    the second part has to move, in the frame of the first link.
    """
    rows, corners = work_space(i, _PAIRS, 2), work_space(most, _PAIRS, 18)
    first, second = work_space(most, 7, 3), work_space(most, 7, 3)
    _solid_pose(shapes, i, pose, False, first)
    _solid_pose(shapes, j, pose, True, second)
    count = list_contacts(data, shapes, i, j, pose, rows)
    held = count == 0
    if held and not holds(data, shapes, i, j, pose):
        return -1.0, np.int64(-1), np.int64(-1)
    _take_triangles(data, shapes, i, j, pose, rows, count, corners)
    directions, ways = work_space(most, _DIRECTIONS, 3), work_space(most, _WAYS, 1)
    if held:
        known = 0
        for m in range(3):
            known = _add(directions, known, 1.0 * (m == 0), 1.0 * (m == 1), 1.0 * (m == 2))
            known = _add(directions, known, pose[0, m], pose[1, m], pose[2, m])
    else:
        known = _find_directions(shapes, i, j, first, second, rows, count, corners, directions)
    for k in range(2 * known):
        sign = 1.0 if k % 2 == 0 else -1.0
        x, y, z = (
            sign * directions[k // 2, 0], sign * directions[k // 2, 1], sign * directions[k // 2, 2]
        )  # fmt: skip
        if held:
            ways[k, 0] = _past(data, shapes, i, j, pose, first, second, x, y, z)
        else:
            ways[k, 0], _ = _way(
                shapes, i, j, first, second, rows, count, corners, x, y, z, math.inf
            )
    moved = work_space(most, 7, 3)
    for row in range(7):
        for column in range(3):
            moved[row, column] = pose[row, column]
    sure = held or (shapes.parts[i, 0] != MESH and shapes.parts[j, 0] != MESH)
    later, later_corners = work_space(i, _PAIRS, 2), work_space(most, _PAIRS, 18)
    best = 0
    for _ in range(_ROUNDS):
        best = 0
        for k in range(2 * known):
            if ways[k, 0] < ways[best, 0]:
                best = k
        if sure or ways[best, 0] >= most:
            break
        sign = 1.0 if best % 2 == 0 else -1.0
        x, y, z = (
            sign * directions[best // 2, 0],
            sign * directions[best // 2, 1],
            sign * directions[best // 2, 2],
        )
        way = ways[best, 0] + _BEYOND
        moved[3, 0], moved[3, 1], moved[3, 2] = (
            pose[3, 0] + way * x, pose[3, 1] + way * y, pose[3, 2] + way * z
        )  # fmt: skip
        again = list_contacts(data, shapes, i, j, moved, later)
        if again == 0:
            if not holds(data, shapes, i, j, moved):
                sure = True
                break
            ways[best, 0] = _past(data, shapes, i, j, pose, first, second, x, y, z)
            continue
        _take_triangles(data, shapes, i, j, moved, later, again, later_corners)
        _solid_pose(shapes, j, moved, True, second)
        on, _ = _way(shapes, i, j, first, second, later, again, later_corners, x, y, z, math.inf)
        _solid_pose(shapes, j, pose, True, second)
        ways[best, 0] = way + max(on, 0.02 * way)
    sign = 1.0 if best % 2 == 0 else -1.0
    x, y, z = (
        sign * directions[best // 2, 0], sign * directions[best // 2, 1],
        sign * directions[best // 2, 2],
    )  # fmt: skip
    depth = ways[best, 0]
    if not sure and depth < most:
        depth = max(depth, _past(data, shapes, i, j, pose, first, second, x, y, z))
    depth = min(depth, most)
    row_a = row_b = np.int64(-1)
    if held:
        _, deepest = 0, 0
        px, py, pz = to_outer(pose, shapes.balls[j, 0], shapes.balls[j, 1], shapes.balls[j, 2])
        points[1, 0], points[1, 1], points[1, 2] = px, py, pz
        takes_first = False
    else:
        _, deepest = _way(
            shapes, i, j, first, second, rows, count, corners, x, y, z, math.inf
        )
        takes_first = _contact_point(
            shapes, i, j, first, second, rows, corners, deepest, x, y, z, points
        )
        row_a, row_b = rows[deepest, 0], rows[deepest, 1]
        if not takes_first:
            points[1, 0], points[1, 1], points[1, 2] = points[0, 0], points[0, 1], points[0, 2]
    shift = -depth if takes_first else depth
    known_row, other_row = (0, 1) if takes_first else (1, 0)
    points[other_row, 0] = points[known_row, 0] + shift * x
    points[other_row, 1] = points[known_row, 1] + shift * y
    points[other_row, 2] = points[known_row, 2] + shift * z
    points[2, 0], points[2, 1], points[2, 2] = x, y, z
    return depth, row_a, row_b
