# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Fits leaves to all shapes of a robot and a scene: in parallel, with a cache on disk."""

from __future__ import annotations

import hashlib
import logging
import math
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, fields
from functools import cache
from heapq import heapify, heappop, heappush
from pathlib import Path
from typing import NamedTuple

import numpy as np

from collision_monitor.common.compiled import LOG_SECONDS
from collision_monitor.common.disk_cache import Store, content_key
from collision_monitor.common.limits import check_time
from collision_monitor.common.settings import settings_of
from collision_monitor.errors import FitError
from collision_monitor.fitting.approach_points import merged
from collision_monitor.fitting.bounding_shapes import fit_leaf, hull_points
from collision_monitor.fitting.enclosure import check_enclosing, check_filling
from collision_monitor.fitting.leaves_file import read_leaves
from collision_monitor.fitting.shapes import (
    Fit,
    FitSettings,
    fits_in_own_frame,
    leaf_rows,
    leaves_of,
    placed,
)
from collision_monitor.geometry.leaf import Leaf
from collision_monitor.robot.description import Robot, Shape
from collision_monitor.robot.shape_kinds import ROUNDED, enclosing_surface

logger = logging.getLogger(__name__)

# Obstacles, and loose links, may have so many times as many leaves: obstacles do not move, so that
# more leaves around them hardly slow down a query.
_FACTOR = 4
# Mean share of the maximum number of leaves that links may use: some links need all, but most
# others gain little from the last ones. Loose links may use as many together in addition.
_MEAN_SHARE = 0.75
# A link is loose if its leaves take more than this from other links where these come near, metres.
_LOOSE = 0.010
_WORTH = 1.5  # fewer leaves than so many times as many gain too little
# Files of the package that decide how a fit turns out, and some more.
_METHOD = ("fitting/*.py", "geometry/*.py", "robot/shape_kinds.py")
_CLOSED_FORMS = ("sphere", "capsule", "box")


class Job(NamedTuple):
    """A shape to be fitted.

    Attributes:
        shape: the shape.
        most: maximum number of leaves.
        watchers: (w, 4) rows as of `watchers_of`.
        known: a fit to improve on, if any.
    """

    shape: Shape
    most: int
    watchers: np.ndarray
    known: Fit | None = None


@cache
def method_digest() -> str:
    """Digest of the source text that determines a fit: a new method invalidates cached fits."""
    package = Path(__file__).parents[1]
    paths = (path for pattern in _METHOD for path in sorted(package.glob(pattern)))
    return hashlib.sha256(b"".join(path.read_bytes() for path in paths)).hexdigest()


def _content(shape: Shape, most: int, tolerance: float) -> str:
    mesh = () if shape.vertices is None else (shape.vertices, shape.triangles)
    return content_key(method_digest(), shape.kind, shape.size, *mesh, most, tolerance)


def _to_json(fits: list[Fit]) -> list:
    return [[leaf_rows(f.leaves).tolist(), f.stand_off, f.hull_area, f.lost] for f in fits]


def _from_json(value: list, shape: Shape) -> list[Fit]:
    return [Fit(leaves_of(np.array(rows)), (shape,), *numbers) for rows, *numbers in value]


def share_out(choices: Sequence[Sequence[Fit]], budget: int, tolerance: float) -> list[Fit]:
    """Choose a fit for each shape, with ``budget`` leaves in total if possible.

    ``choices``: fits of each shape, in ascending numbers of leaves. Each shape starts with its
    first fit within ``tolerance`` (metres), or its last one. Then the least useful leaves are
    removed.
    """
    taken = [
        next((m for m, fit in enumerate(fits) if fit.is_within(tolerance)), len(fits) - 1)
        for fits in choices
    ]
    left = sum(len(fits[m].leaves) for fits, m in zip(choices, taken, strict=True)) - budget

    def prices(shape: int) -> Iterator[tuple[float, int, int, int]]:
        """Yield (volume for each leaf removed, shape, fit, leaves removed) of a shape."""
        fits = choices[shape]
        now = fits[taken[shape]]
        for m in range(taken[shape]):
            fewer = len(now.leaves) - len(fits[m].leaves)
            yield now.hull_area * (fits[m].excess - now.excess) / fewer, shape, m, fewer

    cheapest = [min(prices(k)) for k in range(len(choices)) if taken[k]]
    heapify(cheapest)
    while left > 0 and cheapest:
        _, k, m, fewer = heappop(cheapest)
        taken[k] = m
        left -= fewer
        if m:
            heappush(cheapest, min(prices(k)))
    return [fits[m] for fits, m in zip(choices, taken, strict=True)]


