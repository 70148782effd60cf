# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Fits the leaves of the demo's robot and writes them, so that the demo need not fit them.

python urdf/make_dual_arm_leaves.py
"""

from __future__ import annotations

from pathlib import Path

from collision_monitor import CollisionModel
from collision_monitor.fitting.leaves_file import shapes_digest, write_leaves
from collision_monitor.geometry.leaf import Leaf

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Write dual_arm_leaves.yaml beside the URDF."""
    model = CollisionModel.from_urdf(HERE / "dual_arm.urdf", srdf=HERE / "dual_arm.srdf")
    leaves: dict[str, list[Leaf]] = {}
    for leaf in model.leaves:
        leaves.setdefault(leaf.link, []).append(leaf)
    write_leaves(
        HERE / "dual_arm_leaves.yaml", model.name, leaves, {"made by": "make_dual_arm_leaves.py"},
        shapes_digest(model.robot),
    )  # fmt: skip


if __name__ == "__main__":
    main()
