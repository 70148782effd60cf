# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""One pair of links: its verdict, and the search by samples, descents and a proof by boxes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.special import betaincinv

from collision_monitor.acm import range_proof
from collision_monitor.acm.link_pair import LinkPair, one_holds_the_other, surface_distance
from collision_monitor.common.compiled import ONE, ZERO, offline_kernel
from collision_monitor.geometry.segments import capsule_witness
from collision_monitor.hierarchy.kinematics import place_links, point_rate
from collision_monitor.hierarchy.packed import unpack
from collision_monitor.hierarchy.query import nearest_of_links

# -- samples, and descents from them --

# A step aims beyond the point where the distance would vanish if it were linear, by these values.
_STEP_FACTOR, _STEP_OFFSET = 1.2, 1e-4
_MIN_STEP = 1e-3  # part of a full step that ends a descent


@offline_kernel
def sample(chain, configurations, meets, distances):
    """Test whether links meet, their surfaces or one in the other, at ``configurations`` (n, c).

    ``meets`` (n,): bool; ``distances`` (n,): signed, of the leaves, metres.
    """
    view, points = unpack(chain.numbers, chain.index), np.empty((2, 3))
    for n in range(len(configurations)):
        place_links(view, configurations[n])
        distances[n] = nearest_of_links(view, ZERO, ONE, ZERO, chain.leaves, np.inf)[0]
        meets[n] = distances[n] <= 0.0 and (
            # Limit that prunes everything that does not touch.
            surface_distance(view, chain, 1e-9, points) <= 0.0 or one_holds_the_other(view, chain)
        )


@offline_kernel
def _nearest(view, chain, q, points):
    """Return (distance, whether by leaves) at ``q``: by surfaces if leaves overlap."""
    place_links(view, q)
    apart, i, j = nearest_of_links(view, ZERO, ONE, ZERO, chain.leaves, np.inf)
    if apart > 0.0:
        _, ax, ay, az, bx, by, bz, _, _, _ = capsule_witness(view.ends, view.radii, i, j)
        points[0, 0], points[0, 1], points[0, 2] = ax, ay, az
        points[1, 0], points[1, 1], points[1, 2] = bx, by, bz
        return apart, True
    return surface_distance(view, chain, np.inf, points), False


@offline_kernel
def _fill_gradient(view, chain, points, q, low, high, slope):
    """Write d distance / d q to ``slope`` (columns,), with the points fixed in their bodies.

    0 for joints at a limit in downhill direction. Returns the squared norm.
    """
    dx, dy, dz = (
        points[1, 0] - points[0, 0], points[1, 1] - points[0, 1], points[1, 2] - points[0, 2]
    )  # fmt: skip
    length = np.sqrt(dx * dx + dy * dy + dz * dz)
    for c in range(len(q)):
        slope[c] = 0.0
    for k in range(len(chain.joints)):
        side = 0 if k < chain.up else 1
        x, y, z = points[side, 0], points[side, 1], points[side, 2]
        joint = chain.joints[k]
        speed = point_rate(view, joint, x, y, z, dx / length, dy / length, dz / length)
        slope[view.joint_table[joint, 2]] += (2 * side - 1) * view.joint_motion[joint, 0] * speed
    square = 0.0
    for c in range(len(q)):
        if (slope[c] > 0.0 and q[c] <= low[c]) or (slope[c] < 0.0 and q[c] >= high[c]):
            slope[c] = 0.0
        square += slope[c] ** 2
    return square


@offline_kernel
def descend(chain, low, high, q, most):
    """Descend from ``q`` (columns,) along the distance of two links, within ``low`` and ``high``.

    Returns the distance at the last ``q``, which is written: 0 if the surfaces meet.
    """
    view, points = unpack(chain.numbers, chain.index), np.empty((2, 3))
    slope, last = np.empty(len(q)), np.empty(len(q))
    # The first iteration has no step and only measures.
    before, by_leaves, share, square = np.inf, True, 0.0, 1.0
    for c in range(len(q)):
        slope[c], last[c] = 0.0, q[c]
    for _ in range(most):
        if share > 0.0:
            step = share * (_STEP_FACTOR * before + _STEP_OFFSET) / square
            for c in range(len(q)):
                q[c] = min(max(last[c] - step * slope[c], low[c]), high[c])
        apart, by_leaves_now = _nearest(view, chain, q, points)
        if apart <= 0.0:
            return 0.0
        if apart >= before and by_leaves_now == by_leaves:
            share *= 0.5
            if share < _MIN_STEP:
                break
            continue
        square = _fill_gradient(view, chain, points, q, low, high, slope)
        before, by_leaves = apart, by_leaves_now
        share = min(1.0, 2.0 * share) if share > 0.0 else 1.0
        for c in range(len(q)):
            last[c] = q[c]
        if square < 1e-18:
            break
    for c in range(len(q)):
        q[c] = last[c]
    return before


