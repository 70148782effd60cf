# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Recipes for models, and loading them in this process or in a child process.

A `Recipe` consists of plain values that can be sent to another process. Fitting and compiling hold
the GIL for long: in a thread they would block the whole process. The result is unpickled in
milliseconds; machine code is loaded from the cache on disk.

A recipe is written to the standard input of the child, and an `Answer` is read from its standard
output, both pickled by this package. The child ends when its standard input is closed, because its
parent has ended.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from collision_monitor.common.files import any_changed_since
from collision_monitor.common.limits import LoadingLimits, limited
from collision_monitor.common.safe_files import ReceivedText
from collision_monitor.common.settings import setting
from collision_monitor.errors import (
    CollisionMonitorError,
    ConfigurationError,
    NothingToCheckError,
    reason_of,
)
from collision_monitor.fitting.fitter import FITS, given_leaves
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.mesh_distance.mesh_tree import Hierarchy
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.robot.composed import Mounted, compose, compose_semantics
from collision_monitor.robot.description import Robot
from collision_monitor.robot.poses import pose_from_xyz_rpy, rpy_problem
from collision_monitor.robot.scene import load_scene, mesh_files
from collision_monitor.robot.srdf import load_srdf
from collision_monitor.robot.urdf import load_robot

# Owner of the joints that a scene adds to robots.
SCENE = "scene"


@dataclass(frozen=True)
class RobotSource:
    """One robot.

    Attributes:
        urdf: path, or text; `ReceivedText` for text from a topic.
        srdf: path, or text; empty if there is none.
        name: in its cell; empty for a single robot.
        prefix: of the names of its links, joints and groups.
        mount: x, y, z, roll, pitch, yaw of its root link in the frame of ``parent``, metres and
            radians.
        parent: link of an earlier robot that it is fixed to; empty for the common root.
    """

    urdf: str | ReceivedText
    srdf: str = ""
    name: str = ""
    prefix: str = ""
    mount: tuple[float, ...] = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    parent: str = ""


@dataclass(frozen=True)
class Loaded:
    """The result of a `Recipe`.

    Attributes:
        model: of all robots and the scene.
        joints: of robots in a cell, by name, and of the scene as ``scene``: all joints including
            fixed ones, with their names in ``model``. Empty for a single robot.
        began: time at which loading began, seconds since 1970.
    """

    model: CollisionModel
    joints: Mapping[str, tuple[str, ...]]
    began: float

    @property
    def is_outdated(self) -> bool:
        """Whether the file of a mesh was written or replaced since loading began."""
        return any_changed_since(mesh_files(self.model.robot, self.model.scene), self.began)


@dataclass(frozen=True)
class Recipe:
    """All inputs of a model; arguments as in `CollisionModel.from_urdf`.

    Attributes:
        robots: one, or several; those of a node that monitors several have names.
        root: the link without a shape that several robots, and those with names, are mounted on.
        check_leaves: whether leaves of a file must enclose the robots.
        exact: whether to prepare exact distances as well.
        limits: of loading.
        checked, unchecked: recipes that differ in these count as equal.
    """

    robots: tuple[RobotSource, ...]
    package_dirs: tuple[str, ...] = ()
    scene: str = setting("", "YAML file with obstacles and pairs to ignore")
    max_leaves_per_link: int = FitSettings.max_leaves_per_link
    leaf_tolerance: float = FitSettings.leaf_tolerance
    leaves: str = setting(
        "",
        "YAML file of leaves, as written by 'fit --output', used instead of fitting; rejected if "
        "they do not enclose the robot",
    )
    visual_meshes: bool = setting(
        False,
        "use the visual geometry of links without collision geometry; other links keep their "
        "collision geometry",
    )
    root: str = "world"
    check_leaves: bool = True
    exact: bool = False
    fit: str = setting(
        FITS[0],
        "how leaves are fitted: 'optimised', or 'published': one capsule or sphere for each shape "
        "of the robot, looser, for comparison (docs/reports/methods.md); only with the defaults of "
        "the number of leaves and their tolerance, and without a file of leaves",
        choices=FITS,
    )
    hierarchy: str = setting(
        "aabb",
        "bounding volumes over triangles: 'aabb', 'obb', 'rss' or 'octree', also with settings "
        "('octree:depth=5,leaf=4', docs/reports/exact.md); all give the same distances",
        reader=Hierarchy.parse,
    )
    limits: LoadingLimits = LoadingLimits()
    checked: tuple[str, ...] = field(default=(), compare=False)
    unchecked: tuple[str, ...] = field(default=(), compare=False)

    def load(self) -> Loaded:
        """Load, fit and compile.

        Raises:
            LoadingLimitError: a limit is exceeded.
            CollisionMonitorError: as `CollisionModel.from_urdf` and `compose`; it names the robot.
            NothingToCheckError: there is no pair of links to check.
        """
        began = time.time()
        with limited(self.limits):
            model, robots = self.assembled()
            if not model.pairs:
                raise NothingToCheckError(
                    f"robot '{model.name}' has no pair of links to check ({len(model.link_names)} "
                    "links have collision shapes)"
                )
            if self.exact:
                model.prepare_exact(crossings=True)  # of the markers
            model.sampled_distances(self.exact)
            joints = {
                source.name: tuple(source.prefix + joint.name for joint in robot.joints)
                for source, robot in zip(self.robots, robots, strict=True) if source.name
            }  # fmt: skip
            if joints and model.scene.joints:
                joints[SCENE] = tuple(joint.name for joint in model.scene.joints)
            return Loaded(model, joints, began)

    def assembled(self) -> tuple[CollisionModel, list[Robot]]:
        """Return the model, without preparing it, and each robot with the names of its URDF.

        Raises:
            LoadingLimitError, CollisionMonitorError: as `load`.
        """
        with limited(self.limits):
            parts = [self._mounted(robot) for robot in self.robots]
            whole, semantics = parts[0].robot, parts[0].semantics
            if len(parts) > 1 or self.robots[0].name:
                names = (
                    source.name or part.robot.name
                    for source, part in zip(self.robots, parts, strict=True)
                )
                whole = compose(parts, " and ".join(names), self.root)
                semantics = compose_semantics(parts)
            scene = load_scene(self.scene, whole, self.package_dirs) if self.scene else None
            settings = FitSettings(self.max_leaves_per_link, self.leaf_tolerance)
            leaves = given_leaves(whole, settings, self.leaves or None, self.fit, self.check_leaves)
            model = CollisionModel(
                whole, semantics, scene, settings, leaves, self.hierarchy, self.checked,
                self.unchecked,
            )  # fmt: skip
            return model, [part.robot for part in parts]

    def _mounted(self, source: RobotSource) -> Mounted:
        try:
            robot = load_robot(source.urdf, self.package_dirs, self.visual_meshes)
            semantics = load_srdf(source.srdf, robot) if source.srdf else None
        except CollisionMonitorError as error:
            if not source.name:
                raise
            raise type(error)(f"robot {source.name!r}: {error}") from None
        if problem := rpy_problem(source.mount[3:]):
            raise ConfigurationError(f"mount of {source.name or robot.name!r}: {problem}")
        pose = pose_from_xyz_rpy(source.mount[:3], source.mount[3:])
        return Mounted(robot, source.prefix, pose, source.parent or None, semantics)


