# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time of a boolean collision check of random configurations, against coal and VAMP.

    python benchmarks/is_clear.py [--robots ur5,panda,...] [--vamp FOLDER] [--eigen FOLDER]

Nanoseconds a configuration, one thread. `model.is_clear(rows)` against pinocchio + coal
`computeCollisions` that stops at the first collision, on the same leaves; answers are
compared before anything is timed. Blocks alternate, figures are medians.

VAMP (PyPI: vamp-planner) answers with spheres of its own, in float32, for eight configurations at
once: whether *all* are clear. It is compiled with g++ -O3 -march=native from FOLDER (the
unpacked source, with a folder src/impl; Eigen in --eigen) and timed in three ways. "One": a
configuration in all eight lanes, divided by eight, as if a path's eight poses were alike; "block":
the same undivided, which is what an answer for one configuration costs; "eight": different
ones in the lanes, divided by eight, so one answer for eight. Its rows are random in the limits
that VAMP itself has.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from support.geometry.reference import Reference, pin  # noqa: E402
from support.robots.robots import ROBOTS  # noqa: E402

from collision_monitor import CollisionModel  # noqa: E402

NAMES = ("ur5", "panda", "pr2", "baxter")
VAMP_NAMES = {"ur5": "UR5", "panda": "Panda", "baxter": "Baxter"}
BLOCKS = 31
ROWS = 8000
COAL_ROWS = 20

SOURCE = """
#include <vamp/vector.hh>
#include <vamp/collision/environment.hh>
#include <vamp/robots/{file}.hh>
using Robot = vamp::robots::{name};
constexpr std::size_t rake = vamp::FloatVectorWidth;
using Block = typename Robot::template ConfigurationBlock<rake>;
extern "C" int lanes() {{ return rake; }}
extern "C" int joints() {{ return Robot::dimension; }}
// Numbers in [0, 1] become joint positions.
extern "C" void scale(float *rows, long count)
{{
    for (long k = 0; k < count; ++k)
        for (std::size_t c = 0; c < Robot::dimension; ++c) {{
            float &x = rows[k * Robot::dimension + c];
            x = x * Robot::s_m[c] + Robot::s_a[c];
        }}
}}
extern "C" void blocks(const float *rows, long count, unsigned char *out)
{{
    vamp::collision::Environment<vamp::FloatVector<rake>> nothing;
    for (long k = 0; k < count; k += rake) {{
        Block q;
        alignas(64) float lane[rake];
        for (std::size_t c = 0; c < Robot::dimension; ++c) {{
            for (std::size_t l = 0; l < rake; ++l) lane[l] = rows[(k + l) * Robot::dimension + c];
            q[c] = vamp::FloatVector<rake, 1>(lane);
        }}
        out[k / rake] = Robot::template fkcc<rake>(nothing, q);
    }}
}}
"""
# VAMP sorts point clouds with it; there are none here.
PDQSORT = """#pragma once
#include <algorithm>
template <class I, class... C> void pdqsort(I a, I b, C... c) { std::sort(a, b, c...); }
template <class I, class... C> void pdqsort_branchless(I a, I b, C... c) { std::sort(a, b, c...); }
"""
# Those of its own build.
FLAGS = (
    "-std=c++17 -O3 -march=native -mavx2 -fno-math-errno -fno-signed-zeros -fno-trapping-math "
    "-fno-rounding-math -ffp-contract=fast -fassociative-math -w -shared -fPIC"
).split()


def nanoseconds(block: Callable[[], object], count: int) -> float:
    """Time of one block for each of ``count``."""
    start = time.perf_counter()
    block()
    return (time.perf_counter() - start) / count * 1e9