def needs_watchers(links: Mapping[str, Sequence[Shape]]) -> bool:
    """Whether the leaves of any shape depend on the watchers of `fit_all`."""
    return any(shape.kind not in ROUNDED for shapes in links.values() for shape in shapes)


@dataclass(eq=False)
class _Part:
    """A shape of a link or obstacle, and its fits.

    Attributes:
        key: the same for equal shapes.
        shape: the shape.
        most: maximum number of leaves.
        watchers: of all equal shapes, as in `Job`.
        choices: fits in ascending numbers of leaves.
        fit: the chosen one.
    """

    key: str
    shape: Shape
    most: int
    watchers: np.ndarray | tuple = ()
    choices: Sequence[Fit] = ()
    fit: Fit | None = None

    @property
    def is_closed(self) -> bool:
        """Whether fits of all numbers of leaves are known in closed form."""
        return self.shape.kind in _CLOSED_FORMS

    @property
    def looseness(self) -> float:
        """How much the leaves take from other links where these come near, metres."""
        if not len(self.watchers):
            return 0.0
        # How much the leaves of boxes take is not measured: about what they stand off.
        return self.fit.stand_off if self.is_closed else self.fit.lost


def fit_all(
    links: Mapping[str, Sequence[Shape]],
    obstacles: Mapping[str, Sequence[Shape]],
    settings: FitSettings,
    watchers: Mapping[str, Sequence[np.ndarray]] | None = None,
) -> dict[str, list[Fit]]:
    """Return fits of every shape by name of link or obstacle, in the frame of its link.

    Equal shapes are fitted once, with the ``watchers`` of all of them (by link and shape, from
    `watchers_of`). Fits are cached on disk under a digest of the shape, its watchers, the settings
    and the method. Progress is logged if fitting takes long.
    """
    tolerance, usual = settings.leaf_tolerance, settings.max_leaves_per_link
    budgets = dict.fromkeys(links, usual) | dict.fromkeys(obstacles, _FACTOR * usual)
    parts = {
        name: _parts(shapes, budgets[name], tolerance)
        for name, shapes in {**links, **obstacles}.items()
    }
    jobs = _jobs(parts, watchers or {})
    done = _fit_distinct(jobs, tolerance)
    for name, own in parts.items():
        for part in own:
            part.watchers, part.choices = jobs[part.key].watchers, done[part.key]
        _share_out(own, budgets[name], tolerance)
    tightened = _tighten({name: parts[name] for name in links}, settings) if usual > 1 else ()
    others = [name for name in links if name not in tightened]
    total = math.ceil(sum(max(_MEAN_SHARE * usual, len(links[name])) for name in others))
    rest = [part for name in others for part in parts[name]]
    for part in rest:
        part.choices = part.choices[: part.choices.index(part.fit) + 1]
    _share_out(rest, total, 0.0)
    return {
        name: [placed(part.fit, part.shape.pose, name) for part in own]
        for name, own in parts.items()
    }


def _parts(shapes: Sequence[Shape], budget: int, tolerance: float) -> list[_Part]:
    """The shapes of a link that may have ``budget`` leaves, of which one shape may need most."""
    most = max(1, budget - len(shapes) + 1)
    return [_Part(_content(shape, most, tolerance), shape, most) for shape in shapes]


