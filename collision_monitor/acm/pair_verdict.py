# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""What is known of one pair of links."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np


class Meeting(Enum):
    """How often two links meet, within the ranges of the joints between them."""

    NEVER = "never"
    SOMETIMES = "sometimes"
    ALWAYS = "always"


class Ground(Enum):
    """On what a verdict rests."""

    RIGID = "rigidly joined"  # one configuration tells all
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
