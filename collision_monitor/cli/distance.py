# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``distance``: the nearest two links at a configuration."""

from __future__ import annotations

import argparse
from typing import Any

from collision_monitor.cli.options import (
    add_flag,
    add_positions_argument,
    parse_configuration,
    print_json,
)
from collision_monitor.cli.robots import add_model_arguments, load_model


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "distance",
        help="the nearest two links at a configuration",
        description="The nearest two links of a robot and its scene, and where they are nearest.",
    )
    add_model_arguments(parser)
    add_positions_argument(parser, "joint positions")
    add_flag(parser, "--exact",
             "the distance of the shapes themselves instead of the leaves around them")  # fmt: skip
    add_flag(parser, "--json", "print JSON")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the clearance."""
    model = load_model(options)
    q = parse_configuration(options.q, model)
    clearance = model.distance(q, exact=options.exact)
    if options.json:
        result = {
            "robot": model.name,
            "distance": clearance.distance,
            "exact": clearance.exact,
            "links": list(clearance.links),
            "points": clearance.points.tolist(),
            "normal": clearance.normal.tolist(),
            "triangles": list(clearance.triangles),
            "frame": model.root,
            "q": dict(zip(model.joint_names, q.tolist(), strict=True)),
        }
        print_json(result)
        return 0
    a, b = clearance.links
    where = [", ".join(f"{x:.4f}" for x in point) for point in clearance.points]
    state = "in contact" if clearance.distance <= 0.0 else "apart"
    what = "" if clearance.exact else " (of their leaves; --exact: of the shapes themselves)"
    print(f"{clearance.distance:.4f} m between {a} and {b}: {state}{what}")
    print(f"  on {a}: ({where[0]})\n  on {b}: ({where[1]})  in the frame of {model.root}")
    return 0
