# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``fit``: leaves of every link, and their volumes compared with the link."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from collision_monitor.cli.options import (
    LiveProgress,
    add_flag,
    add_option,
    add_positions_argument,
    check_outputs,
    files_read,
    input_path,
    output_path,
    parse_configuration,
    png_path,
    print_json,
)
from collision_monitor.cli.robots import add_model_arguments, load_model
from collision_monitor.common.disk_cache import Store, content_key
from collision_monitor.common.settings import settings_of
from collision_monitor.common.text import MOST_NAMED, counted, shortened, text_table
from collision_monitor.errors import ConfigurationError
from collision_monitor.fitting.enclosure import stand_off
from collision_monitor.fitting.fitter import FITS
from collision_monitor.fitting.leaves_file import write_leaves
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.geometry.leaf import Leaf, moved
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.hierarchy_boxes import tree_sizes
from collision_monitor.model.left_out_pairs import contacts_of_joint
from collision_monitor.model.near_by_design import NearPair, near_by_design
from collision_monitor.model.pair_rules import VERSION
from collision_monitor.model.thresholds import (
    STOP_DISTANCE,
    WARN_DISTANCE,
    Thresholds,
    load_thresholds,
)
from collision_monitor.robot.pairs import NEIGHBOURS, RIGID, by_reason, neighbours
from collision_monitor.viewer.picture import render, require_pyvista

_VOLUMES = ("link", "leaves", "OBB [l]", "leaves [l]", "leaves/OBB", "excess/area [mm]")
_FILL = ("link", "mesh [l]", "hull [l]", "leaves [l]", "mesh/leaves", "leaves/hull")
_NEAR = ("pair", "warn [mm]", "stop [mm]", "why")
_LOOSE = ("link", "leaves", "mean [mm]", "max [mm]", "try")
_TREES = ("link", "triangles", "levels", "cells", "leaves", "triangles/leaf", "indices", "stored")
_READ = ("urdf", "srdf", "scene", "leaves", "thresholds")
_MEETING = ("pair", "joint", "meet in [%]", "depth up to [mm]")
_TIGHT = 5e-4  # metres; leaves with a smaller mean distance from the link are not listed
_MOST_LEAVES = settings_of(FitSettings)["max_leaves_per_link"].most


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "fit",
        help="fit leaves to a robot, list, write and draw them",
        description=(
            "Fit capsules and spheres to the collision shapes of a robot. Volumes in litres; "
            "of several shapes of a link they are added up, leaves of a shape that overlap are "
            "counted once. The volume of a mesh that is not closed is that of its convex hull. "
            "Excess/area: the volume of the leaves of a shape outside the shape, divided by the "
            "surface of its convex hull; a fit adds leaves until it is below --leaf-tolerance. The "
            "loosest links are those whose leaves stand off farthest: from the surface of all "
            "leaves of a link to its shapes, where no neighbour covers it. Neighbours over one "
            "joint are not checked; those that meet in a part of the range of the joint, and are "
            "apart elsewhere, are listed."
        ),
    )
    add_model_arguments(parser)
    add_option(parser, "--thresholds FILE", "file of thresholds (YAML): its rules decide which "
               "pairs are checked, and the distances of pairs near by design; those with rules for "
               "both are not listed", type=input_path)  # fmt: skip
    add_flag(parser, "--json", "print JSON, in metres")
    add_option(parser, "--output YAML", "write the leaves, for --leaves", type=output_path)
    add_option(parser, "--picture PNG", "draw the robot in its leaves", type=png_path)
    add_option(parser, "--boxes LEVEL", "in the picture: instead of leaves, this level of the "
               "boxes over the triangles, and the boxes and triangles of the nearest two links "
               "that meet (see --hierarchy); 0: the boxes of links", type=int)  # fmt: skip
    add_positions_argument(parser, "joint positions of the picture")
    parser.set_defaults(run=run)


