# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is known of one pair of links."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy.stats import beta


def share_bounds(meets: int, samples: int, confidence: float) -> tuple[float, float]:
    """Lower and upper bound of a share of which ``meets`` of ``samples`` were seen.

    Each alone holds with ``confidence`` (Clopper and Pearson, Biometrika 26, 1934, one-sided). With
    none seen the upper one is 1 - (1 - confidence) ** (1 / samples): 3 / samples at 95 %, the rule
    of three.
    """
    low, high = 0.0, 1.0
    if meets > 0:
        low = float(beta.ppf(1.0 - confidence, meets, samples - meets + 1))
    if meets < samples:
        high = float(beta.ppf(confidence, meets + 1, samples - meets))
    return low, high


class Meeting(Enum):
    """How often two links meet, within the ranges of the joints between them."""

    NEVER = "never"
    SOMETIMES = "sometimes"
    ALWAYS = "always"


class Ground(Enum):
    """On what a verdict rests."""

    RIGID = "rigidly joined"  # one configuration decides
    PROOF = "proof"
    WITNESS = "witness"  # a configuration in which they meet
    SAMPLES = "samples"


@dataclass(frozen=True, eq=False)
class Verdict:
    """What is known of one pair of links.

    Attributes:
        links: their names.
        meeting: never, sometimes or always.
        ground: on what that rests.
        boxes: boxes of joint values that were tested for a proof.
        unproved: share of the joint ranges that is not proved free; 0 with a proof.
        samples: configurations that were sampled, over the whole ranges, or over what is
            unproved where there is a search for a proof.
        meets: in how many of them they meet.
        share: lower and upper bound of the share of all configurations in which they meet, each
            with the confidence that the search was given.
        q: (nq,) a configuration in which they meet; None where none is known. Joints that are
            not between the links are as in the default pose.
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
