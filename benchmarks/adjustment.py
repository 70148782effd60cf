# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""How many motions `adjust` makes safe, how long that takes, and whether a result is ever wrong.

    OMP_NUM_THREADS=1 python benchmarks/adjustment.py [--robots baxter] [--motions 30]
    python benchmarks/adjustment.py random [--robots baxter] [--motions 200] [--touching]
    python benchmarks/adjustment.py methods

The first compares with OMPL and pink (motions/compared_adjustment.py); the second checks results of
random motions by `verify` and coal (motions/adjusted_motions.py); the third compares the methods
of `adjust` (motions/methods.py).
"""

from common.command_line import choose

if __name__ == "__main__":
    choose(
        "motions.compared_adjustment",
        random="motions.adjusted_motions", methods="motions.methods",
    )  # fmt: skip
