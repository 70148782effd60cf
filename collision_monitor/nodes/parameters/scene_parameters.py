# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of the live scene: capacities and timeouts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collision_monitor.nodes.parameters.parameter import Parameter

_LEAST_VOXEL = 0.001  # metres

PARAMETERS = (
    Parameter(
        "scene_max_objects", 200,
        "maximum number of objects on ~/scene; further objects are rejected and reported as ERROR",
        most=2000, read_only=True,
    ),
    Parameter(
        "scene_leaves_per_object", 16,
        "maximum number of capsules and spheres per object of ~/scene", most=64, read_only=True,
    ),
    Parameter(
        "scene_timeout", 0.0,
        "ERROR when no message is received on ~/scene for this time, seconds; 0: never",
        most=3600.0,
    ),
    Parameter(
        "cloud_max_voxels", 2000,
        "maximum number of voxels of ~/cloud; if exceeded, the voxel size is doubled", most=20000,
        read_only=True,
    ),
    Parameter("cloud_voxel_size", 0.05, "voxel size of ~/cloud, metres", most=1.0),
    Parameter(
        "cloud_padding", 0.05,
        "points of ~/cloud within this distance of the robot's leaves are removed as its own, "
        "metres", most=1.0,
    ),
    Parameter(
        "cloud_timeout", 0.0,
        "ERROR when the last cloud is older than this, seconds, or none was received; 0: never",
        most=60.0,
    ),
)  # fmt: skip


def refusal(values: Mapping[str, Any]) -> str:
    """Why this set of values cannot stand; empty when it can."""
    size = values["cloud_voxel_size"]
    if size < _LEAST_VOXEL:
        return f"cloud_voxel_size {size:g} is below {_LEAST_VOXEL:g} m"
    return ""