# The child finds modules like this process, and not in its working directory.
_PROGRAM = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.SIG_IGN); sys.path[:] = sys.argv[1:]; "
    "from collision_monitor.model.loading import main; main()"
)
_NICENESS = 10  # of the child, because the parent may be monitoring a robot


class Answer(NamedTuple):
    """The result of a recipe in a child process.

    Attributes:
        loaded: a pickled `Loaded`; empty after an error.
        error: the error message, or empty.
        log: messages of the library, (level of `logging`, text).
        is_lost: whether the process ended without an answer; ``error`` then says how.
        pairs: number of pairs to check.
    """

    loaded: bytes = b""
    error: str = ""
    log: tuple[tuple[int, str], ...] = ()
    is_lost: bool = False
    pairs: int = 0


class LoadingProcess:
    """Loads one recipe in a child process. Calls never block; the child ends with this process."""

    def __init__(self, recipe: Recipe) -> None:
        """Start the process."""
        self.recipe = recipe
        self._began = time.monotonic()
        self._answer: Answer | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, *sys.path],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        # Pipes are small: writing blocks while the child is importing.
        self._thread = threading.Thread(target=self._run, name="loading", daemon=True)
        self._thread.start()
        atexit.register(self.cancel)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    def poll(self) -> Answer | None:
        """Return the answer, or None while it is loading."""
        return self._answer

    def cancel(self) -> None:
        """Terminate the process without waiting for it."""
        atexit.unregister(self.cancel)
        self._process.kill()

    def _run(self) -> None:
        process, pickled = self._process, b""
        # Broken pipe: the child has ended or is being terminated.
        with contextlib.suppress(OSError):
            pickle.dump(self.recipe, process.stdin, protocol=5)
            process.stdin.flush()
        with contextlib.suppress(OSError):
            pickled = process.stdout.read()
        code = process.wait()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()
        try:
            answer = pickle.loads(pickled)
        except Exception:  # a truncated pickle can raise any error
            answer = Answer(error=f"the process that loaded it ended, {_cause(code)}", is_lost=True)
        self._answer = answer


def _cause(code: int) -> str:
    if code < 0:
        return f"killed by signal {-code}" + (", out of memory?" if code == -9 else "")
    return f"with code {code}"


# -- in the child --


class _Collector(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.records: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append((record.levelno, self.format(record)))


def answer(recipe: Recipe) -> Answer:
    """Load a model; return it or the error."""
    collector = _Collector()
    library = logging.getLogger("collision_monitor")
    library.addHandler(collector)
    library.setLevel(logging.INFO)
    library.propagate = False
    pairs = 0
    try:
        robot = recipe.load()
        loaded, error, pairs = pickle.dumps(robot, protocol=5), "", len(robot.model.pairs)
    except Exception as problem:  # the parent must get an answer
        loaded, error = b"", reason_of(problem)
    finally:
        library.removeHandler(collector)
    return Answer(loaded, error, tuple(collector.records), pairs=pairs)


def _end_with_parent() -> None:
    sys.stdin.buffer.read(1)
    os._exit(1)


def main() -> None:
    """Answer one recipe."""
    with contextlib.suppress(OSError):
        os.nice(_NICENESS)
    # Output of libraries must not be mixed with the answer.
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    recipe = pickle.load(sys.stdin.buffer)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with out:
        pickle.dump(answer(recipe), out, protocol=5)
    os._exit(0)  # do not wait for a compiler thread
