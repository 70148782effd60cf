# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Make the plots of verified motions: the space arm's story, after Liu Qian et al. (2022).

    python docs/make_verification_plots.py [--motions wing_upright,wing_turned] [--output FOLDER]

It verifies as ``python -m collision_monitor verify`` does and writes a picture for each of the four
verifications. ``make docs PAGES=verification_plots`` writes all of them to docs/. The story is in
test/support/robots/space_arm_story.py.
"""

from __future__ import annotations

import argparse
import io
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib

DOCS = Path(__file__).resolve().parent
sys.path[:0] = [str(DOCS.parent), str(DOCS.parent / "test")]

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from support.robots.space_arm_story import STORY, Chapter, model, result  # noqa: E402

from collision_monitor.verification.clearance.clearance_check import PairClearance  # noqa: E402
from collision_monitor.verification.report.messages import headline  # noqa: E402
from collision_monitor.verification.report.plots import Plot, draw  # noqa: E402
from collision_monitor.verification.report.report_page import (  # noqa: E402
    clearance_section,
    limits_section,
    pictures,
    torque_section,
)
from collision_monitor.verification.verification import Verification  # noqa: E402
from collision_monitor.viewer.picture import render  # noqa: E402

# Of the groups of links in the least distances, as in the paper.
NAMES = {
    "fixed links": "arm - cabin", "port_wing": "arm - port wing",
    "starboard_wing": "arm - starboard wing", "own links": "arm - arm",
}  # fmt: skip
WIDTH, HEIGHT = 10.5, 11.5  # inches
TOP = 0.965  # of the pictures, of the height


def plots(found: Verification) -> list[Plot]:
    """Angles, rates, torques against their limits, and the least distance, as in the paper."""
    position, velocity, *_ = limits_section(found.limits).plots
    distance = clearance_section(found.clearance, model()).plots[0]
    curves = [
        replace(curve, label=NAMES.get(curve.label, curve.label)) for curve in distance.curves
    ]
    return [position, velocity, torque_section(found.torques).plots[-1],
            replace(distance, curves=curves)]  # fmt: skip


def moment(chapter: Chapter, found: Verification) -> PairClearance:
    """When the two that matter came nearest."""
    minima = found.clearance.series.minima
    return next(minimum for minimum in minima if set(minimum.pair) == set(chapter.pair))


def figure(chapter: Chapter, found: Verification) -> plt.Figure:
    """The nearest moment above the plots."""
    near = moment(chapter, found)
    drawn = pictures(model(), near, render)
    shown = [plt.imread(io.BytesIO(png)) for png in drawn]
    below = plots(found)
    made = plt.figure(figsize=(WIDTH, HEIGHT))
    made.text(0.02, 0.985, f"{chapter.title}: {headline(found)}", fontsize=12, va="center")
    for column, image in enumerate(shown):
        high, wide, _ = image.shape
        height = 0.475 * WIDTH / HEIGHT * high / wide
        axis = made.add_axes([0.02 + 0.485 * column, TOP - height, 0.475, height])
        axis.imshow(image)
        axis.axis("off")
    made.text(
        0.02, TOP - height - 0.014, f"{' and '.join(near.pair)} at {near.time:.3f} s",
        fontsize=9, color="0.3", va="center",
    )  # fmt: skip
    grid = made.add_gridspec(
        len(below), 1, left=0.085, right=0.795, top=TOP - height - 0.05, bottom=0.045, hspace=0.4
    )
    first = None
    for row, plot in enumerate(below):
        axis = made.add_subplot(grid[row], sharex=first)
        first = first or axis
        draw(axis, plot, plot.curves)
        axis.set_title(plot.title, loc="left", fontsize=10)
    axis.set_xlabel("time, s")
    return made


def main() -> None:
    """Verify and draw."""
    from PIL import Image  # comes with matplotlib

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    known = {chapter.name: chapter for chapter in STORY}
    parser.add_argument("--motions", default=",".join(known), help="which (default %(default)s)")
    parser.add_argument("--output", type=Path, default=DOCS, help="folder of the pictures")
    options = parser.parse_args()
    names = options.motions.split(",")
    if unknown := [name for name in names if name not in known]:
        parser.error(f"--motions {','.join(unknown)}: there are {', '.join(known)}")
    for chapter in (known[name] for name in names):
        found = result(chapter)
        made = figure(chapter, found)
        picture = io.BytesIO()
        made.savefig(picture, dpi=100)
        plt.close(made)
        path = options.output / f"verify_{chapter.name}.png"
        Image.open(picture).convert("RGB").quantize(256).save(path, optimize=True)
        print(f"{path}: {headline(found)} ({path.stat().st_size / 1000:.0f} kB)")


if __name__ == "__main__":
    main()
