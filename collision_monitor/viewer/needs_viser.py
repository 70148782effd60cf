# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""viser, which only the page needs."""

from __future__ import annotations

from functools import cache
from types import ModuleType

from collision_monitor.errors import MissingDependencyError


@cache
def viser_library() -> ModuleType:
    """The module viser.

    Raises:
        MissingDependencyError: it is not installed, or older than the parts that are used.
    """
    try:
        import viser

        viser.MainPanelHandle  # noqa: B018 - an attribute of viser 1.1 and later
    except (ImportError, AttributeError) as problem:
        raise MissingDependencyError(
            f"the page needs viser 1.1 or later ({problem}): "
            "pip install 'collision_monitor[view]'"
        ) from None
    return viser
