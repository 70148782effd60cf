# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""MuJoCo, which only the simulation needs."""

from __future__ import annotations

import logging
from functools import cache
from types import ModuleType

from collision_monitor.errors import MissingDependencyError

logger = logging.getLogger(__name__)


@cache
def mujoco_library() -> ModuleType:
    """The module mujoco (Todorov, Erez, Tassa, IROS 2012), its warnings sent to our log.

    Raises:
        MissingDependencyError: it is not installed, or older than its model builder.
    """
    try:
        import mujoco

        mujoco.MjSpec  # noqa: B018 - an attribute of mujoco 3.2 and later
    except (ImportError, AttributeError) as problem:
        raise MissingDependencyError(
            f"the simulation needs mujoco 3.3 or later ({problem}): "
            "pip install 'collision_monitor[simulation]'"
        ) from None
    # Without it MuJoCo writes its warnings to a file in the working directory.
    mujoco.set_mju_user_warning(lambda text: logger.warning("MuJoCo: %s", text))
    return mujoco
