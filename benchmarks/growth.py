# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Time of a distance query as the scene around a UR5 grows, against coal's AABB trees.

    python benchmarks/growth.py [--sizes 10,100,1000,10000] [--plot growth.png] [--json]

Obstacles are boxes and capsules in turn, at random places (seed 0) in a hall of
10 x 10 x 4 m, clear of the robot's base; each larger scene contains the smaller ones.
Configurations are random ones in which nothing overlaps: coal stops at the first overlap,
and would answer another question; "overlapping" is our time where something does.

Both sides have the same leaves, and tell from Python how far the nearest two are:
`model.distance(q)` here; there pinocchio's computeDistances for kinematics and self pairs,
`BroadPhaseManager.update` for the robot's tree, and DynamicAABBTreeCollisionManager.distance
against the scene's; no loop over leaves in Python. "Scene alone" is that last call without
anything else. "Shapes" is coal's time with the scene's boxes as boxes, not as leaves: fewer,
but each slower. Blocks of calls alternate, figures are medians over blocks; answers are
compared before anything is timed.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from common.command_line import arguments, counts, microseconds, robot
from support.geometry.reference import Reference, coal, pin

from collision_monitor import CollisionModel

SIZES = (10, 100, 1000, 10_000)
HALL = np.array([[-5.0, -5.0, -1.0], [5.0, 5.0, 3.0]])
CLEAR = 0.4  # metres about the base
BLOCKS = 15
COMPARED = 100  # configurations
TOLERANCE = 1e-9
ALLOWED_GROWTH, WANTED_RATIO = 10.0, 3.0


def obstacles(count: int) -> list[dict]:
    """The first ``count`` entries of the endless scene."""
    rng = np.random.default_rng(0)
    entries: list[dict] = []
    while len(entries) < count:
        position, turn = rng.uniform(*HALL), rng.normal(size=4)
        box, radius, length = rng.uniform(0.02, 0.1, 3), *rng.uniform((0.01, 0.02), (0.05, 0.15))
        if np.linalg.norm(position) - 0.5 * length - 0.1 < CLEAR:
            continue
        entry = {
            "name": f"obstacle_{len(entries)}",
            "position": position.tolist(),
            "orientation": (turn / np.linalg.norm(turn)).tolist(),
        }
        if len(entries) % 2:
            entry |= {"type": "capsule", "radius": float(radius), "length": float(length)}
        else:
            entry |= {"type": "box", "size": box.tolist()}
        entries.append(entry)
    return entries


class Coal:
    """The same robot and scene in pinocchio and coal."""

    def __init__(self, model: CollisionModel, shapes: bool) -> None:
        """``shapes``: boxes of the scene as boxes, instead of by the model's leaves."""
        names = {obstacle.name for obstacle in model.scene.obstacles}
        files = robot("ur5")
        self.reference = Reference(files.urdf, files.package_dirs, _Robot(model, names, False))
        self._model, self._model_data = self.reference.pin_model, self.reference.pin_data
        self._geometry, _ = self.reference.leaf_geometry()
        self._data = pin.GeometryData(self._geometry)
        # What stands on the base has no distance to the scene that could change.
        moving = Reference(files.urdf, files.package_dirs, _Robot(model, names, True))
        self._moving, _ = moving.leaf_geometry()
        self._moving_data = pin.GeometryData(self._moving)
        self._robot = pin.BroadPhaseManager_DynamicAABBTreeCollisionManager(
            self._model, self._moving, self._moving_data
        )
        self._scene = coal.DynamicAABBTreeCollisionManager()
        root = self.reference.link_pose(np.zeros(len(model.joint_names)), model.root)
        assert np.allclose(root, np.eye(4)), "the scene is in the frame of the root link"
        self._objects = [
            *(_of_shape(o.shape) for o in model.scene.obstacles if shapes),
            *(_of_leaf(leaf) for leaf in model.leaves if leaf.link in names and not shapes),
        ]
        for item in self._objects:  # its Python interface takes no list of them
            self._scene.registerObject(item)
        self._scene.setup()  # balances the tree
        self._callback = coal.DistanceCallBackDefault()
        self._callback.data.request.enable_signed_distance = True

    def scene_distance(self) -> None:
        """Robot against scene where the robot stands now."""
        self._callback.init()
        self._robot.getManager().distance(self._scene, self._callback)

    def move(self, q: np.ndarray) -> None:
        """Kinematics, self distances, update of the robot's tree; q as pinocchio has it."""
        pin.computeDistances(self._model, self._model_data, self._geometry, self._data, q)
        pin.updateGeometryPlacements(self._model, self._model_data, self._moving, self._moving_data)
        self._robot.update(False)

    def query(self, q: np.ndarray) -> None:
        """A complete query."""
        self.move(q)
        self.scene_distance()

    def distance(self, q: np.ndarray) -> float:
        """The minimum distance."""
        self.query(q)
        own = min(result.min_distance for result in self._data.distanceResults)
        return min(own, self._callback.data.result.min_distance)