# -- the search --

_NEAREST = 64  # nearest samples kept as starts of descents
_STEPS = 60  # maximum number of steps of a descent


def share_bounds(meets: int, samples: int, confidence: float) -> tuple[float, float]:
    """Return lower and upper bound of a share, from ``meets`` of ``samples``.

    Each bound alone holds with ``confidence``
    (Clopper and Pearson, Biometrika 26, 1934, one-sided). If none meet, the upper bound is 1 - (1 -
    confidence) ** (1 / samples): 3 / samples at 95 %, the rule of three.
    """
    low, high = 0.0, 1.0
    if meets > 0:
        low = float(betaincinv(meets, samples - meets + 1, 1.0 - confidence))
    if meets < samples:
        high = float(betaincinv(meets + 1, samples - meets, confidence))
    return low, high


class Meeting(Enum):
    """How often two links meet, within the ranges of the joints between them."""

    NEVER = "never"
    SOMETIMES = "sometimes"
    ALWAYS = "always"


class Ground(Enum):
    """The ground of a verdict."""

    RIGID = "rigidly joined"  # one configuration decides
    PROOF = "proof"
    WITNESS = "witness"  # a configuration in which they meet
    SAMPLES = "samples"
    NO_RANGE = "no range"  # other positions of a joint between the links are unknown


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Result for one pair of links.

    Attributes:
        links: names.
        meeting: never, sometimes or always.
        ground: basis of the verdict.
        boxes: number of boxes of joint values tested for a proof.
        unproved: share of the joint ranges not proved free; 0 with a proof.
        samples: number of sampled configurations, over the whole ranges or, after a search for a
            proof, over the unproved part.
        meets: number of these in which they meet.
        share: lower and upper bound of the share of all configurations in which they meet, each
            with the confidence of the search.
        q: (nq,) a configuration in which they meet; None if unknown. Joints that are not between
            the links are in the default pose.
    """

    links: tuple[str, str]
    meeting: Meeting
    ground: Ground
    boxes: int = 0
    unproved: float = 1.0
    samples: int = 0
    meets: int = 0
    share: tuple[float, float] = (0.0, 1.0)
    q: np.ndarray | None = None


class PairSearch:
    """The current results for one pair; `verdict` summarizes them.

    It contains work space: it is for one thread.
    """

    def __init__(self, pair: LinkPair) -> None:
        self.pair = pair
        self.samples = 0
        self.meets = 0
        self.witness: np.ndarray | None = None  # (c,) values of the pair's columns
        self.proved = False
        self.left: tuple[int, int] | None = None  # unproved: samples, contacts
        self.starts = np.empty((0, len(pair.columns)))
        self._nearness = np.empty(0)
        self._descended = 0
        self._boxes = range_proof.whole_range(pair.low, pair.high)

    @property
    def boxes(self) -> int:
        """Number of boxes tested for a proof."""
        return int(self._boxes.counts[1])

    @property
    def open(self) -> bool:
        """Whether the pair is neither proved nor found in contact."""
        return not self.proved and self.witness is None

    @property
    def has_descended(self) -> bool:
        """Whether descents began at the nearest samples: contact at limits is in no sample."""
        return self._descended > 0

    # -- samples ---------------------------------------------------------------------

    def sample(self, values: np.ndarray) -> np.ndarray:
        """Evaluate rows of ``values`` (n, c); return whether the links meet, bool (n,)."""
        met, distances = self._evaluate(values)
        self.samples += len(values)
        self.meets += int(met.sum())
        apart = np.flatnonzero(~met)
        self.starts = np.concatenate([self.starts, values[apart]])
        self._nearness = np.concatenate([self._nearness, distances[apart]])
        nearest = np.argsort(self._nearness, kind="stable")[:_NEAREST]
        self.starts, self._nearness = self.starts[nearest], self._nearness[nearest]
        return met

    def _evaluate(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        values = np.ascontiguousarray(values)
        met, distances = np.empty(len(values), dtype=bool), np.empty(len(values))
        sample(self.pair.chain, values, met, distances)
        if met.any() and self.witness is None:
            self.witness = values[np.flatnonzero(met)[0]].copy()
        return met, distances

    def descend(self, count: int) -> None:
        """Descend from the next ``count`` nearest samples, until the links meet."""
        for start in self.starts[self._descended : self._descended + count]:
            self._descended += 1
            if self._descend_from(start):
                return

    def _descend_from(self, start: np.ndarray) -> bool:
        """Descend from ``start`` (c,); if the links meet in the end, that is the witness."""
        q = start.copy()
        if descend(self.pair.chain, self.pair.low, self.pair.high, q, _STEPS) > 0.0:
            return False
        self.witness = q
        return True

    # -- proof -----------------------------------------------------------------------

    def prove(self, most: int) -> None:
        """Test ``most`` more boxes at most, until the pair is proved or a witness is found."""
        state = range_proof.prove(self.pair.chain, self._boxes, most)
        if state == range_proof.MEETS:
            self.witness = self._boxes.found.copy()
            self._descend_from(self.witness)  # what nearly touches there may meet beside it
        elif state == range_proof.PROVED:
            # No surfaces meet, so one link is inside the other everywhere or nowhere.
            middle = 0.5 * (self.pair.low + self.pair.high)
            self.proved = not self._evaluate(middle[None])[0].any()

    def _waiting(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds (k, c, 2) of the unproved boxes, and their shares (k,) of the joint ranges."""
        bounds = self._boxes.bounds[: self._boxes.counts[0]]
        extents = self.pair.high - self.pair.low
        sizes = (bounds[:, :, 1] - bounds[:, :, 0]) / np.where(extents > 0.0, extents, 1.0)
        return bounds, np.prod(np.where(extents > 0.0, sizes, 1.0), axis=1)

    @property
    def unproved(self) -> float:
        """Share of the joint ranges that is not proved free."""
        return min(1.0, float(self._waiting()[1].sum()))

    def sample_unproved(self, count: int, rng: np.random.Generator) -> None:
        """Evaluate ``count`` random configurations in the unproved boxes."""
        bounds, shares = self._waiting()
        if not len(shares):
            return
        chosen = bounds[rng.choice(len(shares), count, p=shares / shares.sum())]
        values = rng.uniform(chosen[:, :, 0], chosen[:, :, 1])
        met, _ = self._evaluate(values)
        self.left = (count, int(met.sum()))

    # -- the end ---------------------------------------------------------------------

    def verdict(self, default: np.ndarray, confidence: float) -> SearchResult:
        """Return the result; joints that are not between the links are as in ``default`` (nq,)."""
        links, pair = self.pair.links, self.pair
        q = None if self.witness is None else pair.complete(self.witness, default)
        share = share_bounds(self.meets, self.samples, confidence)
        always = self.samples > 0 and self.meets == self.samples
        if not pair.has_range:
            apart = Meeting.NEVER if self.witness is None else Meeting.SOMETIMES
            meeting = Meeting.ALWAYS if always else apart
            return SearchResult(
                links, meeting, Ground.NO_RANGE, self.boxes, 1.0, self.samples, self.meets, q=q
            )
        if self.proved:
            return SearchResult(
                links, Meeting.NEVER, Ground.PROOF, self.boxes, 0.0, self.samples, 0, (0.0, 0.0)
            )
        if self.witness is None:
            samples, _ = self.left or (self.samples, 0)
            unproved = self.unproved if self.left else 1.0
            most = unproved * share_bounds(0, samples, confidence)[1]
            return SearchResult(
                links, Meeting.NEVER, Ground.SAMPLES, self.boxes, unproved, samples, 0, (0.0, most)
            )
        return SearchResult(
            links,
            Meeting.ALWAYS if always else Meeting.SOMETIMES,
            Ground.SAMPLES if always else Ground.WITNESS,
            self.boxes,
            1.0,
            self.samples,
            self.meets,
            share,
            q,
        )
