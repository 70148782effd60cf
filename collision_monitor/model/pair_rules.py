# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The numbers of the rules by which pairs are left out, or are near by design.

The rules are in docs/behaviour.md. The numbers were tuned on 41 vendor robots
(benchmarks/vendor_robots.py): no contact is missed there, and hardly an alarm is without cause.
"""

from __future__ import annotations

# Of all results that are cached: increase it when the same input gives another one.
VERSION = 52

# -- the rules --

# Share of the sampled configurations in which links meet that overlap by design, if they also meet
# at rest. Shoulders of Baxter (0.73) and PR2 (0.77) do, which their vendors exempt.
USUALLY = 2.0 / 3.0
# Share that is no accident: of the poses around zero in which links in series meet (fingers without
# real joint limits are mostly in the palm, but rest apart), and of the configurations in which a
# pair comes within `REACH` whose smallest distance counts.
SOMETIMES = 0.1
# Share that does not count: links "always" meet in all others, so that only deeper contacts would
# be news, and the usual distance is the one below which a pair is in so many of those without
# contact.
RARELY = 0.05
ALWAYS = 1.0 - RARELY
# Share of the configurations in which a pair that is usually near is within its warning distance.
# With a half, UR10's forearm and flange (49 %) would warn in most random poses.
OFTEN_NEAR = 0.4
FEW = 2  # joints that move links; more of them can bring links together in many ways
# Metres between shapes that nearly meet, as the tolerance of distances on a braking path.
TOUCH = 0.001
# Metres of overlap that may be faces in touch; and the error of a depth.
GRAZE = 0.002
# Metres that shapes may overlap around one joint: limits keep its two sides apart.
COVER = 0.02
# Times as deep as around zero, and a graze more: the links may also collide elsewhere.
DEEPER = 2.0
# Part of the size of a link (radius of a ball around it): contacts that are farther apart on both
# links are at several places. A joint's housing turns within 0.46; the flange of an LR Mate that
# meets its fork at four places, 0.69.
PLACE = 0.5
# Warning and stop distance as parts of the usual distance: a margin for what differs from the
# samples, and room between the two.
WARN_PART, STOP_PART = 0.8, 0.4

# -- how distances are sampled --

SAMPLES = 256  # random configurations
SAMPLES_AROUND_ZERO = 100
# Poses around zero: up to this part of the range of each joint away from it.
AROUND_ZERO = 0.15
# Parts of the range of each joint for pairs that one, two or three joints move, with one
# configuration in each cell.
GRID = (64, 16, 6)
# Metres. Larger distances are not measured: pairs that are usually farther apart are not near.
REACH = 0.15
# Share of the configurations: pairs whose leaves are within `REACH` in fewer are not measured,
# unless near at home. `adjust` takes it for `OFTEN_NEAR`, as the least that is known: with that
# one, Baxter's elbows would be refused beside its head in 5 % of all poses.
LEAST_SHARE = 0.35
# Smaller distances (metres) may be errors of the meshes.
LEAST_DISTANCE = 0.0002
# The range of one or two joints is divided into so many cells each, and these further, until links
# move by at most so many metres in a cell. Shapes that come within a cell's motion and `TOUCH` are
# near in it: with other cells, gaps of 2 mm would count in PR2's head, or not in TALOS' grippers.
RANGE_CELLS, RANGE_STEP = (80, 16), 0.01
