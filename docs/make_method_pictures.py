# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Draw the pictures of docs/reports/methods.md that programs of the package draw.

Run it with ``make docs PAGES=method_pictures``. Each command is one that the page gives.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = (
    "benchmarks/hybrid_tree.py --cycle 0.05 --passes 7 --fit published --plot docs/hybrid_tree.png",
    "-m collision_monitor fit urdf/dual_arm.urdf --srdf urdf/dual_arm.srdf "
    "--leaves urdf/dual_arm_leaves.yaml --hierarchy octree --boxes 2 "
    "--q right_joint_2=-1.4,right_joint_4=-1.3,left_joint_2=1.4,left_joint_4=1.3 "
    "--picture docs/octree.png",
    "benchmarks/two_level_check.py --plot docs/two_level.png",
)


def main() -> None:
    """Run the commands from the folder of the package."""
    for command in COMMANDS:
        subprocess.run([sys.executable, *shlex.split(command)], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
