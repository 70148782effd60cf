# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Classifies every pair of links of a robot: they meet never, sometimes or always."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from collision_monitor.acm.link_pair import PairGeometries
from collision_monitor.acm.pair_search import (
    Ground,
    Meeting,
    PairSearch,
    SearchResult,
    share_bounds,
)
from collision_monitor.common.settings import check_settings, setting
from collision_monitor.errors import ConfigurationError
from collision_monitor.model.collision_model import CollisionModel
from collision_monitor.model.mesh_contacts import contacts_at
from collision_monitor.model.sampled_distances import few_joints_of, sampled_configurations

_NEARLY_ALL = 0.9  # share of the samples above which coal checks the meshes as well
_BOXES, _DESCENTS = 250, 8  # in a round of a search
_SAMPLING_SHARE = 0.15  # share of the time reserved for sampling unproved boxes

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class SearchSettings:
    """Time and confidence of a search.

    Raises:
        ConfigurationError: a value is out of range.
    """

    seconds: float = setting(
        30.0,
        "total time for proofs and searches of all pairs, after loading; every pair gets its "
        "first samples in any case",
    )
    samples: int = setting(
        2000,
        "configurations to sample for each pair: first those by which a model knows how near its "
        "pairs are, then random ones",
        most=1_000_000,
    )
    confidence: float = setting(
        0.95, "confidence of bounds from samples", most=0.999999, positive=True
    )
    seed: int = setting(0, "of all random numbers")

    def __post_init__(self) -> None:
        """Check the ranges."""
        check_settings(self, ConfigurationError)


def default_pose(model: CollisionModel) -> np.ndarray:
    """Return all joints (nq,) at zero, or at the nearer limit if zero is outside the limits."""
    return np.clip(0.0, model.lower, model.upper)


def first_samples(model: CollisionModel, pair: tuple[str, str]) -> np.ndarray:
    """Return the configurations (n, nq) in which a model measures how near two links are.

    Random ones, or a grid of the few joints that move the pair, in random order: the first contact
    along a grid is hardly one.
    """
    rows = sampled_configurations(model, few_joints_of(model, pair))
    return np.random.default_rng(0).permutation(rows)


def where_links_meet(model: CollisionModel, pair: tuple[str, str], rows: np.ndarray) -> np.ndarray:
    """Return whether (n,) the shapes of two links meet at configurations (n, nq), by coal."""
    contacts = contacts_at(model, pair, rows)
    return np.array([contacts.meet(k) for k in range(len(rows))], dtype=bool)


def classify(
    model: CollisionModel,
    pairs: Sequence[tuple[str, str]] | None = None,
    settings: SearchSettings | None = None,
    progress: Progress | None = None,
) -> list[SearchResult]:
    """Return verdicts on ``pairs`` of links with shapes, in their order; by default on all.

    Every pair is sampled, first where a model measures how near its pairs are. For pairs that never
    met, a proof of separation by bisection of the joint ranges and a descent from the nearest
    samples to contact alternate until ``settings.seconds`` are over. The remaining pairs are
    sampled in the unproved boxes.

    Args:
        model: the robot; it does not matter which pairs it checks.
        pairs: names of links.
        settings: time and confidence.
        progress: called with the current step, the number of finished pairs, and their total
            number.
    """
    settings = SearchSettings() if settings is None else settings
    report = progress if progress is not None else lambda *_: None
    geometries = PairGeometries(model)
    if pairs is None:
        pairs = list(combinations(geometries.links, 2))
    default = default_pose(model)
    body = model.bodies.link_bodies
    rigid = [pair for pair in pairs if body[pair[0]] == body[pair[1]]]
    results: dict[tuple[str, str], SearchResult] = {}
    for pair in rigid:
        meet = where_links_meet(model, pair, default[None])[0]
        kind, share = (Meeting.ALWAYS, (1.0, 1.0)) if meet else (Meeting.NEVER, (0.0, 0.0))
        ground, unproved = Ground.RIGID, 0.0
        if geometries.are_over_held(*pair):
            ground, unproved, share = Ground.NO_RANGE, 1.0, (0.0, 1.0)
        results[pair] = SearchResult(
            pair, kind, ground, unproved=unproved, samples=1, meets=int(meet), share=share,
            q=default if meet else None,
        )  # fmt: skip
    searches = {pair: PairSearch(geometries.pair(*pair)) for pair in pairs if pair not in results}
    samples = model.random_configurations(settings.samples, settings.seed)
    if searches:
        _compile(next(iter(searches)), geometries, samples)
    stop = time.perf_counter() + settings.seconds
    _sample_first(model, searches.values(), samples, report)
    _search(list(searches.values()), samples, stop, settings, report)
    report("decided", len(searches), len(searches))
    for pair, search in searches.items():
        results[pair] = search.verdict(default, settings.confidence)
    return [_confirmed(model, results[pair], settings.confidence) for pair in pairs]


def _compile(pair: tuple[str, str], geometries: PairGeometries, samples: np.ndarray) -> None:
    """Compile all kernels before the time starts."""
    search = PairSearch(geometries.pair(*pair))
    search.sample(samples[:1, search.pair.columns])
    search.witness = None
    search.starts = samples[:1, search.pair.columns]
    search.descend(1)
    search.witness = None
    search.prove(1)


def _sample_first(
    model: CollisionModel, searches: Collection[PairSearch], samples: np.ndarray, report: Progress
) -> None:
    """Evaluate the first samples, and all samples for pairs that meet in each of these."""
    for k, search in enumerate(searches):
        report("sampled", k, len(searches))
        search.sample(first_samples(model, search.pair.links)[:, search.pair.columns])
        if search.meets == search.samples:
            search.sample(samples[search.samples :, search.pair.columns])


def _search(
    searches: Sequence[PairSearch],
    samples: np.ndarray,
    stop: float,
    settings: SearchSettings,
    report: Progress,
) -> None:
    """Prove, sample and descend in rounds, then sample the unproved boxes."""
    left = [search for search in searches if search.open]
    total = len(searches)
    until = stop - _SAMPLING_SHARE * settings.seconds
    while left and time.perf_counter() < until:
        decided = total - len(left)
        for search in left:
            report("decided", decided, total)
            if time.perf_counter() > until:
                break
            search.prove(_BOXES)
            if search.open and search.samples < len(samples):
                search.sample(samples[search.samples :, search.pair.columns])
            if search.open:
                search.descend(_DESCENTS)
            decided += not search.open
        left = [search for search in left if search.open]
    for number, search in enumerate(left):
        report("decided", total - len(left), total)
        if time.perf_counter() > stop:
            break
        if search.has_descended:  # others have not been searched, and keep their first samples
            rng = np.random.default_rng([settings.seed, number])
            search.sample_unproved(settings.samples, rng)


def _confirmed(model: CollisionModel, verdict: SearchResult, confidence: float) -> SearchResult:
    """Return the verdict; if links nearly always meet, with the result of coal on the meshes."""
    if verdict.ground in (Ground.RIGID, Ground.NO_RANGE) or verdict.meets == 0:
        return verdict
    if verdict.meets < _NEARLY_ALL * verdict.samples:
        return verdict
    configurations = first_samples(model, verdict.links)
    meets = int(where_links_meet(model, verdict.links, configurations).sum())
    if meets == len(configurations) and verdict.meeting is Meeting.ALWAYS:
        return verdict
    return replace(
        verdict,
        meeting=Meeting.SOMETIMES,
        ground=Ground.WITNESS,
        samples=len(configurations),
        meets=meets,
        share=share_bounds(meets, len(configurations), confidence),
    )
