# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Real robots for tests, out of the package example-robot-data where it is installed."""

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pytest

from collision_monitor import CollisionModel


@dataclass(frozen=True)
class RobotFiles:
    """Files of one robot; ``pairs`` is how many pairs pinocchio keeps with its SRDF."""

    urdf: Path
    srdf: Path | None
    package_dirs: tuple[Path, ...]
    pairs: int | None = None


# The URDF and SRDF that example-robot-data itself loads.
_FILES = {
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "ur_description/srdf/ur5.srdf", 17),
    "panda": ("panda_description/urdf/panda.urdf", "panda_description/srdf/panda.srdf", 44),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", "xarm_description/srdf/xarm7.srdf", 11),
    "baxter": (
        "baxter_description/urdf/baxter.urdf",
        "baxter_description/srdf/baxter_manipulation.srdf",
        547,
    ),
    "pr2": ("pr2_description/urdf/pr2.urdf", "pr2_description/srdf/pr2.srdf", 239),
    "tiago_dual": ("tiago_description/robots/tiago_dual.urdf", None, None),
    "talos": ("talos_data/robots/talos_full_v2.urdf", "talos_data/srdf/talos.srdf", 893),
}
NAMES = tuple(_FILES)


def slow_if_large(names: Iterable[str], *large: str) -> list:
    """Parameters of a test that loads models; ``large`` ones take too long for `make test`."""
    large, slow = large or ("tiago_dual",), pytest.mark.slow
    return [pytest.param(name, marks=slow) if name in large else name for name in names]


def _shares() -> Iterator[Path]:
    for entry in sys.path:
        # Wheels made by cmeel put a whole prefix into site-packages.
        yield Path(entry) / "cmeel.prefix" / "share"
    for variable in ("AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"):
        for prefix in filter(None, os.environ.get(variable, "").split(os.pathsep)):
            yield Path(prefix) / "share"
    yield Path(sys.prefix) / "share"


@lru_cache(maxsize=1)
def share_folder() -> Path | None:
    """Return the folder that holds example-robot-data, None where it is not installed."""
    for share in _shares():
        if (share / "example-robot-data" / "robots").is_dir():
            return share
    return None


def _load() -> dict[str, RobotFiles]:
    share = share_folder()
    if share is None:
        return {}
    robots = share / "example-robot-data" / "robots"
    return {
        name: RobotFiles(robots / urdf, robots / srdf if srdf else None, (share,), pairs)
        for name, (urdf, srdf, pairs) in _FILES.items()
    }


ROBOTS = _load()


def require(name: str) -> RobotFiles:
    """Return the files of a robot; skip the test where they are not installed."""
    if name not in ROBOTS:
        pytest.skip("the package example-robot-data is not installed")
    return ROBOTS[name]


def load_model(name: str, with_srdf: bool = True, **options: object) -> CollisionModel:
    """A robot as its vendor describes it; ``options`` are those of `CollisionModel.from_urdf`."""
    files = require(name)
    srdf = files.srdf if with_srdf else None
    return CollisionModel.from_urdf(files.urdf, srdf, files.package_dirs, **options)
