# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``distance``: the clearance of one configuration."""

from __future__ import annotations

import argparse
import difflib
import json
import sys
from typing import Any

import numpy as np

from collision_monitor.cli.model_arguments import add_model_arguments, load_model
from collision_monitor.errors import ConfigurationError
from collision_monitor.model.collision_model import CollisionModel


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "distance",
        help="the nearest two links at a configuration",
        description="The nearest two links of a robot and its scene, and where they are nearest.",
    )
    add_model_arguments(parser)
    parser.add_argument(
        "--q",
        default="",
        metavar="JOINT=VALUE,...",
        help="joint positions, radians or metres; joints not named are at zero, or at the "
        "nearer limit where zero is outside the limits",
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="the distance of the shapes themselves instead of the leaves around them",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def parse_configuration(text: str, model: CollisionModel) -> np.ndarray:
    """The configuration (nq,) that ``joint=value,...`` describes; see `parse_positions`."""
    q = np.clip(0.0, model.lower, model.upper)
    for name, number in parse_positions(text, model).items():
        q[model.joint_names.index(name)] = number
    return q


def parse_positions(text: str, model: CollisionModel) -> dict[str, float]:
    """Positions by joint, out of ``joint=value,...``.

    Raises:
        ConfigurationError: an entry without ``=``, an unknown or repeated joint, or a
            value that is no finite number.
    """
    positions: dict[str, float] = {}
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = (part.strip() for part in entry.partition("="))
        if not equals:
            example = ",".join(f"{joint}=0.5" for joint in model.joint_names[:2]) or "elbow=0.5"
            raise ConfigurationError(
                f"--q: {entry!r} is not of the form joint=value, such as {example}"
            )
        if name not in model.joint_names:
            close = difflib.get_close_matches(name, model.joint_names, 3, 0.4)
            raise ConfigurationError(
                f"--q: '{model.name}' has no joint {name!r} to set; "
                f"{'close to it' if close else 'there are'}: "
                f"{', '.join(close or model.joint_names)}"
            )
        if name in positions:
            raise ConfigurationError(f"--q: joint {name!r} is given twice")
        try:
            number = float(value)
        except ValueError:
            number = np.nan
        if not np.isfinite(number):
            raise ConfigurationError(
                f"--q: {value!r} for joint {name!r} is not a finite number (radians or metres)"
            )
        positions[name] = number
    return positions


def run(options: argparse.Namespace) -> int:
    """Print the clearance."""
    model = load_model(options)
    q = parse_configuration(options.q, model)
    outside = np.flatnonzero((q < model.lower) | (q > model.upper))
    for k in outside:
        print(
            f"warning: {model.joint_names[k]} = {q[k]:g} is outside its limits "
            f"[{model.lower[k]:g}, {model.upper[k]:g}]",
            file=sys.stderr,
        )
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
        print(json.dumps(result, indent=2))
        return 0
    a, b = clearance.links
    where = [", ".join(f"{x:.4f}" for x in point) for point in clearance.points]
    state = "in contact" if clearance.distance <= 0.0 else "apart"
    what = "" if clearance.exact else " (of their leaves; --exact: of the shapes themselves)"
    print(f"{clearance.distance:.4f} m between {a} and {b}: {state}{what}")
    print(f"  on {a}: ({where[0]})\n  on {b}: ({where[1]})  in the frame of {model.root}")
    return 0
