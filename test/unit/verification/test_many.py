# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Many motions: the same answers from this process, from processes, and from a Dask cluster."""

import math

import pytest
from support.robots.toys import chain

from collision_monitor import CollisionModel
from collision_monitor.errors import ExecutorError
from collision_monitor.motion.motion_files import load_trajectory
from collision_monitor.verification.verification import Verdict
from collision_monitor.verification.verify import Settings, verify_many

MODEL = CollisionModel.from_urdf(chain(4))
SETTINGS = Settings(exact=False)
SAFE, FOLDED = "0,0,0,0\n5,0.3,0.3,0.3\n", "0,0,0,0\n5,0,3.1,3.1\n"


@pytest.fixture
def motions(tmp_path):
    """A safe motion and one that folds the chain onto itself, in turn."""
    found = []
    for k, rows in enumerate((SAFE, FOLDED, SAFE)):
        path = tmp_path / f"motion{k}.csv"
        path.write_text(f"time,{','.join(MODEL.joint_names)}\n{rows}")
        found.append(load_trajectory(path, MODEL.robot))
    return found


def verdicts(results):
    """What matters of each: motion, verdict, nearest distance."""
    return [(r.source, r.verdict, r.worst.distance) for r in results]


def expected(motions):
    """The answers one by one."""
    results = [verify_many(MODEL, [motion], SETTINGS)[0] for motion in motions]
    assert [r.verdict for r in results] == [Verdict.SAFE, Verdict.NOT_SAFE, Verdict.SAFE]
    return verdicts(results)


def test_processes_give_the_same_answers_in_the_same_order(motions, monkeypatch):
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    done = []
    results = verify_many(MODEL, motions, SETTINGS, done=done.append)
    assert verdicts(results) == expected(motions)
    assert sorted(r.source for r in done) == sorted(r.source for r in results)


def test_a_dask_cluster_gives_the_same_answers(motions):
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        address = cluster.scheduler_address.replace("tcp://", "dask://")
        assert verdicts(verify_many(MODEL, motions, SETTINGS, address)) == expected(motions)


def test_what_cannot_be_checked_is_a_verdict_and_the_others_are_checked(motions):
    broken = motions[0].__class__(
        motions[0].trajectory.__class__(
            ("no_joint", *MODEL.joint_names[1:]), motions[0].trajectory.polynomial
        ),
        (), (), "broken",
    )  # fmt: skip
    results = verify_many(MODEL, [broken, motions[1]], SETTINGS)
    assert [r.verdict for r in results] == [Verdict.NOT_CHECKED, Verdict.NOT_SAFE]
    assert "no_joint" in results[0].reason
    assert results[0].worst is None
    assert math.isfinite(results[1].worst.distance)


@pytest.mark.parametrize(
    ("executor", "says"),
    [
        ("dask://127.0.0.1:1", "no Dask scheduler answers"),
        ("spark://here", "is not dask://host:port"),
        ("dask://", "is not dask://host:port"),
    ],
)
def test_a_cluster_that_is_not_there_is_named(motions, executor, says, monkeypatch):
    monkeypatch.setattr("collision_monitor.verification.verify._CONNECT_SECONDS", 1)
    with pytest.raises(ExecutorError, match=says):
        verify_many(MODEL, motions, SETTINGS, executor)
