# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""The library of rigid-body dynamics, which only torques need."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from collision_monitor.errors import MissingDependencyError


def pinocchio() -> ModuleType:
    """The module (Carpentier et al., The Pinocchio C++ library, SII 2019).

    Raises:
        MissingDependencyError: it is not installed.
    """
    try:
        return import_module("pinocchio")
    except ImportError:
        raise MissingDependencyError(
            "torques need pinocchio: pip install 'collision_monitor[verify]'"
        ) from None
