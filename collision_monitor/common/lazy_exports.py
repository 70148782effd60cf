# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Public names of a package that are imported at their first use (PEP 562)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any


def lazy_exports(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package.

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
