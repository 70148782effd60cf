# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time and memory to load a link of 200,000 triangles, for different difficult meshes.

    python benchmarks/first_distance.py large-meshes [--meshes torus,soup] [--json]

An arm of boxes carries the mesh, from an STL file. Cold: kernels are compiled, the mesh is new.
Warm: its leaves are cached. Then the four hierarchies over its triangles are built. Each mesh and
each hierarchy has its own process, with its maximum memory; Python and the libraries take about 240
MB. Times are wall time, and processor time of all processors.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import trimesh
from common.command_line import ROOT, arguments
from support.geometry.large_meshes import LARGE
from support.robots.toys import joint, link, robot

from collision_monitor import CollisionModel
from collision_monitor.mesh_distance.mesh_tree import KINDS, build_triangle_tree

BOX = '<box size="0.1 0.1 0.3"/>'


def arm(folder: Path, name: str, vertices: np.ndarray, triangles: np.ndarray) -> Path:
    """A URDF of five links; the third one is the mesh."""
    mesh = folder / f"{name}.stl"
    trimesh.Trimesh(vertices, triangles, process=False).export(mesh)
    shapes = [BOX, BOX, f'<mesh filename="{mesh}"/>', BOX, BOX]
    links = [link(f"l{k}", shape) for k, shape in enumerate(shapes)]
    joints = [
        joint(f"j{k}", f"l{k - 1}", f"l{k}", xyz="0 0 0.4", axis="0 1 0") for k in range(1, 5)
    ]
    path = folder / f"{name}.urdf"
    path.write_text(robot(*links, *joints))
    return path


def timed(work: Callable[[], object]) -> dict[str, float]:
    """Cost: wall time, processor time (seconds), and maximum memory so far, MB."""
    start, spent = time.perf_counter(), time.process_time()
    work()
    return {
        "seconds": time.perf_counter() - start,
        "processor": time.process_time() - spent,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def loads(name: str) -> dict[str, dict[str, float]]:
    """A cold load and a warm one."""
    vertices, triangles = LARGE[name]()
    # Unlike any mesh that was ever fitted.
    vertices = vertices * (1.0 + 1e-6 * int.from_bytes(os.urandom(2), "little"))
    small = trimesh.creation.torus(0.2, 0.05)
    with tempfile.TemporaryDirectory() as folder:
        urdf = arm(Path(folder), "small", np.asarray(small.vertices), np.asarray(small.faces))
        CollisionModel.from_urdf(urdf, max_leaves_per_link=2)  # compiles
        urdf = arm(Path(folder), "large", vertices, triangles)
        return {
            when: timed(lambda: CollisionModel.from_urdf(urdf).distance(np.zeros(4)))
            for when in ("cold", "warm")
        }


def hierarchy(name: str, kind: str) -> dict[str, float]:
    """A build of one kind."""
    small = trimesh.creation.icosphere(2)
    build_triangle_tree(np.asarray(small.vertices), np.asarray(small.faces), kind)  # compiles
    vertices, triangles = LARGE[name]()
    return timed(lambda: build_triangle_tree(vertices, triangles, kind))


def in_a_process(*arguments: str) -> dict:
    """Output of this program with these arguments."""
    done = subprocess.run(
        [sys.executable, "-m", "meshes.load_large_meshes", *arguments], cwd=ROOT / "benchmarks",
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return json.loads(done.stdout)


def main() -> None:
    """Measure and print."""
    parser = arguments(__doc__)
    parser.add_argument("--meshes", default=",".join(LARGE), help="default %(default)s")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        work = loads if len(options.one) == 1 else hierarchy
        print(json.dumps(work(*options.one)))
        return
    results = {}
    for name in options.meshes.split(","):
        if name not in LARGE:
            parser.error(f"no mesh {name!r}; there are {', '.join(LARGE)}")
        results[name] = in_a_process("--one", name) | {
            kind: in_a_process("--one", name, kind) for kind in KINDS
        }
    if options.json:
        print(json.dumps(results, indent=2))
        return
    columns = ("cold", "warm", *KINDS)
    print("| mesh | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for name, found in results.items():
        cells = (
            "{seconds:.1f} s ({processor:.1f}), {megabytes:.0f} MB".format(**found[column])
            for column in columns
        )
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
