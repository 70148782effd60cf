# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Vendor robots by their URDF alone and with their SRDF, against pinocchio and coal.

No contact is missed, and hardly an alarm is without cause. `benchmarks/vendor_robots.py` prints
the same as a table.
"""

import numpy as np
import pytest
from support.robots.vendor_robots import (
    VENDOR_NAMES,
    at_rest,
    count_alarms,
    has_srdf,
    true_distances,
    vendor_files,
    with_reference,
)

from collision_monitor import CollisionModel, Monitor
from collision_monitor.__main__ import main
from collision_monitor.model.sampled_distances import samples_around_zero
from collision_monitor.model.thresholds import load_thresholds
from collision_monitor.monitoring.monitor import Level

# These are in `make test`; all others take half an hour.
QUICK = ("ur5", "hyq", "tiago_no_hand")
POSES, MOST_FALSE = 100, 1


def required(name):
    """Files of a robot; skips the test where they are not installed."""
    files = vendor_files(name)
    if files is None:
        pytest.skip("the package example-robot-data is not installed")
    return files


def named(name, with_srdf):
    """A parameter of `vendor_robot`."""
    marks = () if name in QUICK and not with_srdf else pytest.mark.slow
    return pytest.param((name, with_srdf), marks=marks, id=f"{name}{'-srdf' * with_srdf}")


def _has_srdf(name):
    files = vendor_files(name)
    return files is not None and has_srdf(files)


@pytest.fixture(
    scope="module",
    params=[
        named(name, srdf) for srdf in (False, True) for name in VENDOR_NAMES
        if not srdf or _has_srdf(name)
    ],
)  # fmt: skip
def vendor_robot(request):
    """(model, coal) of a robot by its URDF alone, or by its SRDF as well."""
    name, with_srdf = request.param
    return with_reference(required(name), with_srdf)


@pytest.mark.parametrize("where", ["around zero", "random"])
def test_alarms_have_a_cause_and_contacts_are_alarms(vendor_robot, where):
    model, coal = vendor_robot
    if where == "random":
        rows = model.random_configurations(POSES, seed=1)
    else:
        rows = samples_around_zero(model, POSES, seed=1)
    found = count_alarms(model, coal, rows)
    assert found.above == 0, "distances above those of coal"
    assert found.missed == 0, "contacts without a stop"
    assert found.false_stop <= MOST_FALSE
    assert found.false_warn <= MOST_FALSE


@pytest.mark.parametrize(
    "name",
    [
        "ur5",
        *(pytest.param(name, marks=pytest.mark.slow)
          for name in ("z1", "xarm7", "panda", "kinova", "hyq", "a1", "tiago_pro",
                       "tiago_no_hand")),
    ],
)  # fmt: skip
def test_home_is_a_stop_only_in_contact_with_what_acm_and_thresholds_write(name, tmp_path, capsys):
    files = required(name)
    given = [str(files.urdf), "--package-dir", str(files.package_dirs[0])]
    srdf = tmp_path / "robot.srdf"
    assert main(["acm", *given, "--seconds", "5", "--samples", "400", "--output", str(srdf)]) == 0
    capsys.readouterr()
    assert main(["thresholds", *given]) == 0
    (tmp_path / "thresholds.yaml").write_text(capsys.readouterr().out)
    model, coal = with_reference(files)
    q = np.clip(0.0, model.lower, model.upper)
    touch = (true_distances(model, coal, q, 0.0) <= 0.0).any()
    by_defaults, by_file = Monitor(model), Monitor(model)
    by_file.behaviour.set_thresholds(load_thresholds(tmp_path / "thresholds.yaml"))
    wider = by_defaults.behaviour.thresholds + 1e-6
    assert (by_file.behaviour.thresholds <= wider).all()
    by_srdf = Monitor(CollisionModel.from_urdf(files.urdf, srdf, files.package_dirs))
    for monitor in (by_defaults, by_file, by_srdf):
        state = at_rest(monitor, q)
        assert state.level is not Level.STALE
        assert (state.level is Level.ERROR) == touch, state.message
    # At zero nothing but contact alarms with the file.
    assert touch or at_rest(by_file, q).level is Level.OK
    # What a monitor leaves out because it overlaps by design is disabled, for the same reason.
    rows = srdf.read_text()
    for a, b, reason in model.unmonitored_pairs:
        if "overlap" in reason:
            assert frozenset((a, b)) in by_srdf.model.semantics.disabled
            assert reason in rows
