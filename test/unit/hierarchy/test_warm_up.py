# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""After loading no distance compiles, with a monitor no query; it is said when one has to."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from support.robots.toys import chain

from collision_monitor.hierarchy import query
from collision_monitor.hierarchy.query import empty_model

pytestmark = pytest.mark.early

COUNT = """
import json, logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stderr)
from numba.core import event
from collision_monitor import CollisionModel
from collision_monitor.common.compiled import log_compiling
from collision_monitor.monitoring.monitor import Monitor

class Names(event.Listener):
    def __init__(self):
        self.names = []
    def on_start(self, what):
        self.names.append(what.data["dispatcher"].py_func.__name__)
    def on_end(self, what):
        pass

listener = Names()
event.register("numba:compile", listener)
log_compiling()
model = CollisionModel.from_urdf(sys.argv[1])
at_load = len(listener.names)
q = model.random_configurations(2)
model.distance(q[0])
model.contacts(q[0])
assert len(listener.names) == at_load, listener.names[at_load:]
Monitor(model, behaviour=None, narrow_phase="leaf")
at_load = len(listener.names)
for ask in (model.distance, model.distances, model.contacts, model.leaf_segments,
            model.link_distances, model.link_poses):
    ask(q[0])
after = listener.names[at_load:]
model.min_distances(q), model.is_clear(q)
print(json.dumps([at_load, after, len(listener.names)]))
"""


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
            model.link_distances, model.link_poses):
    ask(q[0])
by_queries = sorted(ready() - at_load)
model.min_distances(q), model.is_clear(q)
print(json.dumps([len(at_load), by_queries, len(ready())]))
"""


def in_a_new_process(code, tmp_path, **environment):
    """(ready at load, what single queries add, ready in the end), what the log says."""
    (tmp_path / "arm.urdf").write_text(chain())
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "arm.urdf")],
        env={**os.environ, **environment},
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def load_in_a_new_process(tmp_path):
    """(compiled at load, names compiled by single queries, compiled in all), what the log says."""
    return in_a_new_process(COUNT, tmp_path, NUMBA_CACHE_DIR=str(tmp_path / "cache"))


def test_what_joint_states_ask_is_ready_after_load(tmp_path):
    (at_load, by_queries, in_all), _ = in_a_new_process(READY, tmp_path)
    assert at_load > 0
    assert by_queries == []
    assert in_all > at_load  # the batches, which nobody had asked for


@pytest.mark.slow
def test_what_joint_states_ask_is_compiled_at_load_and_kept(tmp_path):
    (at_load, by_queries, in_all), said = load_in_a_new_process(tmp_path)
    assert at_load > 0
    assert by_queries == []
    assert in_all > at_load  # the batches, which nobody had asked for
    assert "compiling kernels" in said
    assert " done, now " in said
    assert "kernels compiled in" in said
    (at_load, by_queries, in_all), said = load_in_a_new_process(tmp_path)
    assert (at_load, by_queries, in_all) == (0, [], 0)
    assert "compil" not in said


def test_a_model_of_nothing_has_nothing_near():
    numbers, index = empty_model()
    assert query.distance(numbers, index, np.empty(0))[:2] == (-1, -1)
    assert query.contacts(numbers, index, np.empty(0), 1.0, np.empty((2, 2), np.int64)) == 0