class _Robot:
    """A model without its scene, with the attributes that `Reference` uses."""

    def __init__(self, model: CollisionModel, scene: set[str], moving: bool) -> None:
        """``moving``: only moving links, and no self pairs."""
        self.robot, self.root, self.joint_names = model.robot, model.root, model.joint_names
        self.leaves = [
            leaf
            for leaf in model.leaves
            if leaf.link not in scene and not (moving and _on_base(model, leaf.link))
        ]
        self.pairs = [(a, b) for a, b in model.pairs if not moving and scene.isdisjoint((a, b))]


def _on_base(model: CollisionModel, name: str) -> bool:
    parents = {joint.child: joint for joint in model.robot.joints}
    while name in parents:
        if parents[name].moves:
            return False
        name = parents[name].parent
    return True


def _of_leaf(leaf) -> coal.CollisionObject:
    axis = leaf.p1 - leaf.p0
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        return coal.CollisionObject(coal.Sphere(leaf.radius), np.eye(3), leaf.p0)
    z = axis / length
    x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x /= np.linalg.norm(x)
    turn = np.column_stack([x, np.cross(z, x), z])
    return coal.CollisionObject(coal.Capsule(leaf.radius, length), turn, leaf.p0 + 0.5 * axis)


def _of_shape(shape) -> coal.CollisionObject:
    kind = coal.Box if shape.kind == "box" else coal.Capsule
    return coal.CollisionObject(kind(*shape.size), shape.pose[:3, :3], shape.pose[:3, 3])


def by_coal(model: CollisionModel, q: np.ndarray, leaves: tuple[int, int]) -> float:
    """Coal's distance of two leaves by themselves, without any tree."""
    ends = model.leaf_segments(q)
    a, b = (_of_leaf(replace(model.leaves[k], p0=ends[k, 0], p1=ends[k, 1])) for k in leaves)
    result = coal.DistanceResult()
    coal.distance(a, b, coal.DistanceRequest(), result)
    return result.min_distance


def compare(model: CollisionModel, peer: Coal, rows: np.ndarray) -> tuple[float, int]:
    """(largest difference in metres, how often the manager of coal misses the nearest pair).

    It occasionally returns a distance larger than that of coal for the nearest two leaves found
    here.
    """
    worst, overlooked = 0.0, 0
    for q in rows:
        ours = model.distance(q)
        theirs = peer.distance(peer.reference.configuration(q))
        if theirs > ours.distance + TOLERANCE:
            overlooked += 1
            theirs = by_coal(model, q, ours.leaves)
        worst = max(worst, abs(theirs - ours.distance))
    if worst > TOLERANCE:
        raise AssertionError(f"answers differ by {worst} m")
    return worst, overlooked