class Vamp:
    """VAMP's self-collision check of one robot, compiled from its headers."""

    def __init__(self, name: str, source: Path, eigen: Path, folder: Path) -> None:
        (folder / "pdqsort.h").write_text(PDQSORT)
        (folder / f"{name}.cc").write_text(SOURCE.format(file=name, name=VAMP_NAMES[name]))
        library = folder / f"{name}.so"
        includes = [f"-I{p}" for p in (source / "src/impl", eigen, folder)]
        subprocess.run(["g++", *FLAGS, *includes, folder / f"{name}.cc", "-o", library], check=True)
        self._library = ctypes.CDLL(str(library))
        self.lanes = self._library.lanes()
        rng = np.random.default_rng(1)
        self.rows = rng.random((ROWS, self._library.joints()), dtype=np.float32)
        self._library.scale(ctypes.c_void_p(self.rows.ctypes.data), ctypes.c_long(ROWS))
        self.repeated = np.repeat(self.rows[: ROWS // self.lanes], self.lanes, axis=0).copy()
        self.out = np.zeros(ROWS, dtype=np.uint8)

    def run(self, rows: np.ndarray) -> None:
        """One answer in ``out`` for every block of ``rows``."""
        arguments = rows.ctypes.data, len(rows), self.out.ctypes.data
        kinds = ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p
        self._library.blocks(*(kind(a) for kind, a in zip(kinds, arguments, strict=True)))


def compare(model: CollisionModel, reference: Reference, rows: np.ndarray) -> Callable:
    """The answer of coal to a configuration in pinocchio's form, once it was found to be ours."""
    geometry, _ = reference.leaf_geometry()
    data = pin.GeometryData(geometry)

    def collides(q: np.ndarray) -> bool:
        return pin.computeCollisions(
            reference.pin_model, reference.pin_data, geometry, data, q, True
        )

    least, clear = model.min_distances(rows), model.is_clear(rows)
    for q, distance, is_clear in zip(rows, least, clear, strict=True):
        if abs(distance) > 1e-6 and collides(reference.configuration(q)) == is_clear:
            raise AssertionError(f"coal says otherwise at {q.tolist()}: {distance} m")
    return collides


def measure(name: str, vamp: Vamp | None) -> dict[str, float]:
    """All figures of one robot."""
    files = ROBOTS[name]
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)
    reference = Reference(files.urdf, files.package_dirs, model)
    rows = model.random_configurations(ROWS, seed=1)
    collides = compare(model, reference, rows[:COAL_ROWS])
    theirs = [reference.configuration(q) for q in rows[:COAL_ROWS]]
    clear = float(model.is_clear(rows).mean())
    times: dict[str, list[float]] = {"ours": [], "coal": [], "one": [], "eight": []}
    for _ in range(BLOCKS):
        times["ours"].append(nanoseconds(lambda: model.is_clear(rows), ROWS))
        times["coal"].append(nanoseconds(lambda: [collides(q) for q in theirs], COAL_ROWS))
        if vamp:
            times["one"].append(nanoseconds(lambda: vamp.run(vamp.repeated), ROWS))
            times["eight"].append(nanoseconds(lambda: vamp.run(vamp.rows), ROWS))
    result = {key: statistics.median(values) for key, values in times.items() if values}
    for key in result.keys() - {"ours"}:
        ratios = [t / o for t, o in zip(times[key], times["ours"], strict=True)]
        result[f"{key}_ratio"] = statistics.median(ratios)
    if vamp:
        result["lanes"] = vamp.lanes
    return result | {"pairs": len(model.pairs), "leaves": len(model.leaves), "clear": clear}


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--robots", default=",".join(NAMES), help="comma-separated names")
    parser.add_argument("--vamp", type=Path, help="VAMP's unpacked source; without, it is left out")
    parser.add_argument("--eigen", type=Path, default=Path("/usr/include/eigen3"))
    arguments = parser.parse_args()
    print(
        "| robot | pairs | leaves | clear | ours (ns) | coal (ns) | coal/ours | VAMP one (ns) "
        "| ours/VAMP | VAMP block (ns) | VAMP eight (ns) |\n" + "|---" * 11 + "|"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.robots.split(","):
            vamp = None
            if arguments.vamp and name in VAMP_NAMES:
                vamp = Vamp(name, arguments.vamp, arguments.eigen, Path(folder))
            r = measure(name, vamp)
            theirs = "| - | - | - | - |"
            if vamp:
                theirs = (
                    f"| {r['one']:.0f} | {1.0 / r['one_ratio']:.1f} "
                    f"| {r['one'] * r['lanes']:.0f} | {r['eight']:.0f} |"
                )
            print(
                f"| {name} | {r['pairs']} | {r['leaves']} | {r['clear']:.0%} | {r['ours']:.0f} "
                f"| {r['coal']:.0f} | {r['coal_ratio']:.0f} {theirs}",
                flush=True,
            )


if __name__ == "__main__":
    main()
