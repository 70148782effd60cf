# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is known and needed of the candidates of a braking path, row by row.

A candidate is a pair of links that may come near (`near_pairs`). `exact_level` measures them with
these kernels in between, in this order: `ask`, `take`, `drop_far`, `set_needs`, `choose`,
`take_paths`, `conclude`. Rows of ``needs`` (k, `NEEDS`) belong to those of ``candidates``; metres.
"""

from __future__ import annotations

import numpy as np

from collision_monitor.common.compiled import kernel, small_kernel
from collision_monitor.continuous.known_pairs import keep_pair, raised, unpack_known
from collision_monitor.continuous.near_pairs import (
    DISTANCE,
    LEAST,
    PAIR,
    RATE,
    TRAVEL,
)
from collision_monitor.monitoring.speed_policy.decision import ramp, reserve

# Columns of ``needs``, metres unless it says otherwise:
#   STOP, WARN   thresholds of the pair
#   NOW          distance now: exact, or a bound that is large enough
#   ENOUGH       bounds on the path need not exceed this: beyond it the pair holds no flag
#   NEEDED       the same while a pair is too close, when the speed is that of leaving at most
#   WANTED       the same for a pair that moves away: enough to know that it does not turn back
#   FINE         tolerance of bounds on the path
#   HOLDING      a smaller bound holds an earlier stop
#   LOWEST       least distance measured on the path
#   PROVEN       lower bound on the path of a pair that was measured there, else -inf
#   PART         part of the speed that LEAST allows
#   MEASURABLE   flag: it can be measured on the path
#   LIMITS       flag: it limits the speed, since it does not move away
#   GOES_ON      flag: it moves away, and stays away while it brakes
#   BOUNDS       row of `PathBounds`, -1 without one
NEEDS = 15
(
    STOP, WARN, NOW, ENOUGH, NEEDED, WANTED, FINE, HOLDING, LOWEST, PROVEN, PART,
    MEASURABLE, LIMITS, GOES_ON, BOUNDS,
) = range(NEEDS)  # fmt: skip
# Tolerated error of a distance now: metres, and a part of the warning distance of its pair.
LOOSE_NOW, _LOOSE_PART = 1e-3, 0.05
# Tolerance of a bound on the path, relative to the range between the stop and the warning distance.
_FINE_PART = 0.1
# Objects of more parts are not measured on braking paths: those of clouds take most of a cycle, and
# are hardly nearer than their spheres.
_MOST_PARTS = 64


@kernel
def ask(
    candidates, thresholds, release, pair_rows, part_counts, own, nearest, needs, asked, request
):
    """Write which exact distances of candidates are needed now; return their number.

    Pairs are written to ``asked`` (k,); their distances by leaves, within, loose and near, as
    `ExactBounds` takes them, to the rows of ``request`` (4, k). The pair ``nearest`` is measured
    already. If it has an object, the nearest pair without one, by its leaves, is measured exactly,
    and the other way round: the first ``own`` pairs are without. ``part_counts`` are those of the
    rows in ``pair_rows`` (pairs, 2).
    """
    count, other, least = 0, -1, np.inf
    for row in range(len(candidates)):
        pair, leaves = int(candidates[row, PAIR]), candidates[row, DISTANCE]
        warn = thresholds[pair, 1]
        loose, spare = min(LOOSE_NOW, _LOOSE_PART * warn), reserve(release, warn)
        stop, enough = thresholds[pair, 0], warn + spare
        near = enough + 2.0 * loose
        # Farther away than this, a pair does not matter: now, or after it has braked.
        within = near + candidates[row, TRAVEL]
        one, two = pair_rows[pair, 0], pair_rows[pair, 1]
        can_be_measured = max(part_counts[one], part_counts[two]) <= _MOST_PARTS
        # What is known from earlier cycles is enough for pairs that are not near now: if they come
        # near, they are measured there, if they are measured on the path at all.
        near = near if can_be_measured else within
        needs[row, STOP], needs[row, WARN], needs[row, NOW] = stop, warn, leaves
        needs[row, ENOUGH], needs[row, HOLDING] = enough, stop + spare
        needs[row, MEASURABLE] = 1.0 if can_be_measured else 0.0
        if pair == nearest or leaves > within:
            continue
        asked[count] = pair
        request[0, count], request[1, count] = leaves, within
        request[2, count], request[3, count] = loose, near
        if (pair >= own) != (nearest >= own) and leaves < least:
            other, least = count, leaves
        count += 1
    if other >= 0:
        request[2, other] = 0.0
    return count


@kernel
def undecided(thresholds, pairs, distances, loose, rows):
    """Write the ``rows`` (k,) of distances that may be on either side of a threshold; how many.

    Distances (k,) of ``pairs`` are at most ``loose`` (k,) too small.
    """
    count = 0
    for row in range(len(pairs)):
        for side in range(2):
            below = thresholds[pairs[row], side] - distances[row]
            if 0.0 <= below < loose[row]:
                rows[count] = row
                count += 1
                break
    return count


@small_kernel
def _is_open(candidates, needs, row, moves):
    """Whether distances on the braking path may raise the bound of a candidate."""
    least, now = candidates[row, LEAST], needs[row, NOW]
    if not moves or needs[row, MEASURABLE] == 0.0:
        return False
    return least <= needs[row, ENOUGH] and least < now and now > 0.0


@kernel
def take(candidates, needs, asked, found, nearest, distance, moves, rows):
    """Take distances ``found`` (n,) of the pairs ``asked``, and that of the pair ``nearest``.

    Returns the number of ``rows`` (k,) whose bounds earlier measurements may raise.
    """
    at, count = 0, 0
    for row in range(len(candidates)):
        pair = int(candidates[row, PAIR])
        if pair == nearest:
            needs[row, NOW] = distance
        elif at < len(found) and asked[at] == pair:
            needs[row, NOW] = found[at]
            at += 1
        at_end = needs[row, NOW] - candidates[row, TRAVEL]
        candidates[row, LEAST] = raised(candidates[row, LEAST], at_end)
        needs[row, BOUNDS] = -1.0
        if _is_open(candidates, needs, row, moves):
            needs[row, BOUNDS] = count
            rows[count] = row
            count += 1
    return count


@kernel
def drop_far(candidates, needs, bounds, known_numbers, known_index):
    """Raise LEAST by ``bounds`` (n, intervals), and leave out who stays away; return the rest.

    What is known is kept in both arrays of `known_pairs`. Those that are left come first.
    """
    known, size = unpack_known(known_numbers, known_index), 0
    for row in range(len(candidates)):
        own, now = int(needs[row, BOUNDS]), needs[row, NOW]
        if own >= 0:
            on_path = min(bounds[own].min(), now)
            candidates[row, LEAST] = max(candidates[row, LEAST], on_path)
        least = candidates[row, LEAST]
        keep_pair(known, int(candidates[row, PAIR]), now, least)
        if not least > needs[row, ENOUGH]:
            # Column by column: the assignment of a row takes two seconds to compile.
            for column in range(candidates.shape[1]):
                candidates[size, column] = candidates[row, column]
            for column in range(needs.shape[1]):
                needs[size, column] = needs[row, column]
            size += 1
    return size


@kernel
def set_needs(candidates, needs, holds, parting, escape, tolerance, resolution):
    """Set what distances on the path are needed for; whether a pair is too close now, and which.

    ``holds``: whether an earlier stop is held; ``parting``, ``escape`` and ``resolution``: settings
    of the speed policy. The pair is one that does not move away, -1 if there is none.
    """
    inside, is_inside = -1, False
    for row in range(len(candidates)):
        stop, now = needs[row, STOP], needs[row, NOW]
        is_inside |= now <= stop
        if inside < 0 and not candidates[row, RATE] > parting and not now > stop:
            inside = int(candidates[row, PAIR])
    for row in range(len(candidates)):
        rate, now = candidates[row, RATE], needs[row, NOW]
        stop, warn, needed = needs[row, STOP], needs[row, WARN], needs[row, ENOUGH]
        holding = stop
        if holds:
            holding = warn if rate < -parting else needs[row, HOLDING]
        if is_inside:
            # The scale is that of leaving at most: who moves away and allows it does not matter.
            needed = min(needed, max(holding, stop + escape * (warn - stop)))
        goes_on = is_inside and rate > parting and candidates[row, LEAST] >= needed
        limits = rate <= parting
        needs[row, HOLDING], needs[row, NEEDED] = holding, needed
        # A pair that moves away may be ignored unless it comes nearer than now.
        needs[row, WANTED] = needed if limits else min(needed, now - tolerance)
        needs[row, FINE] = min(resolution, _FINE_PART * (warn - stop))
        needs[row, LOWEST], needs[row, PROVEN] = now, -np.inf
        needs[row, GOES_ON], needs[row, LIMITS] = 1.0 if goes_on else 0.0, 1.0 if limits else 0.0
    return is_inside, inside


@small_kernel
def _is_wanted(candidates, needs, row, moves):
    """Whether a candidate is to be measured on the path."""
    target = min(needs[row, WANTED], needs[row, NOW] - needs[row, FINE])
    is_open = _is_open(candidates, needs, row, moves) and needs[row, GOES_ON] == 0.0
    return is_open and candidates[row, LEAST] < target


@kernel
def choose(candidates, needs, moves, scale, chosen):
    """Choose the ``chosen`` (k,) rows to be measured on the path, the worst first.

    Returns (their number, ``scale`` or less if another candidate allows less, whether another one
    holds a stop). If one does, none is measured: they have their distance now as LEAST.
    """
    count = 0
    for row in range(len(candidates)):
        if _is_wanted(candidates, needs, row, moves):
            at, part = count, ramp(candidates[row, LEAST], needs[row, STOP], needs[row, WARN])
            needs[row, PART] = part
            while at > 0 and part < needs[chosen[at - 1], PART]:
                chosen[at] = chosen[at - 1]
                at -= 1
            chosen[at] = row
            count += 1
    if count == 0:
        return count, scale, False
    for row in range(len(candidates)):
        stop, least = needs[row, STOP], candidates[row, LEAST]
        can_limit = needs[row, MEASURABLE] > 0.0 and needs[row, LIMITS] > 0.0 and least > stop
        if not can_limit or _is_wanted(candidates, needs, row, moves):
            continue
        if least <= needs[row, HOLDING]:
            for m in range(count):
                candidates[chosen[m], LEAST] = needs[chosen[m], NOW]
            return 0, scale, True
        scale = min(scale, ramp(least, stop, needs[row, WARN]))
    return count, scale, False


@kernel
def take_paths(
    candidates, needs, known_numbers, known_index, stops, is_inside, parting, tolerance, rows
):  # fmt: skip
    """Keep what was measured on the path; the ``rows`` (k,) whose leaves may know more: how many.

    These are those that cannot be measured on the path, that are not proven to keep their stop
    distance, or that move away but may turn back. ``stops``: whether one stops the robot;
    ``is_inside``: whether one is too close now.
    """
    known, count = unpack_known(known_numbers, known_index), 0
    for row in range(len(candidates)):
        keep_pair(known, int(candidates[row, PAIR]), needs[row, NOW], needs[row, PROVEN])
        bound, now = candidates[row, LEAST], needs[row, NOW]
        parts, measurable = candidates[row, RATE] > parting, needs[row, MEASURABLE] > 0.0
        if is_inside:
            needs[row, GOES_ON] = 1.0 if parts and bound >= needs[row, NEEDED] else 0.0
        if needs[row, GOES_ON] > 0.0 or (measurable and stops):
            continue
        is_unproven = bound <= needs[row, STOP] and now > needs[row, STOP]
        may_turn = parts and bound < now - tolerance
        if is_unproven or ((may_turn or not measurable) and bound <= needs[row, ENOUGH]):
            rows[count] = row
            count += 1
    return count


@kernel
def conclude(candidates, needs, rows, by_leaves, parting, tolerance):
    """Set DISTANCE and LEAST to what is known; ``by_leaves`` (n, columns): ``rows`` by leaves.

    A pair that moves away, and does not turn back while it brakes, has its distance now as LEAST.
    """
    for m in range(len(rows)):
        row, bound = rows[m], by_leaves[m, LEAST]
        candidates[row, LEAST] = raised(candidates[row, LEAST], bound)
        # Whether leaves of a pair that moves apart do not turn back while it brakes.
        needs[row, GOES_ON] = 1.0 if bound >= by_leaves[m, DISTANCE] - tolerance else 0.0
    for row in range(len(candidates)):
        now, least = needs[row, NOW], candidates[row, LEAST]
        parts = candidates[row, RATE] > parting
        if not (parts and needs[row, GOES_ON] > 0.0 and least <= needs[row, ENOUGH]):
            now = now if now < least else least  # LEAST is NaN if NOW is: `take`
        candidates[row, LEAST], candidates[row, DISTANCE] = now, needs[row, NOW]
