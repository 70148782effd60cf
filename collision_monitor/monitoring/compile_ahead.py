# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The sets of kernels that a node compiles in other processes while it loads the robot."""

from __future__ import annotations

from collision_monitor.common.compiled import cache_directory, compiling, is_on_disk
from collision_monitor.common.compiling_process import CompilingProcess
from collision_monitor.hierarchy import object_slots
from collision_monitor.model import point_cloud
from collision_monitor.monitoring.speed_policy import exact_paths

_NICE = 5  # drivers and the node itself come first
# One pair of links that moves: the compiled kernels are the same for all robots.
_LINK = '<link name="{}"><collision><geometry><sphere radius="0.1"/></geometry></collision></link>'
_JOINT = """<joint name="{0}_joint" type="revolute"><parent link="{1}"/><child link="{0}"/>
<origin xyz="1 0 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
</joint>"""
_ROBOT = (
    '<robot name="any">'
    + "".join(_LINK.format(name) for name in ("base", "arm", "hand"))
    + _JOINT.format("arm", "base") + _JOINT.format("hand", "arm") + "</robot>"
)  # fmt: skip


def compile_ahead(which: str) -> CompilingProcess | None:
    """Start to compile one set of `KERNELS`; None if compiled already, or there is no cache."""
    if cache_directory() is None or is_compiled(which):
        return None
    return CompilingProcess(which, f"{__name__}:{KERNELS[which][0].__name__}", _NICE)


def is_compiled(which: str) -> bool:
    """Whether the last kernels of this set are on disk."""
    return all(is_on_disk(kernel) for kernel in KERNELS[which][1])


def compile_monitor() -> None:
    """Compile the kernels of a monitor with a live scene and a point cloud."""
    from collision_monitor.hierarchy.query import warm_up_for_states
    from collision_monitor.model.collision_model import CollisionModel
    from collision_monitor.model.live_scene import LiveScene
    from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy

    model = CollisionModel.from_urdf(_ROBOT)
    warm_up_for_states()
    with compiling(*KERNELS["monitor"][1]):
        SpeedPolicy(model)
        SpeedPolicy(model, live=LiveScene(model))
    point_cloud.warm_up()


def compile_exact() -> None:
    """Compile exact distances, also along braking paths, and lists of crossing triangles."""
    from collision_monitor.mesh_distance.mesh_distance import CROSSINGS, DISTANCES, prepare
    from collision_monitor.model.collision_model import CollisionModel

    prepare(DISTANCES)
    prepare(CROSSINGS)
    model = CollisionModel.from_urdf(_ROBOT)
    with compiling(*KERNELS["exact"][1]):
        exact_paths.ExactPaths(model)


# By name: a function that compiles the set, and its last kernels.
KERNELS = {
    "monitor": (compile_monitor, (object_slots.lay_top, point_cloud.voxel_centres)),
    "exact": (compile_exact, (exact_paths.measure_pair,)),
}