def _leaf(leaf: Leaf) -> dict[str, Any]:
    return {
        "kind": leaf.kind,
        "p0": leaf.p0.tolist(),
        "p1": leaf.p1.tolist(),
        "radius": leaf.radius,
        "volume": leaf.volume,
    }


def report(model: CollisionModel, given: Thresholds) -> dict[str, Any]:
    """Leaves and volumes (m^3) of every link, totals, and pairs; ``given``: thresholds."""
    links = []
    for link in model.link_names:
        fits = model.fits[link]
        volumes = [fit.volumes for fit in fits]
        area = sum(fit.hull_area for fit in fits)
        stand_off = sum(fit.hull_area * fit.stand_off for fit in fits) / area if area else 0.0
        links.append(
            {
                "link": link,
                "leaves": [_leaf(leaf) for fit in fits for leaf in fit.leaves],
                "mesh_volume": sum(volume.shape for volume in volumes),
                "hull_volume": sum(volume.hull for volume in volumes),
                "obb_volume": sum(volume.obb for volume in volumes),
                "leaf_volume": sum(fit.union_volume for fit in fits),
                "stand_off": stand_off if np.isfinite(stand_off) else None,
            }
        )
    names = ("mesh_volume", "hull_volume", "obb_volume", "leaf_volume")
    return {
        "robot": model.name,
        "links": links,
        "total": {name: sum(link[name] for link in links) for name in names},
        "pairs": len(model.pairs),
        "unmonitored_pairs": [list(pair) for pair in model.unmonitored_pairs],
        "structural_pairs": [
            {**asdict(pair), "reason": pair.reason} for pair in _near_pairs(model, given)
        ],
        "loosest_links": loosest_links(model),
        "meeting_neighbours": meeting_neighbours(model),
        "hierarchy": {
            "name": model.hierarchy, "links": [size._asdict() for size in tree_sizes(model)]
        },
        "warnings": list(model.warnings),
    }


def loosest_links(model: CollisionModel) -> list[dict[str, Any]]:
    """Links of checked pairs with the largest mean distance of leaves from shapes, worst first.

    Distances are in metres, from the surface of the leaves to the shapes. Parts inside the leaves
    of a neighbouring or rigidly attached link at zero joint positions are ignored: other links
    reach those leaves first.
    """
    poses = model.link_poses(np.clip(0.0, model.lower, model.upper))
    leaves = {name: [leaf for fit in model.fits[name] for leaf in fit.leaves] for name in poses
              if name in model.fits}  # fmt: skip
    beside: dict[str, list[str]] = {name: [] for name in leaves}
    near = [(a, b) for a, b, reason in model.unmonitored_pairs if reason == RIGID]
    for a, b in (*near, *neighbours(model.robot, model.bodies)):
        if a in leaves and b in leaves:
            beside[a].append(b)
            beside[b].append(a)
    links = []
    for name in sorted({name for pair in model.pairs for name in pair} & leaves.keys()):
        to_link = np.linalg.inv(poses[name])
        hidden = [
            leaf for other in beside[name]
            for leaf in moved(leaves[other], to_link @ poses[other], other)
        ]  # fmt: skip
        mean, largest = stand_off(model.robot.links[name].shapes, leaves[name], hidden)
        if mean > _TIGHT:
            count = len(leaves[name])
            links.append({"link": name, "leaves": count, "mean": mean, "max": largest,
                         "advice": _advice(model, name)})  # fmt: skip
    return sorted(links, key=lambda row: -row["mean"])[:MOST_NAMED]


def _advice(model: CollisionModel, link: str) -> str:
    """The option that allows tighter leaves of a link."""
    fits, settings = model.fits[link], model.settings
    if any(np.isnan(fit.stand_off) for fit in fits):
        return "another fit, or more leaves in the file"
    tolerance, most = settings.leaf_tolerance, settings.max_leaves_per_link
    if all(fit.is_within(tolerance) for fit in fits):
        return f"--leaf-tolerance {0.5 * tolerance:g}"
    return f"--max-leaves {min(2 * most, _MOST_LEAVES)}" if most < _MOST_LEAVES else "a split shape"


