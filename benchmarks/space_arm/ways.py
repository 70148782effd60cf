# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The methods that `hybrid_tree.py` compares, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import coal
import numpy as np
import pinocchio as pin
from space_arm.hybrid_tree_report import MARGIN
from space_arm.space_arm_peers import (
    Peer,
    Query,
    all_pairs_contacts,
    all_pairs_distance,
    bodies_of,
    box,
    box_tree_contacts,
    bvh,
    compiled_contacts,
    compiled_distance,
    compiled_tree,
)
from space_arm.straight_approach import SPACE_ARM
from support.geometry.reference import Reference

from collision_monitor import CollisionModel

NOTHING = "nothing"
PLAIN, FILTERED = ALL = "all pairs, plain", "all pairs, with filters"
BOXES = "AABB tree refined by OBBs", "OBB tree"


@dataclass(frozen=True)
class Way:
    """A method to monitor the arm.

    ``kind``: "call" from Python to Python, or the "compiled" call alone.
    """

    ask: Query
    question: str  # "distance", "contacts"
    kind: str = "call"
    ours: bool = False


def capsule_peer(model: CollisionModel) -> Callable[[np.ndarray], None]:
    """Coal's capsules and spheres on the leaves of the model."""
    reference = Reference(SPACE_ARM, [], model)
    geometry, _ = reference.leaf_geometry()
    data = pin.GeometryData(geometry)
    return lambda q: pin.computeDistances(
        reference.pin_model, reference.pin_data, geometry, data, q
    )


def coal_ways(model: CollisionModel) -> tuple[dict[str, Way], Peer, Peer]:
    """Those of coal, on the space arm; then the two peers that know the true shapes."""
    urdf = str(SPACE_ARM)
    obb = Peer(model, urdf, lambda shape: bvh(shape, coal.BVHModelOBB), MARGIN)
    boxes = Peer(model, urdf, box, MARGIN)
    meshes = Peer(model, urdf, lambda shape: bvh(shape, coal.BVHModelOBBRSS))
    peers = {
        "coal, capsules on the leaves": Way(capsule_peer(model), "distance"),
        "coal, OBB tree of triangles": Way(obb.test, "contacts"),
        "coal, OBBs of the bodies": Way(boxes.test, "contacts"),
        "coal, OBBRSS tree of triangles": Way(meshes.measure, "distance"),
    }
    return peers, obb, meshes


def ways(model: CollisionModel, margin: float = MARGIN) -> dict[str, Way]:
    """The tree and the peers of the paper, by name."""
    tree, tree_near = compiled_tree(model, margin)
    bodies = bodies_of(model)
    boxes = {name: box_tree_contacts(bodies, margin, name == BOXES[1]) for name in BOXES}
    return {
        "hybrid tree": Way(model.distance, "distance", ours=True),
        "hybrid tree, level-first": Way(lambda q: model.contacts(q, margin), "contacts", ours=True),
        **{name: Way(all_pairs_distance(model, name == FILTERED), "distance") for name in ALL},
        **{
            f"{name}, near": Way(all_pairs_contacts(model, margin, name == FILTERED), "contacts")
            for name in ALL
        },
        "hybrid tree, compiled": Way(tree, "distance", "compiled", True),
        "hybrid tree, level-first, compiled": Way(tree_near, "contacts", "compiled", True),
        **{
            f"{name}, compiled": Way(
                compiled_distance(model, name == FILTERED), "distance", "compiled"
            )
            for name in ALL
        },
        **{
            f"{name}, near, compiled": Way(
                compiled_contacts(model, margin, name == FILTERED), "contacts", "compiled"
            )
            for name in ALL
        },
        **{name: Way(call, "contacts") for name, (call, _) in boxes.items()},
        **{
            f"{name}, compiled": Way(compiled, "contacts", "compiled")
            for name, (_, compiled) in boxes.items()
        },
        NOTHING: Way(lambda q: None, "-"),
    }
