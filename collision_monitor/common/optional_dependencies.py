# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Libraries that only some capabilities need, imported where they are first used."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from typing import Any

from collision_monitor.errors import MissingDependencyError


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an ``extra`` of this package.

    It names them, since this package itself is usually built by colcon and on no package index.
    """
    try:
        required = metadata.requires("collision_monitor") or []
    except metadata.PackageNotFoundError:
        required = []
    marker = re.compile(rf"extra == ['\"]{extra}['\"]")
    names = [each.partition(";")[0].strip() for each in required if marker.search(each)]
    return "pip install " + shlex.join(names or [f"collision_monitor[{extra}]"])


@contextmanager
def optional_dependency(need: str, extra: str) -> Iterator[None]:
    """Raise an error with a remedy if a library that the body imports is missing or too old.

    Args:
        need: beginning of the message, such as ``the page needs viser 1.1 or later``.
        extra: extra of this package that installs the library.

    Raises:
        MissingDependencyError: the body raised ImportError, or AttributeError for what an old
            version lacks.
    """
    try:
        yield
    except (ImportError, AttributeError) as error:
        raise MissingDependencyError(
            f"{need} ({error}): {install_command(extra)}"
        ) from None


def figure_class(need: str, extra: str) -> Any:
    """Return the class Figure of matplotlib; arguments and errors as of `optional_dependency`."""
    with optional_dependency(need, extra):
        from matplotlib.figure import Figure
    return Figure