def _jobs(
    parts: Mapping[str, Sequence[_Part]], watchers: Mapping[str, Sequence[np.ndarray]]
) -> dict[str, Job]:
    """The jobs of distinct shapes by key, each with the watchers of all equal shapes."""
    distinct: dict[str, _Part] = {}
    watched: dict[str, list[np.ndarray]] = {}
    for name, own in parts.items():
        for k, part in enumerate(own):
            distinct.setdefault(part.key, part)
            if name in watchers:
                watched.setdefault(part.key, []).append(watchers[name][k])
    rows = {key: np.vstack(watched[key]) if key in watched else () for key in distinct}
    return {key: Job(part.shape, part.most, merged(rows[key])) for key, part in distinct.items()}


def _share_out(parts: Sequence[_Part], budget: int, tolerance: float) -> None:
    fits = share_out([part.choices for part in parts], budget, tolerance)
    for part, fit in zip(parts, fits, strict=True):
        part.fit = fit


def _count(parts: Sequence[_Part]) -> int:
    return sum(len(part.fit.leaves) for part in parts)


def _tighten(links: Mapping[str, Sequence[_Part]], settings: FitSettings) -> set[str]:
    """Choose fits with more leaves for loose links, the loosest first while there is room.

    Returns the names of these links.
    """
    limit, usual = max(_LOOSE, settings.leaf_tolerance), settings.max_leaves_per_link
    worst = {name: max(part.looseness for part in own) for name, own in links.items()}
    most_leaves = settings_of(FitSettings)["max_leaves_per_link"].most
    room = int(_MEAN_SHARE * usual * len(links))
    budgets: dict[str, int] = {}
    for name in sorted((n for n in links if worst[n] > limit), key=lambda name: -worst[name]):
        count = _count(links[name])
        budget = min(_FACTOR * usual, most_leaves, count + room)
        if budget >= _WORTH * count:
            budgets[name] = budget
            room -= budget - count
    larger = {n: _larger_jobs(links[n], budget, limit) for n, budget in budgets.items()}
    more = {key: job for own in larger.values() for _, key, job in own}
    done = _fit_distinct(more, settings.leaf_tolerance)
    for name, own in larger.items():
        for part, key, _ in own:
            most = len(part.choices[-1].leaves)
            longer = [fit for fit in done[key] if len(fit.leaves) > most]
            part.choices = [*part.choices, *longer]
        _share_out(links[name], budgets[name], 0.5 * limit)
    return set(larger)


def _larger_jobs(parts: Sequence[_Part], budget: int, limit: float) -> list[tuple[_Part, str, Job]]:
    """Shapes of a link with ``budget`` leaves that are looser than ``limit``, metres: key and job.

    Boxes have fits of all numbers of leaves, other shapes get one more.
    """
    loose = [part for part in parts if part.looseness > limit]
    share = (budget - _count(parts) + _count(loose)) // len(loose)
    jobs = []
    for part in loose:
        most, known = (budget, None) if part.is_closed else (share, part.choices[-1])
        key = content_key("more", part.key, most)
        jobs.append((part, key, Job(part.shape, most, part.watchers, known)))
    return jobs


# -- the fit of Zhang et al., for comparison --

FITS = ("optimised", "published")


def check_fit(fit: str, settings: FitSettings, file: object = None) -> None:
    """Raise an error if the choice of the fit contradicts the other choices.

    Raises:
        FitError: the fit does not exist, or it is the published one together with a file of leaves
            or with settings that it does not have.
    """
    if fit not in FITS:
        raise FitError(f"fit: {fit!r} is not one of {', '.join(FITS)}")
    if fit == FITS[0]:
        return
    if file is not None:
        raise FitError(f"fit: {fit!r} and a file of leaves are both given: give only one of them")
    for field in fields(settings):
        value = getattr(settings, field.name)
        if value != field.default:
            raise FitError(
                f"{field.name}: {value!r} has no effect with fit {fit!r}, which has one leaf for "
                f"each shape: omit it (default {field.default!r}), or use fit {FITS[0]!r}"
            )


