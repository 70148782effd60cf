# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The second peer of `adjustment`: RRT-Connect of OMPL and its path simplifier.

The planner uses the clearances of `adjust` for a motion (`choose_margins`), and the same compiled
checks: a state is valid if no pair is below its limit, an edge if it is certified. So both have the
same solutions, and the time is that of the search. A motion that starts closer may stay that close.
It plans for the joints of the arms within their limits (continuous ones half a turn beyond start
and goal), with the default range, a fixed seed, and `PathSimplifier.simplify` for a tenth of the
time at most. Its path has no times: poses are distributed over the waypoints of the desired motion,
as near to them as possible.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from ompl import base, geometric, util

from collision_monitor import CollisionModel
from collision_monitor.motion.robot_joints import SAME_POSITION
from collision_monitor.motion.trajectory import Motion
from collision_monitor.self_collision.arms import Arm
from collision_monitor.self_collision.margins import Problem, choose_margins
from collision_monitor.self_collision.motion_clearance import start_limits
from collision_monitor.self_collision.preparation import configurations, limited, refined
from collision_monitor.self_collision.robust.detour import spread
from collision_monitor.verification.clearance.schedule import rest_configuration

_STEP = 0.05  # rad or m between poses of a path that is spread
_SIMPLIFYING = 0.1  # of the time


@dataclass(frozen=True, eq=False)
class Planned:
    """Result of the planner.

    Attributes:
        positions: (n, joints) distributed over the waypoints of the motion, or None.
        path: (k, joints) the planned path, or None.
        seconds: CPU time, simplifying included.
    """

    positions: np.ndarray | None
    path: np.ndarray | None
    seconds: float


class _Edges(base.MotionValidator):
    def __init__(self, space: base.SpaceInformation, is_free) -> None:
        super().__init__(space)
        self._is_free = is_free

    def checkMotion(self, first: base.State, second: base.State, *_: object) -> bool:  # noqa: N802
        return self._is_free(first, second)


def plan(
    model: CollisionModel,
    arms: tuple[Arm, ...],
    motion: Motion,
    seconds: float,
    safe: float = 0.1,
    danger: float = 0.05,
) -> Planned:
    """A path from the first to the last waypoint of ``motion``, in ``seconds`` at most."""
    util.setLogLevel(util.LogLevel.LOG_NONE)
    util.RNG.setSeed(1)
    begin = time.process_time()
    rest = rest_configuration(model, {})
    start = rest.copy()
    start[model.columns_of(motion.joint_names)] = motion.positions[0]
    model = limited(model, (), start, beyond=SAME_POSITION)
    motion = refined(motion)
    desired = configurations(model, motion, rest)
    columns = [model.columns_of(arm.joint_names) for arm in arms]
    able = np.concatenate(columns)
    margins = choose_margins(model, arms, desired, safe, danger, able)
    every = tuple(range(len(arms)))
    problem = Problem(model, arms, motion.times, desired, tuple(columns), margins, every)
    proximity = problem.proximity
    limits = start_limits(proximity, desired[0], margins.safe)

    start, goal = desired[0][able], desired[-1][able]
    space = base.RealVectorStateSpace(len(able))
    bounds = base.RealVectorBounds(len(able))
    least, most = np.minimum(start, goal) - np.pi, np.maximum(start, goal) + np.pi
    for k, column in enumerate(able):
        low, high = model.lower[column], model.upper[column]
        bounds.setLow(k, float(low if np.isfinite(low) else least[k]))
        bounds.setHigh(k, float(high if np.isfinite(high) else most[k]))
    space.setBounds(bounds)

    def pose(state: base.State) -> np.ndarray:
        q = desired[0].copy()
        q[able] = [state[k] for k in range(len(able))]
        return q

    def is_free(first: base.State, second: base.State) -> bool:
        return proximity.certify(pose(first), pose(second), limits).holds

    setup = geometric.SimpleSetup(space)
    information = setup.getSpaceInformation()
    setup.setStateValidityChecker(
        lambda state: not len(proximity.near(pose(state), limits, 0.0).pairs)
    )
    edges = _Edges(information, is_free)
    information.setMotionValidator(edges)
    ends = []
    for values in (start, goal):
        state = space.allocState()
        for k, value in enumerate(values):
            state[k] = float(value)
        ends.append(state)
    setup.setStartAndGoalStates(*ends)
    setup.setPlanner(geometric.RRTConnect(information))
    status = setup.solve(seconds)
    if not (status and setup.haveExactSolutionPath()):
        return Planned(None, None, time.process_time() - begin)
    setup.simplifySolution(_SIMPLIFYING * seconds)
    states = setup.getSolutionPath().getStates()
    path = np.array([pose(state) for state in states])
    spent = time.process_time() - begin
    fine = [path[:1]]
    for a, b in zip(path[:-1], path[1:], strict=True):
        count = max(1, int(np.ceil(np.abs(b - a).max() / _STEP)))
        fine.append(a + np.arange(1, count + 1)[:, None] / count * (b - a))
    named = [model.joint_names.index(name) for name in motion.joint_names]
    spreaded = spread(np.vstack(fine), desired)
    return Planned(spreaded[:, named], path[:, named], spent)
