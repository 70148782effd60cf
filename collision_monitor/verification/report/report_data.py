# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""A verification as plain data, for JSON: the same keys in every run; docs/verify.md has them."""

from __future__ import annotations

import math
from typing import Any

from collision_monitor.motion.violation import Violation
from collision_monitor.verification.verification import Verification


def as_data(result: Verification) -> dict[str, Any]:
    """Only what JSON can say: a number that is not finite is None."""
    worst = result.worst
    return {
        "verdict": result.verdict.value,
        "exit_code": result.verdict.exit_code,
        "reason": result.reason,
        "motion": result.source,
        "robot": result.robot,
        "duration": _number(result.duration),
        "seconds": _number(result.seconds),
        "checks": [
            {"name": check.name, "done": not check.skipped, "skipped": check.skipped}
            for check in result.checks
        ],
        "violations": [_violation(v) for v in result.violations],
        "nearest": worst
        and {
            "time": _number(worst.time),
            "distance": _number(worst.distance),
            "at_least": _number(worst.at_least),
            "between": "meshes" if worst.exact else "leaves",
            "links": list(worst.pair),
            "configuration": [float(x) for x in worst.q],
            "points": [[float(x) for x in point] for point in worst.points],
            "starts": [{"motion": source, "time": start} for source, start in worst.starts],
        },
        "notes": list(result.notes),
    }


def _violation(v: Violation) -> dict[str, Any]:
    return {
        "code": v.code.value,
        "subject": v.subject,
        "first": _number(v.first),
        "worst": _number(v.worst),
        "value": _number(v.value),
        "limit": _number(v.limit),
        "unit": v.unit,
        "warning": v.warning,
        "text": v.text,
    }


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
