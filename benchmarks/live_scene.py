# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Cost of a change of a live scene, and of the next query, against the dynamic tree of coal.

    python benchmarks/live_scene.py [--robot ur5] [--counts 0,10,100,1000] [--seconds 2] [--json]
    python benchmarks/live_scene.py --meshes [--robot ur5] [--seconds 5]
    python benchmarks/live_scene.py --node [--seconds 20]

Balls of 3 to 8 cm around the robot, a leaf each, so that both measure the same things. A change
moves one; or takes one out and puts another in. For coal:
`DynamicAABBTreeCollisionManager.update` of the object that has moved, or `unregisterObject` and
`registerObject`; then the update of a second manager with all of the robot's leaves (which it is
handed in place: neither kinematics nor that is timed) and `distance` between the two, by the
callback that comes with it. Of many pairs that callback (coal 3.0.3) keeps the last distance, not
the least, so what it says is no answer, and it leaves out fewer pairs than it might; what is
checked is every pair alone. Here a query is all of it, from joint positions on; links that stand
still are in neither. Both take turns at each configuration; medians of processor time.

The cycle is `Monitor.update` at each of the joint states of a motion at 1 kHz, with 200 changes a
second between them, carried objects and the braking path included.

With ``--meshes``: twelve meshes of 1,280 triangles, 2 to 20 cm from the robot, which then moves.
The cycle is `Monitor.update` at 1 kHz, by leaves and by triangles in turn; the query is
`LiveScene.distance` of the shapes. For coal: `distance` of the meshes of those pairs alone whose
leaves are nearer than the answer, which no filter by these leaves can beat.

With ``--node`` the node itself, in a process of its own: the demo's motion as joint states at 1
kHz, 200 messages a second on ~/scene that move, add and delete up to 100 objects, and whether each
joint state is answered on ~/min_distance; without these messages and with them, twice.
"""

from __future__ import annotations

import json
import time
from importlib import import_module

import coal
import numpy as np
import trimesh
from common.command_line import arguments, robot
from support.geometry.coal_shapes import coal_capsule, coal_shape

from collision_monitor import CollisionModel
from collision_monitor.model.live.live_objects import Bounds
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.robot.description import Shape

RATE, CHANGES = 1000, 200


class Coal:
    """The same balls and leaves in two of coal's managers."""

    def __init__(self, model: CollisionModel, balls: list[np.ndarray]) -> None:
        moving = set(model.moving_links)
        self.model = model
        self.leaves = [k for k, leaf in enumerate(model.leaves) if leaf.link in moving]
        q = np.zeros(len(model.joint_names))
        segments = model.leaf_segments(q)
        self.robot = [
            coal.CollisionObject(*coal_capsule(segments[k], model.leaves[k].radius))
            for k in self.leaves
        ]
        self.balls = [
            coal.CollisionObject(*coal_capsule(ball[:6].reshape(2, 3), ball[6])) for ball in balls
        ]
        self.scene = coal.DynamicAABBTreeCollisionManager()
        self.arm = coal.DynamicAABBTreeCollisionManager()
        for manager, things in ((self.scene, self.balls), (self.arm, self.robot)):
            for thing in things:
                manager.registerObject(thing)
            manager.setup()

    def place(self, q: np.ndarray) -> None:
        """Put the robot's leaves where they are at q; not timed."""
        segments = self.model.leaf_segments(q)
        for thing, k in zip(self.robot, self.leaves, strict=True):
            _, transform = coal_capsule(segments[k], self.model.leaves[k].radius)
            thing.setTransform(transform)
            thing.computeAABB()

    def move(self, k: int, centre: np.ndarray) -> None:
        """One ball is elsewhere."""
        thing = self.balls[k]
        thing.setTranslation(centre)
        thing.computeAABB()
        self.scene.update(thing)

    def replace(self, k: int, centre: np.ndarray) -> None:
        """One ball goes, and another comes."""
        thing = self.balls[k]
        self.scene.unregisterObject(thing)
        thing.setTranslation(centre)
        thing.computeAABB()
        self.scene.registerObject(thing)

    def query(self) -> float:
        """What the manager takes for the least distance."""
        self.arm.update()
        callback = coal.DistanceCallBackDefault()
        callback.data.request.enable_signed_distance = True
        self.arm.distance(self.scene, callback)
        return callback.data.result.min_distance


    def least(self) -> float:
        """The least signed distance, of all pairs one by one."""
        request = coal.DistanceRequest()
        return min(
            coal.distance(one, other, request, coal.DistanceResult())
            for one in self.robot
            for other in self.balls
        )


def loaded(name: str) -> CollisionModel:
    """A robot out of example-robot-data."""
    files = robot(name)
    return CollisionModel.from_urdf(files.urdf, srdf=files.srdf, package_dirs=files.package_dirs)


