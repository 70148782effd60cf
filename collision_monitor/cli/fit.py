# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``fit``: the leaves of every link, and how much more room they take than the link."""

from __future__ import annotations

import argparse
import json
from typing import Any

from collision_monitor.cli.model_arguments import add_model_arguments, load_model
from collision_monitor.cli.table import text_table
from collision_monitor.collision_model import CollisionModel

_HEADER = (
    "link", "leaves", "mesh [l]", "hull [l]", "OBB [l]", "leaves [l]", "leaves/OBB", "mesh/leaves"
)  # fmt: skip


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "fit",
        help="fit leaves to a robot and list their volumes",
        description=(
            "Fit capsules and spheres to the collision shapes of a robot. Volumes in litres; of "
            "several shapes and leaves of a link they are added up. A mesh that is not closed "
            "has no volume: that of its convex hull stands in."
        ),
    )
    add_model_arguments(parser)
    parser.add_argument("--json", action="store_true", help="print JSON, in metres")
    parser.set_defaults(run=run)


def report(model: CollisionModel) -> dict[str, Any]:
    """Leaves and volumes (m^3) of every link, totals, and pairs left out."""
    links = []
    for link in model.link_names:
        fits = model.fits[link]
        links.append(
            {
                "link": link,
                "leaves": [
                    {
                        "kind": fit.leaf.kind,
                        "p0": fit.leaf.p0.tolist(),
                        "p1": fit.leaf.p1.tolist(),
                        "radius": fit.leaf.radius,
                        "volume": fit.leaf.volume,
                    }
                    for fit in fits
                ],
                "mesh_volume": sum(fit.shape_volume for fit in fits),
                "hull_volume": sum(fit.hull_volume for fit in fits),
                "obb_volume": sum(fit.obb_volume for fit in fits),
                "leaf_volume": sum(fit.leaf.volume for fit in fits),
            }
        )
    volumes = ("mesh_volume", "hull_volume", "obb_volume", "leaf_volume")
    return {
        "robot": model.name,
        "links": links,
        "total": {name: sum(link[name] for link in links) for name in volumes},
        "pairs": len(model.pairs),
        "unmonitored_pairs": [list(pair) for pair in model.unmonitored_pairs],
        "warnings": list(model.warnings),
    }


def _row(name: str, kinds: str, volumes: dict[str, float]) -> list[str]:
    mesh, hull, obb, leaf = (
        volumes[f"{kind}_volume"] for kind in ("mesh", "hull", "obb", "leaf")
    )
    litres = [f"{1000.0 * volume:.3f}" for volume in (mesh, hull, obb, leaf)]
    return [name, kinds, *litres, f"{leaf / obb:.2f}" if obb else "-", f"{mesh / leaf:.2f}"]


def _kinds(leaves: list[dict]) -> str:
    counts = {kind: sum(leaf["kind"] == kind for leaf in leaves) for kind in ("capsule", "sphere")}
    return ", ".join(
        f"{count} {kind}{'s' if count > 1 else ''}" for kind, count in counts.items() if count
    )


def run(options: argparse.Namespace) -> int:
    """Print the table or the JSON."""
    result = report(load_model(options))
    if options.json:
        print(json.dumps(result, indent=2))
        return 0
    rows = [_row(link["link"], _kinds(link["leaves"]), link) for link in result["links"]]
    rows.append(_row("total", str(sum(len(link["leaves"]) for link in result["links"])),
                     result["total"]))  # fmt: skip
    print(text_table(_HEADER, rows))
    print(
        f"\n{result['robot']}: {len(result['links'])} links, {result['pairs']} pairs checked, "
        f"{len(result['unmonitored_pairs'])} left out (--json lists them with their reasons)"
    )
    return 0
