# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels give the same distances with the oldest and the newest numba that setup.py allows."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest
from support.files.third_party import setup_arguments
from support.paths import ROOT

pytestmark = pytest.mark.slow

# Of each Python the oldest numba with a wheel.
OLDEST = {(3, 10): "0.57.0", (3, 11): "0.57.0", (3, 12): "0.59.0", (3, 13): "0.61.0"}
# What the program below imports; numba brings a numpy that it works with.
OTHERS = ["scipy", "trimesh", "urdf-parser-py", "lxml", "pyyaml"]
# One of every kind of kernel: one configuration, a batch, SIMD, triangles, contacts.
PROGRAM = """
import json, sys, numba, numpy as np
from numba.core import event, types
from collision_monitor import CollisionModel

class Literals(event.Listener):
    # Kernels that are compiled for a constant: once for each, and all that they call.
    def __init__(self):
        self.names = set()

    def on_start(self, event):
        if any(isinstance(kind, types.Literal) for kind in event.data["args"]):
            self.names.add(event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event):
        pass

literals = Literals()
event.register("numba:compile", literals)
folder = sys.argv[1]
model = CollisionModel.from_urdf(
    f"{folder}/dual_arm.urdf", srdf=f"{folder}/dual_arm.srdf",
    leaves=f"{folder}/dual_arm_leaves.yaml", check_leaves=False,
)
rng = np.random.default_rng(1)
q = model.lower + (model.upper - model.lower) * rng.random((40, len(model.lower)))
print(json.dumps({
    "version": numba.__version__,
    "distance": [model.distance(row).distance for row in q],
    "distances": model.distances(q[0]).tolist(),
    "min_distances": model.min_distances(q).tolist(),
    "is_clear": model.is_clear(q, 0.02).tolist(),
    "exact": [model.distance(row, exact=True).distance for row in q],
    "literals": sorted(literals.names),
}))
"""


def ask(python, cache):
    """What the program prints with another Python."""
    done = subprocess.run(
        [python, "-c", PROGRAM, str(ROOT / "urdf")],
        env={**os.environ, "PYTHONPATH": str(ROOT), **cache}, cwd=ROOT,
        capture_output=True, text=True, timeout=3600,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def bounds():
    """(oldest of this Python, specifier) of numba in setup.py."""
    (wanted,) = (each for each in setup_arguments()["install_requires"] if each[:5] == "numba")
    oldest = OLDEST.get(sys.version_info[:2])
    if oldest is None:
        pytest.skip(f"no oldest numba is known for Python {sys.version_info[:2]}")
    assert re.match(r"numba>=0\.57,", wanted), "OLDEST above is for another lower bound"
    return oldest, wanted


@pytest.fixture(scope="module")
def here():
    """With the numba of this environment."""
    return ask(sys.executable, {})


@pytest.mark.parametrize("which", ["oldest", "newest"])
def test_distances_are_those_of_this_environment(tmp_path, here, which):
    oldest, wanted = bounds()
    numba = f"numba=={oldest}" if which == "oldest" else wanted
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True, timeout=600)
    python = tmp_path / "venv" / "bin" / "python"
    installed = subprocess.run(
        [python, "-m", "pip", "install", "--quiet", "--only-binary=numba,llvmlite,numpy,scipy",
         numba, *OTHERS],
        capture_output=True, text=True, timeout=1800,
    )  # fmt: skip
    if installed.returncode:
        pytest.skip(f"pip cannot install {numba}: {installed.stderr.strip()[-300:]}")
    there = ask(python, {"NUMBA_CACHE_DIR": str(tmp_path / "cache")})
    if which == "oldest":
        assert there["version"] == oldest
    assert there["is_clear"] == here["is_clear"]
    for name in ("distance", "distances", "min_distances", "exact"):
        assert np.allclose(there[name], here[name], rtol=0.0, atol=1e-9), name
    assert there["literals"] == []  # its cache was empty: all kernels were compiled
    # Queries agree with each other, and shapes are inside of their leaves.
    assert np.allclose(there["distance"], there["min_distances"], rtol=0.0, atol=1e-9)
    assert (np.array(there["exact"]) >= np.array(there["distance"]) - 1e-9).all()
