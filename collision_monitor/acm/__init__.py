# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Allowed collision matrices: pairs that can meet, with proofs; SRDFs written and audited.

Names are imported at their first use.
"""

from collision_monitor.common.lazy_imports import lazy_exports

__all__, __getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "matrix": ("SearchSettings", "classify"),
        "pair_search": ("Ground", "Meeting", "SearchResult"),
        "srdf_exemptions": ("Audit", "Exemption", "Finding", "audit", "exemptions", "srdf_text"),
    },
)
