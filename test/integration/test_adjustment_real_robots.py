# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Adjusted motions of real robots keep what they promise: measured on the meshes, by coal."""

from dataclasses import dataclass

import numpy as np
import pytest
from support.geometry.mesh_clearance import MeshClearance, between
from support.geometry.reference import Reference
from support.robots.crossing_motions import (
    DANGER,
    SAFE,
    CrossingMotions,
    kept_apart,
    load_two_arms,
    rest,
)
from support.robots.robots import require

from collision_monitor import CollisionModel
from collision_monitor.errors import AdjustmentError
from collision_monitor.motion.trajectory import Motion
from collision_monitor.self_collision import Adjustment, adjust
from collision_monitor.self_collision.margins import sides

for package in ("daqp", "piqp"):
    pytest.importorskip(package, reason=f"{package} is not installed")

# By robot: motions, how many of them are solved at least.
MOTIONS = {"baxter": (5, 5), "pr2": (8, 7), "tiago_dual": (3, 2)}
# Fitting all of these robots takes minutes.
ROBOTS = ["baxter", *(pytest.param(name, marks=pytest.mark.slow) for name in ("pr2", "tiago_dual"))]


@dataclass
class Adjusted:
    """A robot, its motions, and what `adjust` made of each."""

    model: CollisionModel
    arms: tuple
    meshes: MeshClearance
    columns: list
    least: int
    by_design: bool  # whether some links of the two arms cannot be d_saf apart
    motions: list[Motion]
    results: list[Adjustment | AdjustmentError]

    def solved(self):
        pairs = zip(self.motions, self.results, strict=True)
        return [(m, r) for m, r in pairs if isinstance(r, Adjustment)]

    def refused(self):
        pairs = zip(self.motions, self.results, strict=True)
        return [(m, r) for m, r in pairs if isinstance(r, AdjustmentError)]

    def rows(self, positions):
        rows = np.repeat(rest(self.model)[None], len(positions), axis=0)
        rows[:, self.columns] = positions
        return rows


def attempt(model, motion, arms):
    try:
        return adjust(model, motion, arms, retime=False)
    except AdjustmentError as error:
        return error


@pytest.fixture(scope="module", params=ROBOTS)
def adjusted(request):
    files = require(request.param)
    count, least = MOTIONS[request.param]
    model, arms = load_two_arms(files)
    source = CrossingMotions(model, arms, seed=0, bent=request.param == "pr2")
    motions = source.take(count)
    facing = sides(model, arms).between
    apart = kept_apart(model, arms, SAFE, DANGER) & facing
    meshes = MeshClearance(model, Reference(files.urdf, files.package_dirs, model), apart)
    results = [attempt(model, motion, arms) for motion in motions]
    by_design = bool((facing & ~apart).any())
    return Adjusted(model, arms, meshes, source.columns, least, by_design, motions, results)


def test_arms_meet_on_the_desired_motions(adjusted):
    nearest = [adjusted.meshes.least(adjusted.rows(m.positions))[0] for m in adjusted.motions]
    assert max(nearest) < SAFE
    assert np.median(nearest) < 0.5 * SAFE


def test_most_motions_are_solved(adjusted):
    assert len(adjusted.solved()) >= adjusted.least, [str(r) for _, r in adjusted.refused()]


def test_meshes_of_the_arms_keep_the_safe_distance_between_waypoints_too(adjusted):
    for _, result in adjusted.solved():
        rows = between(adjusted.rows(result.motion.positions), 10)
        distance, row, links = adjusted.meshes.least(rows)
        assert distance >= SAFE, (row / 10, links)
        # On PR2 the shoulders cannot be that far apart; they are not among the meshes here.
        assert result.certified == SAFE or adjusted.by_design


def test_a_refusal_says_where_and_why_and_its_prefix_is_safe(adjusted):
    # A goal inside the other arm is refused on every robot, so there is always one to look at.
    motion = adjusted.motions[0]
    nearest = adjusted.meshes.least(adjusted.rows(motion.positions))[1]
    cut = Motion(motion.joint_names, motion.times[: nearest + 1], motion.positions[: nearest + 1])
    impossible = attempt(adjusted.model, cut, adjusted.arms)
    assert isinstance(impossible, AdjustmentError)
    for desired, error in [(cut, impossible), *adjusted.refused()]:
        assert 0 <= error.waypoint < len(desired.times)
        assert error.time == desired.times[error.waypoint]
        assert error.pair in adjusted.model.pairs
        assert np.isfinite(error.distance)
        for text in (f"waypoint {error.waypoint} ", *error.pair, f"{error.distance:.4f} m"):
            assert text in str(error)
        prefix = error.safe_prefix
        assert np.array_equal(prefix.positions[0], desired.positions[0])
        assert len(prefix.times) <= len(desired.times)
        rows = adjusted.rows(prefix.positions)
        assert adjusted.meshes.least(between(rows, 20))[0] >= SAFE