def meeting_neighbours(model: CollisionModel) -> list[dict[str, Any]]:
    """Unchecked neighbours over one joint that meet in a part of its range, deepest first.

    ``depth`` in metres. Cached on disk, since measuring takes minutes for hands of many triangles.
    """
    pairs = [(a, b) for a, b, reason in model.unmonitored_pairs if reason == NEIGHBOURS]
    names = [joint.name for joint in model.robot.joints]
    key = content_key("neighbours", VERSION, pairs, names, model.content)

    def measured() -> list[dict[str, Any]]:
        meeting = []
        with LiveProgress(quiet=True) as progress:
            for k, pair in enumerate(pairs):
                progress.update("measuring neighbours over one joint", k / len(pairs))
                contacts = contacts_of_joint(model, pair)
                if 0.0 < contacts.share < 1.0:
                    meeting.append({"links": list(pair), **contacts._asdict()})
        meeting.sort(key=lambda row: (-row["depth"], -row["share"]))
        return meeting

    return Store("contacts").kept(key, measured)


def _near_pairs(model: CollisionModel, given: Thresholds) -> list[NearPair]:
    """Pairs near by design, with the distances of a monitor, unless rules give both."""
    given = replace(given, stop=given.stop or STOP_DISTANCE, warn=given.warn or WARN_DISTANCE)
    near = near_by_design(model, given.stop, given.warn)
    limits = given.of(model.pairs, must_name=False, near=near)
    return list(given.without_rules(near, limits).values())


def _kinds(leaves: list[dict]) -> str:
    counts = {kind: sum(leaf["kind"] == kind for leaf in leaves) for kind in ("capsule", "sphere")}
    return ", ".join(counted(count, kind) for kind, count in counts.items() if count)


def _ratio(a: float, b: float) -> str:
    return f"{a / b:.2f}" if b else "-"


def _litres(volume: float) -> str:
    return f"{1000.0 * volume:.3f}"


def tables(result: dict[str, Any]) -> str:
    """The two tables of Zhang et al.: leaves compared with boxes, and fill ratios of leaves."""
    total = {"link": "total", "stand_off": None, **result["total"]}
    count = sum(len(link["leaves"]) for link in result["links"])
    volumes, fill = [], []
    for row in (*result["links"], total):
        mesh, hull, obb, leaf = (row[f"{kind}_volume"] for kind in ("mesh", "hull", "obb", "leaf"))
        kinds = _kinds(row["leaves"]) if "leaves" in row else f"{count} leaves"
        off = "-" if row["stand_off"] is None else f"{1000.0 * row['stand_off']:.1f}"
        volumes.append([row["link"], kinds, _litres(obb), _litres(leaf), _ratio(leaf, obb), off])
        fill.append(
            [row["link"], _litres(mesh), _litres(hull), _litres(leaf),
             _ratio(mesh, leaf), _ratio(leaf, hull)]
        )  # fmt: skip
    return (
        "Oriented boxes (OBB) against leaves\n\n" + text_table(_VOLUMES, volumes)
        + "\n\nTrue volume over the volume of the leaves\n\n" + text_table(_FILL, fill)
    )  # fmt: skip


