# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Forward kinematics of many configurations at once, in numpy: for load time only."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from collision_monitor.robot.bodies import Bodies


def _z_motions(slides: bool, positions: np.ndarray) -> np.ndarray:
    """Poses (n, 4, 4) of a body moved along (``slides``) or about the z axis of its frame."""
    motions = np.broadcast_to(np.eye(4), (len(positions), 4, 4)).copy()
    if slides:
        motions[:, 2, 3] = positions
        return motions
    sine, cosine = np.sin(positions), np.cos(positions)
    motions[:, 0, 0], motions[:, 0, 1] = cosine, -sine
    motions[:, 1, 0], motions[:, 1, 1] = sine, cosine
    return motions


def link_poses(
    bodies: Bodies, links: Iterable[str], configurations: np.ndarray
) -> dict[str, np.ndarray]:
    """Poses (n, 4, 4) of ``links`` in the base frame at each row of ``configurations``.

    Args:
        bodies: the kinematic tree.
        links: names of links, keys of ``bodies.link_bodies``.
        configurations: (n, nq), radians and metres, in the order of ``bodies.joint_names``.
    """
    configurations = np.asarray(configurations, dtype=float)
    poses = [np.broadcast_to(np.eye(4), (len(configurations), 4, 4))]
    for k, parent in enumerate(bodies.parents):
        positions = bodies.gains[k] * configurations[:, bodies.columns[k]] + bodies.offsets[k]
        motions = _z_motions(bool(bodies.slides[k]), positions)
        poses.append(poses[parent] @ bodies.placements[k] @ motions)
    return {link: poses[bodies.link_bodies[link]] @ bodies.link_poses[link] for link in links}
