# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Common parts of benchmarks: arguments, questions, path of the test references, timing."""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import NoReturn

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from support.robots.robots import ROBOTS, RobotFiles  # noqa: E402

TITLES = {
    "ur5": "UR5", "panda": "Panda", "xarm7": "xArm7", "pr2": "PR2", "baxter": "Baxter",
    "tiago_dual": "TIAGo dual", "talos": "TALOS",
}  # fmt: skip


def table_row(*cells: object) -> str:
    """A line of a table in markdown."""
    return f"| {' | '.join(map(str, cells))} |"


def table_head(*titles: str) -> str:
    """The first two lines of a table in markdown."""
    return f"{table_row(*titles)}\n{'|---' * len(titles)}|"


def robot(name: str) -> RobotFiles:
    """Files of a robot of example-robot-data, or of ``robot.urdf@folder`` with its packages."""
    if found := own_robot(name):
        return found
    if name not in ROBOTS:
        there = ", ".join(ROBOTS) or "none: the package example-robot-data is not installed"
        raise argparse.ArgumentTypeError(f"no robot {name!r}; there are {there}")
    return ROBOTS[name]


def own_robot(text: str) -> RobotFiles | None:
    """Files of ``robot.urdf@folder``: a URDF, and a folder with its packages; None for a name."""
    urdf, _, packages = text.partition("@")
    if not urdf.endswith(".urdf"):
        return None
    for path in filter(None, (urdf, packages)):
        if not Path(path).exists():
            raise argparse.ArgumentTypeError(f"{path!r} does not exist")
    return RobotFiles(Path(urdf), None, (Path(packages or "."),))


def robots(text: str) -> dict[str, RobotFiles]:
    """Files of robots, by comma-separated names."""
    return {name: robot(name) for name in text.split(",")}


def counts(text: str) -> list[int]:
    """Comma-separated positive integers."""
    found = [int(part) for part in text.split(",")]
    if min(found) < 1:
        raise argparse.ArgumentTypeError(f"{min(found)} in {text!r} is not above zero")
    return found


def arguments(
    doc: str, names: tuple[str, ...] = (), configurations: int = 0
) -> argparse.ArgumentParser:
    """A parser with ``--json``, and ``--robots`` and ``--configurations`` where given.

    Args:
        doc: docstring of the benchmark; its first line is the description.
        names: default robots.
        configurations: default number of configurations.
    """
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    if names:
        listed = ",".join(names)
        parser.add_argument(
            "--robots",
            type=robots,
            default=listed,
            help=f"comma-separated names, or robot.urdf@folder_of_packages; default {listed}",
        )
    if configurations:
        parser.add_argument("--configurations", type=int, default=configurations)
    parser.add_argument("--json", action="store_true")
    return parser


def day_and_commit() -> str:
    """Of a run, as its table names them: the day, and the commit where git knows it."""
    words = ["git", "-C", str(ROOT), "rev-parse", "--short=8", "HEAD"]
    try:
        commit = subprocess.run(words, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        commit = ""
    return ", ".join(filter(None, (time.strftime("%Y-%m-%d"), commit)))


def microseconds(block: Callable[[], object], count: int) -> float:
    """Processor time of this thread per configuration of one block, without other processes."""
    start = time.thread_time()
    block()
    return (time.thread_time() - start) / count * 1e6


def choose(main: Callable[[], int | None] | str, **others: str) -> NoReturn:
    """Run ``main``, or the ``main`` of another module, and exit with its result.

    Args:
        main: measures what the benchmark is named after; a function, or a module like the others.
        others: modules by the first argument that chooses them, with _ for -. They are imported
            only when chosen, since their libraries may not be installed.
    """
    chosen = others.get(sys.argv[1].replace("-", "_")) if len(sys.argv) > 1 else None
    if chosen:
        del sys.argv[1]
        main = chosen
    sys.exit(import_module(main).main() if isinstance(main, str) else main())