def _sections(result: dict[str, Any]) -> Iterator[str]:
    """Tables with a title and what they mean; those without rows are left out."""
    loosest, near = result["loosest_links"], result["structural_pairs"]
    meeting, trees = result["meeting_neighbours"], result["hierarchy"]["links"]
    for title, header, table, meaning in (
        (
            "Links whose leaves stand off farthest: from the surface of the leaves to the shapes",
            _LOOSE,
            [(row["link"], str(row["leaves"]), f"{1e3 * row['mean']:.1f}",
              f"{1e3 * row['max']:.1f}", row["advice"]) for row in loosest],
            "A monitor measures the meshes of near pairs (narrow_phase auto): loose leaves cost it "
            "time.\nWith narrow_phase leaf they cause false alarms.\n\n",
        ),
        (
            "Pairs that are near by design",
            _NEAR,
            [(" - ".join(pair["links"]), *(f"{1e3 * pair[key]:.1f}" for key in ("warn", "stop")),
              pair["reason"]) for pair in near],
            "",
        ),
        (
            "Neighbours over one joint that meet in a part of its range",
            _MEETING,
            [(" - ".join(pair["links"]), pair["joint"], f"{100.0 * pair['share']:.0f}",
              f"{1e3 * pair['depth']:.0f}")
             for pair in meeting],
            "The monitor does not check these pairs: the limits of the joint have to keep them "
            "apart. A rule in\nthe thresholds file that names a pair has it checked.\n\n",
        ),
        (
            f"Hierarchies over the triangles of links ({result['hierarchy']['name']})",
            _TREES,
            [(*(str(tree[key]) for key in ("link", "triangles", "levels", "cells", "leaves")),
              f"{tree['indices'] / tree['leaves']:.1f}", str(tree["indices"]),
              f"{tree['indices'] / tree['triangles']:.1f} times") for tree in trees],
            "",
        ),
    ):  # fmt: skip
        if table:
            yield f"{title}\n\n{text_table(header, table)}\n\n{meaning}"


def _left_out(model: CollisionModel) -> str:
    left_out = len(model.unmonitored_pairs)
    lines = [f"{len(model.pairs)} pairs checked, {left_out} left out" + (":" if left_out else "")]
    judged = {pair.reason for pair in model.unmonitored_pairs if pair.by_design or pair.by_rule}
    for reason, pairs in by_reason(model.unmonitored_pairs).items():
        most = len(pairs) if reason in judged else MOST_NAMED
        names = shortened([f"{a} - {b}" for a, b in pairs], most)
        more = " (all: --json)" if len(pairs) > most else ""
        lines.append(f"  {reason}: {names}{more}")
    return "\n".join(lines)


def run(options: argparse.Namespace) -> int:
    """Print tables or JSON; write the requested files."""
    if options.boxes is not None and (options.boxes < 0 or not options.picture):
        raise ConfigurationError(
            f"--boxes {options.boxes}: a level of 0 or more is needed, and --picture"
        )
    if options.q and not options.picture:
        raise ConfigurationError(
            f"--q {options.q}: these are positions of the picture; --picture is needed"
        )
    check_outputs(options, ("output", "picture"), files_read(options, _READ))
    if options.picture:
        require_pyvista()  # before the fit
    model = load_model(options)
    given = load_thresholds(options.thresholds) if options.thresholds else Thresholds()
    result = report(model, given)
    if options.output:
        about = {"made by": "python -m collision_monitor fit", "fit": options.fit}
        if options.fit == FITS[0]:
            about |= {
                "max_leaves_per_link": options.max_leaves_per_link,
                "leaf_tolerance": options.leaf_tolerance,
            }
        obstacles = {obstacle.name for obstacle in model.scene.obstacles}
        leaves: dict[str, list[Leaf]] = {}
        for leaf in model.leaves:
            if leaf.link not in obstacles:
                leaves.setdefault(leaf.link, []).append(leaf)
        write_leaves(options.output, model.name, leaves, about)
    if options.picture:
        q = parse_configuration(options.q, model)
        render(model, q, options.picture, boxes=options.boxes)
    if options.json:
        print_json(result)
        return 0
    print(tables(result))
    print("".join(["\n", *_sections(result)]), end="")
    print(f"{result['robot']}: {counted(len(result['links']), 'link')}, {_left_out(model)}")
    return 0
