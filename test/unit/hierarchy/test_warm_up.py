# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""After loading no distance compiles, with a monitor no query."""

import json

import numpy as np
import pytest
from support.processes import run_python
from support.robots.toys import chain

from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.query import empty_model

pytestmark = pytest.mark.early

READY = """
import gc, json, sys
from numba.core.dispatcher import Dispatcher
from collision_monitor import CollisionModel
from collision_monitor.monitoring.monitor import Monitor

def ready():  # compiled, or loaded from disk
    kernels = [each for each in gc.get_objects() if isinstance(each, Dispatcher)]
    return {(k.__module__, k.__name__, s) for k in kernels for s in map(str, k.signatures)}

model = CollisionModel.from_urdf(sys.argv[1])
q = model.random_configurations(2)
Monitor(model, behaviour=None, narrow_phase="leaf")
at_load = ready()
for ask in (model.distance, model.distances, model.contacts, model.leaf_segments,
            model.link_poses):
    ask(q[0])
by_queries = sorted(ready() - at_load)
model.min_distances(q), model.is_clear(q)
print(json.dumps([len(at_load), by_queries, len(ready())]))
"""


def test_what_joint_states_ask_is_ready_after_load(tmp_path):
    (tmp_path / "arm.urdf").write_text(chain())
    done = run_python(READY, tmp_path / "arm.urdf")
    at_load, by_queries, in_all = json.loads(done.stdout)
    assert at_load > 0
    assert by_queries == []
    assert in_all > at_load  # the batches, which nobody had asked for


def test_a_model_of_nothing_has_nothing_near():
    numbers, index = empty_model()
    assert query.distance(numbers, index, np.empty(0))[:2] == (-1, -1)
    assert query.contacts(numbers, index, np.empty(0), 1.0, np.empty((2, 2), np.int64)) == 0