def given_leaves(
    robot: Robot,
    settings: FitSettings,
    file: str | os.PathLike | Mapping | None = None,
    fit: str = FITS[0],
    check: bool = True,
) -> Mapping[str, Sequence[Leaf]] | None:
    """Return leaves of every link from a file or of the published fit; None for fits of `fit_all`.

    ``check``: whether leaves of a file must enclose the robot. ``fit``: ``published`` gives one
    leaf for each shape, by the method of Zhang et al. (docs/reports/methods.md).

    Raises:
        FitError: as `check_fit`.
        LeavesError: the file is invalid, or its leaves do not enclose a link.
    """
    check_fit(fit, settings, file)
    if fit != FITS[0]:
        shapes = {link.name: link.shapes for link in robot.links.values() if link.shapes}
        return {
            name: [_published_leaf(shape).moved(shape.pose, name) for shape in own]
            for name, own in shapes.items()
        }
    if file is None:
        return None
    leaves = read_leaves(file, robot)
    if check:
        check_enclosing(robot, leaves)
        check_filling(robot, leaves)
    return leaves


def _published_leaf(shape: Shape) -> Leaf:
    """The smaller of the capsule along the box's longest side and the sphere about its centre.

    Spheres and capsules are kept; a cylinder is replaced by the prism around it.
    """
    if shape.kind in ROUNDED:
        return fits_in_own_frame(shape, 1, math.inf)[0].leaves[0]
    return fit_leaf(hull_points(enclosing_surface(shape)[0]))


def _fit_distinct(jobs: Mapping[str, Job], tolerance: float) -> dict[str, list[Fit]]:
    """Return fits of distinct shapes by key, from the cache or new; new ones are cached."""
    done = {
        content: fits_in_own_frame(job.shape, job.most, tolerance)
        for content, job in jobs.items() if job.shape.kind in _CLOSED_FORMS
    }  # fmt: skip
    keys = {
        content: content_key(content, job.watchers)
        for content, job in jobs.items() if content not in done
    }  # fmt: skip
    if not keys:
        return done
    store = Store("fits")

    def missing() -> dict[str, Job]:
        """Load what is cached; return the other jobs."""
        for content in keys.keys() - done.keys():
            if (kept := store.get(keys[content])) is not None:
                done[content] = _from_json(kept, jobs[content].shape)
        return {content: jobs[content] for content in keys if content not in done}

    if slow := missing():
        # Nodes of one robot often start together: one fits, the others wait for its results.
        with store.turn([keys[content] for content in slow]) as has_waited:
            for content, fits in _fit_in_parallel(missing() if has_waited else slow, tolerance):
                done[content] = fits
                store.set(keys[content], _to_json(fits))
    return done


def _fit_in_parallel(jobs: Mapping[str, Job], tolerance: float) -> Iterator[tuple[str, list[Fit]]]:
    """Yield (key, fits) as they are computed on all processors; progress is logged."""
    if not jobs:
        return
    begin = last_log = time.monotonic()
    logger.info("fitting leaves to %d meshes", len(jobs))
    pool = ThreadPoolExecutor(min(len(jobs), os.cpu_count() or 1))
    try:
        waiting = {
            pool.submit(
                fits_in_own_frame, job.shape, job.most, tolerance, job.watchers, job.known
            ): key
            for key, job in jobs.items()
        }
        for count, future in enumerate(as_completed(waiting), 1):
            yield waiting[future], future.result()
            check_time(f"fitting leaves: {count} of {len(jobs)} meshes are done")
            if time.monotonic() - last_log > LOG_SECONDS:
                last_log = time.monotonic()
                share = {"share": count / len(jobs)}
                logger.info("fitting leaves: %d of %d meshes done", count, len(jobs), extra=share)
    finally:
        # After an error or Ctrl-C the pending fits are cancelled.
        pool.shutdown(wait=False, cancel_futures=True)
    seconds = time.monotonic() - begin
    if seconds > LOG_SECONDS:
        logger.info("leaves fitted to %d meshes in %.0f s", len(jobs), seconds)
