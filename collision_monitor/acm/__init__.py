# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Allowed collision matrices: pairs that can meet, with proofs; SRDFs written and audited.

Names are imported at their first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collision_monitor.acm.exemptions import Audit, Exemption, Finding, audit, srdf_text
    from collision_monitor.acm.matrix import SearchSettings, classify
    from collision_monitor.acm.pair_search import Ground, Meeting, Verdict

__all__ = [
    "Audit",
    "Exemption",
    "Finding",
    "Ground",
    "Meeting",
    "SearchSettings",
    "Verdict",
    "audit",
    "classify",
    "srdf_text",
]

_MODULES = {
    "Audit": "exemptions",
    "Exemption": "exemptions",
    "Finding": "exemptions",
    "Ground": "pair_search",
    "Meeting": "pair_search",
    "SearchSettings": "matrix",
    "Verdict": "pair_search",
    "audit": "exemptions",
    "classify": "matrix",
    "srdf_text": "exemptions",
}


def __getattr__(name: str) -> Any:
    """Import a public name at its first use (PEP 562)."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names, also those not imported yet."""
    return sorted({*globals(), *__all__})
