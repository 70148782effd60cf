# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""``warm-up``: compiles the kernels in advance, for container images and installers.

Kernels are compiled for types of arguments, which are the same for all robots. So it is enough to
call once, with a small robot, what commands and nodes call; numba keeps the machine code on disk.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import trimesh

from collision_monitor.cli.demo import demo_parameters, package_file
from collision_monitor.cli.options import Exit
from collision_monitor.common.compiled import cache_directory, compiled_kernels, log_compiling
from collision_monitor.errors import MissingDependencyError
from collision_monitor.fitting.shapes import fits_in_own_frame
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.live import point_cloud
from collision_monitor.model.live.live_scene import LiveScene
from collision_monitor.monitoring.monitor import Monitor
from collision_monitor.monitoring.speed_policy.speed_policy import SpeedPolicy
from collision_monitor.motion import read_motion
from collision_monitor.motion.motion_files import load_trajectory
from collision_monitor.robot.description import Shape
from collision_monitor.self_collision.adjustment import adjust
from collision_monitor.self_collision.point_stream import Streamer
from collision_monitor.verification.run_checks import verify

_PERIOD, _CYCLES = 0.01, 20  # seconds between joint states, and their number


def add_parser(commands: Any) -> None:
    """Add the command to the subparsers."""
    parser = commands.add_parser(
        "warm-up",
        help="compile the kernels in advance",
        description="Compiles the kernels of the nodes, of verify and of adjust, and keeps them in "
        "the cache of this user. Run it when an image or an installation is made; otherwise the "
        "first start compiles.",
    )
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Compile, and print what took how long; returns 1 if nothing can be kept."""
    log_compiling()
    begin = time.monotonic()
    for text, call in STEPS:
        started, before = time.monotonic(), compiled_kernels()
        try:
            call()
        except MissingDependencyError as missing:
            print(f"{text}: left out, {missing}")
            continue
        count, seconds = compiled_kernels() - before, time.monotonic() - started
        print(f"{text}: {count} kernels compiled in {seconds:.1f} s", flush=True)
    place = cache_directory()
    if place is None:
        print("error: no folder to keep kernels in can be written", file=sys.stderr)
        return Exit.FAILED
    print(f"ready in {time.monotonic() - begin:.1f} s; kernels are in {place}")
    return 0


def _load() -> CollisionModel:
    """The robot of the demo with its scene."""
    files = demo_parameters()
    return CollisionModel.from_urdf(
        files["robot_description"], files["robot_description_semantic"], scene=files["scene"],
        leaves=files["leaves"],
    )  # fmt: skip


def _motion_file() -> Path:
    """A motion of the same robot on which its arms meet."""
    return package_file("config/dual_arm_motion.csv")


def _fit() -> None:
    ball = trimesh.creation.icosphere(1, 0.1)
    mesh = Shape("mesh", np.eye(4), (), np.array(ball.vertices), np.array(ball.faces))
    fits_in_own_frame(mesh, 2, 0.005)


def _measure() -> None:
    model = _load()
    configurations = model.random_configurations(3, 0)
    for exact in (False, True):
        model.distance(configurations[0], exact)
        model.distances(configurations[0], exact)
    model.min_distances(configurations)
    model.is_clear(configurations, 0.0)
    model.contacts(configurations[0])
    model.prepare_exact(crossings=True)
    model.sampled_distances(exact=True)


def _monitor() -> None:
    """Joint states of a motion on which arms meet, with an object and a cloud."""
    model = _load()
    live = LiveScene(model)
    policy = SpeedPolicy(model, live=live)
    monitor = Monitor(model, behaviour=policy, live=live)
    point_cloud.warm_up()
    live.add("object", Shape("box", np.eye(4), (0.1, 0.1, 0.1)))
    motion = read_motion(_motion_file())
    for k in range(_CYCLES):
        q = motion.at(motion.duration * k / _CYCLES)
        monitor.update(motion.joint_names, q, now=1.0 + _PERIOD * k, stamp=1.0 + _PERIOD * k)
    monitor.distances()
    policy.time_to_collision(monitor.buffer.q)
    policy.escape_direction(monitor.buffer.q)


def _verify() -> None:
    model = _load()
    verify(model, load_trajectory(_motion_file(), model.robot))


def _adjust() -> None:
    model = _load()
    Streamer(model)
    for method in ("robust", "field"):
        adjust(model, read_motion(_motion_file()), method=method)


# What commands and nodes call, in words and as a function.
STEPS: tuple[tuple[str, Callable[[], None]], ...] = (
    ("leaves of meshes", _fit),
    ("distances", _measure),
    ("monitor", _monitor),
    ("verify", _verify),
    ("adjust", _adjust),
)