def measure(size: int, count: int) -> dict:
    """All figures of one size."""
    files = robot("ur5")
    scene = {"obstacles": obstacles(size)}
    start = time.perf_counter()
    model = CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs, scene=scene)
    load = time.perf_counter() - start
    samples = model.random_configurations(5 * count, seed=1)
    free = model.min_distances(samples) > 0.0
    configurations = samples[free][:count]
    ours, overlapping = list(configurations), list(samples[~free][: len(configurations)])
    leaves, shapes = Coal(model, False), Coal(model, True)
    theirs = [leaves.reference.configuration(q) for q in configurations]
    difference, overlooked = compare(model, leaves, configurations[:COMPARED])
    times: dict[str, list[float]] = {}

    def note(name: str, block: Callable[[], object], count: int = len(configurations)) -> None:
        times.setdefault(name, []).append(microseconds(block, count))

    for _ in range(BLOCKS):
        note("call_us", lambda: [model.distance(q) for q in ours])
        note("coal_us", lambda: [leaves.query(q) for q in theirs])
        note("coal_moved_us", lambda: [leaves.move(q) for q in theirs])
        note("batch_us", lambda: model.min_distances(configurations))
        note("shapes_us", lambda: [shapes.query(q) for q in theirs])
        note("overlapping_us", lambda: [model.distance(q) for q in overlapping], len(overlapping))
    scene_alone = [a - b for a, b in zip(times["coal_us"], times["coal_moved_us"], strict=True)]
    return {
        "obstacles": size,
        "leaves": len(model.leaves),
        "pairs": len(model.pairs),
        "free_share": float(free.mean()),
        "configurations": len(configurations),
        "load_s": load,
        "largest_difference_m": difference,
        "overlooked_by_coal": overlooked,
        **{name: statistics.median(values) for name, values in times.items()},
        "coal_scene_us": statistics.median(scene_alone),
        **{
            f"{name}_ratio": statistics.median(
                a / b for a, b in zip(times[theirs_], times[ours_], strict=True)
            )
            for name, theirs_, ours_ in (
                ("call", "coal_us", "call_us"),
                ("batch", "coal_us", "batch_us"),
                ("shapes", "shapes_us", "call_us"),
            )
        },
    }


def row_of(r: dict) -> str:
    """One line of the table."""
    return (
        f"| {r['obstacles']} | {r['leaves']} | {r['pairs']} | {r['load_s']:.2f} "
        f"| {r['coal_us']:.1f} | {r['coal_scene_us']:.1f} | {r['shapes_us']:.1f} "
        f"| {r['call_us']:.2f} | {r['call_ratio']:.1f} | {r['shapes_ratio']:.1f} "
        f"| {r['batch_us']:.2f} | {r['batch_ratio']:.1f} | {r['overlapping_us']:.2f} "
        f"| {r['largest_difference_m']:.0e} | {r['overlooked_by_coal']} |"
    )


def plot(results: list[dict], path: str) -> None:
    """Time per query against the number of obstacles."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6.4, 4.2), layout="constrained")
    sizes = [r["obstacles"] for r in results]
    for key, label, style in (
        ("shapes_us", "coal, boxes as boxes", "s--"),
        ("coal_us", "coal, same leaves", "o--"),
        ("call_us", "collision_monitor, a call", "o-"),
        ("batch_us", "collision_monitor, in a batch", "s-"),
    ):
        axes.loglog(sizes, [r[key] for r in results], style, label=label)
    axes.set(xlabel="obstacles around a UR5", ylabel="time per query (us)")
    axes.grid(True, which="major", alpha=0.4)
    axes.legend()
    figure.savefig(path, dpi=150)


def main() -> None:
    """Measure and print a table."""
    parser = arguments(__doc__, configurations=300)
    parser.add_argument(
        "--sizes", type=counts, default=",".join(map(str, SIZES)), help="numbers of obstacles"
    )
    parser.add_argument("--plot", metavar="PNG", help="write a picture (matplotlib)")
    options = parser.parse_args()
    if not options.json:
        print(
            f"coal {coal.__version__}, pinocchio {pin.__version__}, medians of {BLOCKS} "
            "interleaved blocks, us\n\n"
            "| obstacles | leaves | pairs | load (s) | coal | scene alone | shapes | call "
            "| coal / call | shapes / call | batch | coal / batch | overlapping "
            f"| largest difference (m) | overlooked by coal in {COMPARED} |\n" + "|---" * 15 + "|"
        )
    files = robot("ur5")
    CollisionModel.from_urdf(files.urdf, files.srdf, files.package_dirs)  # compiles, fits
    results = []
    for size in options.sizes:
        results.append(measure(size, options.configurations))
        if not options.json:
            print(row_of(results[-1]), flush=True)
    growth = results[-1]["call_us"] / results[0]["call_us"]
    least = min(r["call_ratio"] for r in results)
    if options.json:
        print(json.dumps({"growth": growth, "least_ratio": least, "sizes": results}, indent=2))
    else:
        print(
            f"\nGrowth from {results[0]['obstacles']} to {results[-1]['obstacles']}: "
            f"{growth:.1f} (at most {ALLOWED_GROWTH:.0f}); coal / call at least {least:.1f} "
            f"(wanted {WANTED_RATIO:.0f})"
        )
    if options.plot:
        plot(results, options.plot)


if __name__ == "__main__":
    main()
