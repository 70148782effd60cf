# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The sets of kernels that a node compiles in other processes while it loads the robot."""

from __future__ import annotations

from collision_monitor.common.compiled import cache_directory, compiling, is_on_disk
from collision_monitor.common.compiling_process import CompilingProcess
from collision_monitor.hierarchy import object_slots
from collision_monitor.mesh_distance import link_contacts
from collision_monitor.model import point_cloud

_NICE = 19  # the parent loads the robot meanwhile, which is needed first
# One moving link and no pair: the compiled kernels are the same for all robots.
_ROBOT = """<robot name="any"><link name="base"/><link name="arm"><collision><geometry>
<sphere radius="0.1"/></geometry></collision></link><joint name="turn" type="revolute">
<parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""


def compile_ahead(which: str) -> CompilingProcess | None:
    """Start to compile one set of `KERNELS`; None if compiled already, or there is no cache."""
    if cache_directory() is None or is_compiled(which):
        return None
    return CompilingProcess(which, f"{__name__}:{KERNELS[which][0].__name__}", _NICE)


def is_compiled(which: str) -> bool:
    """Whether the last kernels of this set are on disk."""
    return all(is_on_disk(kernel) for kernel in KERNELS[which][1])


def compile_monitor() -> None:
    """Compile the kernels of a monitor with a live scene, except for queries of the robot."""
    from collision_monitor.model import collision_model
    from collision_monitor.model.live_scene import LiveScene
    from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy

    # Queries are compiled by the main process, while it loads the robot.
    collision_model.warm_up = _nothing
    model = collision_model.CollisionModel.from_urdf(_ROBOT)
    with compiling(*KERNELS["monitor"][1]):
        SpeedPolicy(model)
        SpeedPolicy(model, live=LiveScene(model))


def _nothing() -> None:
    pass


def compile_cloud() -> None:
    """Compile the kernels of point clouds."""
    from collision_monitor.model.point_cloud import warm_up

    warm_up()


def compile_exact() -> None:
    """Compile exact distances."""
    from collision_monitor.mesh_distance.mesh_distance import prepare

    prepare(depths=False)


# By name: a function that compiles the set, and its last kernels.
KERNELS = {
    "monitor": (compile_monitor, (object_slots.lay_top,)),
    "exact": (compile_exact, (link_contacts.list_crossings,)),
    "cloud": (compile_cloud, (point_cloud.voxel_centres,)),
}
