# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Write docs/parameters.md from what the nodes declare, so that it cannot say anything else.

Run it with ``make docs PAGES=parameters``; needs rclpy. ``--check`` writes nothing, and ends with
code 1 where the file is not what this makes.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from collision_monitor.nodes.parameters import (
    monitor_parameters,
    self_collision_parameters,
    simulation_parameters,
)
from collision_monitor.nodes.parameters.parameter import Parameter

DOCS = Path(__file__).resolve().parent
TARGET = DOCS / "parameters.md"
NODES = {
    "collision_monitor": (
        monitor_parameters.GROUPS,
        "`config/collision_monitor.yaml` has them all with their defaults; the managed node "
        "`collision_monitor_lifecycle` has the same.",
    ),
    "self_collision": (
        {"": self_collision_parameters.PARAMETERS},
        "`config/self_collision.yaml` has them all with their defaults; "
        "[the node](adjust.md#the-node-self_collision).",
    ),
    "simulation": (
        {"": simulation_parameters.PARAMETERS},
        "`config/simulation.yaml` has them all with their defaults; [the node](simulation.md).",
    ),
}
# Where more is said about a parameter; pages that are not there are left out.
MORE = {
    "scene": "scene.md", "scene_max_objects": "scene.md#obstacles-on-topics",
    "cloud_max_voxels": "scene.md#point-clouds", "leaves": "reports/leaves.md",
    "narrow_phase": "reports/exact.md",
    "pair_thresholds": "behaviour.md#distances-for-single-pairs",
    "thresholds_file": "behaviour.md#distances-for-single-pairs",
    "prediction": "behaviour.md#prediction", "latch_stops": "behaviour.md#stops-that-people-end",
    "acknowledge_stops": "behaviour.md#stops-that-people-end",
    "stop_service": "behaviour.md#calling-a-driver",
    "show_aabb_levels": "view.md#rviz", "show_mesh_level": "view.md#rviz",
    "marker_rate": "view.md#rviz", "joint_state_timeout": "safety.md",
    "robots": "robots.md", "record": "record.md", "arms": "adjust.md#selection-of-the-arms",
    "method": "adjust.md#methods", "fit": "reports/methods.md", "hierarchy": "reports/exact.md",
    "heed_speed_scale": "simulation.md",
}  # fmt: skip
INTRODUCTION = """# Parameters

Written by `make docs PAGES=parameters` from what the nodes declare; a test compares them. "Fixed"
ones are read when a node starts; the others take effect with `ros2 param set`, are checked
together, and are refused with a reason. `ros2 param describe` says the same. An empty text among
a list is nothing: ROS has no empty lists.
"""
END = """## A robot that cannot be loaded

A robot given as a parameter that cannot be loaded ends a node with exit code 1 and the reason. A
bad description on the topic does not: the node stays, `~/state` is ERROR with the reason, and the
next description is tried. If a good one was monitored before,
[it goes on being monitored](robots.md#a-new-description-while-running), and the state's key
`description_refused` says what is wrong with the new one.
"""


def span(parameter: Parameter) -> str:
    """What its descriptor lets pass."""
    described = parameter.descriptor()
    parts = [
        f"{found.from_value:g} to {found.to_value:g}"
        for found in (*described.integer_range, *described.floating_point_range)
    ]
    if parameter.or_zero:
        parts = [f"0, {parameter.least:g} to {parameter.most:g}"]
    elif parameter.positive:
        parts = [f"above {parts[0]}"]
    return ", ".join([*parts, *(["fixed"] if described.read_only else [])])


def row(parameter: Parameter) -> str:
    """One line of a table."""
    text = parameter.descriptor().description.replace("|", "\\|")
    page = MORE.get(parameter.name)
    if page and (DOCS / page.partition("#")[0]).is_file():
        text += f" ([more]({page}))"
    name, default = parameter.name, json.dumps(parameter.default)
    return f"| `{name}` | `{default}` | {span(parameter)} | {text} |"


def page() -> str:
    """The whole file."""
    lines = [INTRODUCTION]
    for node, (groups, introduction) in NODES.items():
        lines += [f"## {node}", "", introduction, ""]
        for title, found in groups.items():
            lines += [title, ""] if title else []
            lines += ["| parameter | default | range | meaning |", "|---|---|---|---|"]
            lines += [*map(row, found), ""]
    return "\n".join([*lines, END])


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file, or check it; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 if it differs")
    options = parser.parse_args(arguments)
    text = page()
    if not options.check:
        TARGET.write_text(text, encoding="utf-8")
        return 0
    if TARGET.read_text(encoding="utf-8") == text:
        return 0
    text = "docs/parameters.md is not what the nodes declare: run make docs PAGES=parameters"
    print(text, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
