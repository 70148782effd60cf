# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Imports at the first use: public names of packages, and libraries of some capabilities."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module, metadata
from typing import Any

from collision_monitor.errors import MissingDependencyError


def lazy_exports(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package (PEP 562).

    Args:
        package: its name, ``__name__`` in its ``__init__.py``.
        names: public names by the module that defines them, which is named relative to the package.
    """
    modules = {name: module for module, group in names.items() for name in group}

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names_of_package() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return sorted(modules), get, names_of_package


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
        raise MissingDependencyError(f"{need} ({error}): {install_command(extra)}") from None


def figure_class(need: str, extra: str) -> Any:
    """Return the class Figure of matplotlib; arguments and errors as of `optional_dependency`."""
    with optional_dependency(need, extra):
        from matplotlib.figure import Figure
    return Figure