def some_balls(count: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Rows of leaves, up to 1.5 m from the root, that keep 25 cm from its axis."""
    balls = []
    while len(balls) < count:
        centre = rng.uniform(-1.5, 1.5, 3)
        if np.hypot(*centre[:2]) > 0.25:
            balls.append(np.array([*centre, *centre, rng.uniform(0.03, 0.08)]))
    return balls


def timed(work, *given) -> tuple[float, object]:
    """(seconds, result)."""
    begin = time.thread_time()
    result = work(*given)
    return time.thread_time() - begin, result


def at(centre: np.ndarray) -> np.ndarray:
    """A pose (4, 4)."""
    pose = np.eye(4)
    pose[:3, 3] = centre
    return pose


def measure(model: CollisionModel, count: int, seconds: float) -> dict[str, float]:
    """Medians in microseconds."""
    rng = np.random.default_rng(count)
    # Without the robot's own pairs: coal measures those with balls.
    live = LiveScene(model.twin([]), Bounds(objects=max(count, 1), leaves_per_object=1))
    balls = some_balls(count, rng)
    origin = [np.r_[np.zeros(6), ball[6]].reshape(1, 7) for ball in balls]
    for number, ball in enumerate(balls):
        live.add(f"b/{number}", origin[number], None, at(ball[:3]))
    other = Coal(model, balls)
    times: dict[str, list[float]] = {}
    configurations = model.random_configurations(2000, count)
    end = time.monotonic() + seconds
    worst = 0.0
    for step, q in enumerate(np.tile(configurations, (20, 1))):
        if time.monotonic() > end and step > 20:
            break
        times.setdefault("robot alone", []).append(timed(model.distance, q)[0])
        if not count:
            continue
        number = int(rng.integers(count))
        centre = some_balls(1, rng)[0][:3]
        other.place(q)
        if step % 2:
            ours = timed(live.move, f"b/{number}", at(centre))
            theirs = timed(other.move, number, centre)
            kind = "move"
        else:
            begin = time.thread_time()
            live.remove(f"b/{number}")
            live.add(f"b/{number}", origin[number], None, at(centre))
            ours = (time.thread_time() - begin,)
            theirs = timed(other.replace, number, centre)
            kind = "replace"
        times.setdefault(kind, []).append(ours[0])
        times.setdefault(f"coal {kind}", []).append(theirs[0])
        first, theirs = timed(live.distance, q), timed(other.query)
        times.setdefault(f"query after {kind}", []).append(first[0])
        times.setdefault("query", []).append(timed(live.distance, q)[0])
        times.setdefault("coal query", []).append(theirs[0])
        if step % 40 == 0 and (least := other.least()) > 1e-3:
            worst = max(worst, abs(least - first[1].distance))
    assert worst < 1e-6, f"coal differs by {worst} m"
    return {name: float(np.median(values)) * 1e6 for name, values in times.items()}


def cycles(model: CollisionModel, count: int, seconds: float) -> dict[str, float]:
    """Microseconds of `Monitor.update` and of a change, median and p99."""
    rng = np.random.default_rng(count)
    live = LiveScene(model, Bounds(objects=max(count, 1) + 1))
    behaviour = SpeedPolicy(model, live=live)
    monitor = Monitor(model, zero_state_confirmation=0.0, behaviour=behaviour, live=live)
    balls = some_balls(count, rng)
    for number, ball in enumerate(balls):
        live.add(f"b/{number}", ball.reshape(1, 7))
    names, q = list(model.joint_names), model.random_configurations(1, 1)[0]
    speeds = rng.uniform(-0.5, 0.5, len(q)) * np.minimum(model.velocity_limits, 1.0)
    if count:
        live.add("tool/1", np.array([[0, 0, 0, 0, 0, 0.1, 0.03]]), model.moving_links[-1])
    updates, changes = [], []
    for step in range(int(RATE * seconds)):
        now = 1.0 + step / RATE
        if count and step % (RATE // CHANGES) == 0:
            number = int(rng.integers(count))
            begin = time.thread_time()
            if step % 3:
                live.move(f"b/{number}", at(rng.uniform(-0.2, 0.2, 3)))
            else:
                live.remove(f"b/{number}")
                live.add(f"b/{number}", balls[number].reshape(1, 7))
            changes.append(time.thread_time() - begin)
        here = q + 0.5 * speeds * np.sin(2.0 * np.pi * 0.2 * step / RATE)
        begin = time.thread_time()
        monitor.update(names, here.tolist(), now, now)
        updates.append(time.thread_time() - begin)
    out = {}
    for what, times in (("cycle", updates), ("change", changes)):
        for label, part in (("median", 50), ("p99", 99)):
            out[f"{what} {label}"] = float(np.percentile(times, part)) * 1e6 if times else 0.0
    return out


def meshes(model: CollisionModel, seconds: float) -> dict[str, float]:
    """Microseconds of cycles and queries among meshes, and the ratio to coal."""
    rng = np.random.default_rng(0)
    names, q = list(model.joint_names), model.random_configurations(1, 1)[0]
    speeds = rng.uniform(-0.5, 0.5, len(q)) * np.minimum(model.velocity_limits, 1.0)
    bounds = Bounds(objects=12)
    scenes = {phase: LiveScene(model, bounds) for phase in ("leaf", "mesh", "query")}
    segments = model.leaf_segments(q)
    moving = [k for k, leaf in enumerate(model.leaves) if leaf.link in set(model.moving_links)]
    shapes, bvh = {}, {}
    for number in range(12):
        ball = trimesh.creation.icosphere(3, rng.uniform(0.04, 0.1))
        mesh = Shape("mesh", np.eye(4), (), np.array(ball.vertices), np.array(ball.faces))
        scenes["query"].add(f"m/{number}", mesh)
        gap = 0.0
        while not 0.02 < gap < 0.2:
            pose = at(segments[rng.choice(moving)].mean(axis=0) + rng.normal(scale=0.15, size=3))
            scenes["query"].move(f"m/{number}", pose)
            gap = scenes["query"].distances(q, 0.2)[-len(model.moving_links) :].min()
        for live in scenes.values():
            live.add(f"m/{number}", mesh, None, pose)
        bvh[f"m/{number}"] = [(coal_shape(mesh), coal.Transform3s(pose[:3, :3], pose[:3, 3]))]
    for name in model.moving_links:
        of_link = model.exact_shapes.links()[name].shapes
        shapes[name] = [(coal_shape(shape), shape.pose) for shape in of_link]
    monitors = {
        phase: Monitor(
            model, zero_state_confirmation=0.0, live=scenes[phase],
            narrow_phase="leaf" if phase == "leaf" else "auto",
            behaviour=SpeedPolicy(model, live=scenes[phase]),
        )
        for phase in ("leaf", "mesh")
    }  # fmt: skip
    times = {name: [] for name in ("leaf", "mesh", "query", "coal", "ratio", "contact")}
    live, request = scenes["query"], coal.DistanceRequest()
    for step in range(int(RATE * seconds)):
        now = 1.0 + step / RATE
        here = q + 0.5 * speeds * np.sin(2.0 * np.pi * 0.2 * step / RATE)
        for phase, monitor in monitors.items():
            times[phase].append(timed(monitor.update, names, here.tolist(), now, now)[0])
        ours, answer = timed(live.distance, here, True)
        leaves, poses = live.distances(here), model.link_poses(here)
        for name in model.moving_links:
            bvh[name] = [
                (shape, coal.Transform3s((poses[name] @ pose)[:3, :3], (poses[name] @ pose)[:3, 3]))
                for shape, pose in shapes[name]
            ]
        near = [live.pairs[k] for k in np.flatnonzero(leaves <= max(answer.distance, 0.0) + 1e-9)]
        near = [(a, b) for a, b in near if a in bvh]
        begin = time.thread_time()
        least = min(
            coal.distance(*one, *other, request, coal.DistanceResult())
            for a, b in near for one in bvh[a] for other in bvh[b]
        )  # fmt: skip
        theirs = time.thread_time() - begin
        if answer.distance > 0.0:
            assert abs(least - answer.distance) < 1e-5, (least, answer)
        times["query"].append(ours)
        times["coal"].append(theirs)
        times["ratio"].append(theirs / ours)
        times["contact"].append(answer.distance <= 0.0)
    out = {"in contact, %": 100.0 * float(np.mean(times.pop("contact")))}
    out["coal / query, median ratio"] = float(np.median(times.pop("ratio")))
    for name, values in times.items():
        for label, part in (("median", 50), ("p99", 99)):
            out[f"{name} {label}"] = float(np.percentile(values, part)) * 1e6
    return out


def main() -> None:
    """Print a row for each number of objects."""
    parser = arguments(__doc__)
    parser.add_argument("--robot", default="ur5", help="of example-robot-data, default ur5")
    parser.add_argument("--counts", default="0,10,100,1000", help="of objects")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each number, twice")
    parser.add_argument("--node", action="store_true", help="measure the node instead")
    parser.add_argument("--meshes", action="store_true", help="measure meshes instead")
    options = parser.parse_args()
    if options.meshes:
        print(json.dumps(meshes(loaded(options.robot), options.seconds), indent=2))
        return
    if options.node:
        node_cycles = import_module("node_costs.scene_changes").node_cycles
        print(json.dumps(node_cycles(options.seconds), indent=2))
        return
    model = loaded(options.robot)
    results = {}
    for count in map(int, options.counts.split(",")):
        results[count] = measure(model, count, options.seconds)
        results[count] |= cycles(model, count, options.seconds)
    if options.json:
        print(json.dumps(results))
        return
    for count, row in results.items():
        print(f"{options.robot}, {count} objects, microseconds")
        for name, value in row.items():
            print(f"    {name:22} {value:9.1f}")


if __name__ == "__main__":
    main()
