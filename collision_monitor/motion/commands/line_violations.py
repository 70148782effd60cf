# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is wrong with a link that is led along a line: singularities, limits, leaving the line."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.interpolate import PPoly
from scipy.optimize import minimize_scalar

from collision_monitor.motion.commands.resolved_rates import SINGULAR, ResolvedRates
from collision_monitor.motion.trajectory import Trajectory
from collision_monitor.motion.violation import Code, Violation
from collision_monitor.robot.bodies import Bodies

OFF = (1e-4, math.radians(0.01))  # metres and radians off the line that are too much
_NEAR_SINGULAR = 0.03  # smallest singular value that is warned of
_ROUNDING = 1e-9  # rad or m beyond a limit that is none


def singularities(
    rates: ResolvedRates,
    path: Callable[[np.ndarray], np.ndarray],
    course: PPoly,
    times: np.ndarray,
    link: str,
) -> tuple[float, list[Violation]]:
    """The smallest singular value on the way, and what is said of it.

    Args:
        rates: those of the link.
        path: joints (n, columns) by s (n,).
        course: s over time.
        times: (n,) instants from which it is looked for, also between them.
        link: the link.
    """

    def value(time: float) -> float:
        return rates.smallest_singular_value(path(course([time])[0])[0])

    values = np.array([value(time) for time in times])
    # Crossing a singularity it comes down to zero like |x|: between nodes it is far below both.
    lows = []
    for k in np.flatnonzero(values < 5.0 * _NEAR_SINGULAR):
        low, high = max(k - 1, 0), min(k + 1, len(times) - 1)
        if values[k] == values[low : high + 1].min():
            found = minimize_scalar(value, bounds=(times[low], times[high]), method="bounded")
            lows.append((float(found.x), float(found.fun)))
    if lows:
        times, values = np.hstack([[times, values], np.array(lows).T])
        order = np.argsort(times)
        times, values = times[order], values[order]
    worst = int(values.argmin())
    least = float(values[worst])
    if least >= _NEAR_SINGULAR:
        return least, []
    damped = least < SINGULAR
    limit = SINGULAR if damped else _NEAR_SINGULAR
    said = (
        "rates are damped there, so the link leaves the line a little; a controller does otherwise"
        if damped
        else "rates are high near there"
    )
    return least, [
        Violation(
            code=Code.SINGULARITY,
            subject=link,
            first=float(times[values < limit][0]),
            worst=float(times[worst]),
            value=least,
            limit=limit,
            unit="1",
            warning=not damped,
            text=f"the smallest singular value of the Jacobian, lengths over {rates.reach:.3g} m; "
            + said,
        )
    ]


def beyond_limits(
    bodies: Bodies, rates: ResolvedRates, trajectory: Trajectory, times: np.ndarray
) -> list[Violation]:
    """Joints that lead the link and come beyond their limits, looked at ``times`` (n,)."""
    found = []
    positions = trajectory.polynomial(times)
    for column in rates.columns:
        joint = bodies.joints[column]
        if joint.kind == "continuous":
            continue
        for sign, limit in ((1.0, joint.upper), (-1.0, joint.lower)):
            beyond = sign * (positions[:, column] - limit)
            if beyond.max() <= _ROUNDING:
                continue
            worst = int(beyond.argmax())
            found.append(
                Violation(
                    code=Code.JOINT_POSITION,
                    subject=joint.name,
                    first=_first(times, beyond),
                    worst=float(times[worst]),
                    value=float(positions[worst, column]),
                    limit=limit,
                    unit="m" if joint.kind == "prismatic" else "rad",
                    text="met while the line was followed",
                )
            )
    return found


def off_the_line(
    times: np.ndarray, off: np.ndarray, link: str, reached: float
) -> list[Violation]:
    """Where ``off`` (n, 2), metres and radians at ``times`` (n,), is too much.

    ``reached``: the part of the line after which it could not be followed, or 1.
    """
    text = "off where the line has it at that time"
    if reached < 1.0:
        text += (
            f"; it cannot be followed beyond {100.0 * reached:.3g} % of its length, at "
            f"{times[-1]:.4g} s, and the motion is cut off there"
        )
    found = [
        Violation(
            code=Code.OFF_THE_LINE,
            subject=link,
            first=_first(times, values - limit),
            worst=float(times[values.argmax()]),
            value=float(values.max()),
            limit=limit,
            unit=unit,
            text=text,
        )
        for values, limit, unit in zip(off.T, OFF, ("m", "rad"), strict=True)
        if values.max() > limit
    ]
    if reached < 1.0 and not found:  # rates too wild to be integrated, but on the line until then
        end, metres = float(times[-1]), float(off[-1, 0])
        found.append(Violation(Code.OFF_THE_LINE, link, end, end, metres, OFF[0], "m", text=text))
    return found


def _first(times: np.ndarray, beyond: np.ndarray) -> float:
    """When ``beyond`` (n,) is above zero first, straight between ``times``."""
    k = int(np.flatnonzero(beyond > 0.0)[0])
    if k == 0:
        return float(times[0])
    part = beyond[k - 1] / (beyond[k - 1] - beyond[k])
    return float(times[k - 1] + part * (times[k] - times[k - 1]))
