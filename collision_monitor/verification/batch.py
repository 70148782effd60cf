# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Many motions of one robot, on all processors of this machine or on a Dask cluster.

The model and the motions travel to the workers, so these need no files.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from collision_monitor.errors import ExecutorError, MissingDependencyError
from collision_monitor.verification.verification import Verification
from collision_monitor.verification.verify import Settings, verify

if TYPE_CHECKING:
    from collision_monitor.model.collision_model import CollisionModel
    from collision_monitor.motion.motion_files import LoadedMotion

_DASK = "dask://"
_CONNECT_SECONDS = 10
_model: CollisionModel | None = None  # of a worker process


def verify_many(
    model: CollisionModel,
    motions: Sequence[LoadedMotion],
    settings: Settings,
    executor: str = "",
    done: Callable[[Verification], None] = lambda result: None,
) -> list[Verification]:
    """One verification for each motion, in their order.

    Args:
        model: of the robot that all of them move.
        motions: the motions.
        settings: what is checked.
        executor: empty for processes on this machine, as many as it has processors; or
            ``dask://host:port``, the scheduler of a Dask cluster whose workers have this package.
        done: called in this process as each is finished, in any order.

    Raises:
        ExecutorError: no such cluster, or one that lost its workers.
        MissingDependencyError: dask.distributed is not installed.
    """
    workers = min(os.cpu_count() or 1, len(motions))
    if not executor and workers <= 1:
        found = []
        for motion in motions:
            found.append(verify(model, motion, settings))
            done(found[-1])
        return found
    with _workers(model, executor, workers) as submit:
        futures = [submit(motion, settings) for motion in motions]
        for future in as_completed(futures):
            done(_result(future, executor))
        return [_result(future, executor) for future in futures]


def _result(future: Future, executor: str) -> Verification:
    try:
        return future.result()
    except OSError as error:
        raise ExecutorError(f"{executor or 'a worker'}: did not finish: {error}") from None
    except (BrokenExecutor, CancelledError) as error:
        raise ExecutorError(
            f"{executor or 'a process'} that verified a motion was ended, as happens where memory "
            f"runs out: {error or type(error).__name__}"
        ) from None


@contextmanager
def _workers(
    model: CollisionModel, executor: str, count: int
) -> Iterator[Callable[[LoadedMotion, Settings], Future]]:
    """A function that gives one motion to a worker; all workers end with the context."""
    if not executor:
        # Not forked: threads of numerical libraries do not survive it.
        pool: Executor = ProcessPoolExecutor(
            count, get_context("spawn"), initializer=_keep, initargs=(model,)
        )
        with pool:
            yield lambda motion, settings: pool.submit(_verify_kept, motion, settings)
        return
    with _cluster(executor) as client:
        sent = client.scatter(model, broadcast=True, hash=False)
        with client.get_executor(pure=False) as pool:
            yield lambda motion, settings: pool.submit(verify, sent, motion, settings)


@contextmanager
def _cluster(executor: str) -> Iterator[Any]:
    if not executor.startswith(_DASK) or not executor.removeprefix(_DASK):
        raise ExecutorError(f"--executor {executor!r} is not dask://host:port")
    try:
        from distributed import Client
    except ImportError as error:
        raise MissingDependencyError(
            f"{executor} needs Dask ({error}): pip install 'collision_monitor[verify]'"
        ) from None
    address = "tcp://" + executor.removeprefix(_DASK)
    try:
        client = Client(address, timeout=_CONNECT_SECONDS)
    except (OSError, ValueError) as error:
        raise ExecutorError(f"{executor}: no Dask scheduler answers there: {error}") from None
    with client:
        yield client


def _keep(model: CollisionModel) -> None:
    global _model
    _model = model


def _verify_kept(motion: LoadedMotion, settings: Settings) -> Verification:
    assert _model is not None
    return verify(_model, motion, settings)
