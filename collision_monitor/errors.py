# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of this package.

Each message names the invalid value, its source and a remedy. All errors derive from
`CollisionMonitorError`.
"""


class CollisionMonitorError(Exception):
    """Base of all errors of this package."""


def reason_of(error: BaseException) -> str:
    """The message of an error; one that is not of this package is internal, and has its type."""
    if isinstance(error, CollisionMonitorError):
        return str(error)
    return f"internal error, {type(error).__name__}: {error}"


class RobotDescriptionError(CollisionMonitorError, ValueError):
    """A URDF is invalid: its XML, tree, a joint, a number or a shape."""


class MeshError(RobotDescriptionError):
    """A mesh is missing, unreadable, empty or not finite."""


class LoadingLimitError(RobotDescriptionError):
    """A robot or scene exceeds the limits of loading."""


class SemanticDescriptionError(CollisionMonitorError, ValueError):
    """An SRDF cannot be read."""


class SceneError(CollisionMonitorError, ValueError):
    """A scene file has an invalid key; the message starts with the path of the key."""


class LiveSceneError(CollisionMonitorError, ValueError):
    """An object cannot be added to a live scene; the message starts with its name."""


class LeavesError(CollisionMonitorError, ValueError):
    """Leaves are invalid: a faulty file, or a link that they do not enclose."""


class ConfigurationError(CollisionMonitorError, ValueError):
    """A configuration ``q`` has the wrong shape, or values that are not finite."""


class NothingToCheckError(CollisionMonitorError, ValueError):
    """The nearest pair is requested from a model without checked pairs."""


class FitError(CollisionMonitorError, ValueError):
    """No bounding volume can be fitted to points."""


class JointStateError(CollisionMonitorError, ValueError):
    """A joint state is invalid: incomplete, not finite, or without known joints.

    Attributes:
        kind: category of the error: ``length``, ``not_finite``, ``unknown``, ``twice``, ``stamp``,
            ``future``, ``unreadable``.
    """

    def __init__(self, message: str, kind: str = "unknown") -> None:
        super().__init__(message)
        self.kind = kind


class MotionError(CollisionMonitorError, ValueError):
    """A motion file is invalid; the message starts with file and line."""


class JointLimitsError(CollisionMonitorError, ValueError):
    """A file of joint limits is invalid; the message names joint and key."""


class RosArgumentsError(CollisionMonitorError, ValueError):
    """ROS arguments are invalid, such as a log level, a file or a remapping."""


class TrajectoryError(CollisionMonitorError, ValueError):
    """A desired trajectory is invalid; the message names joint or point."""


class DynamicsError(CollisionMonitorError, ValueError):
    """Torques cannot be computed: a faulty file of drives, or a joint that moves no mass."""


class ThresholdsError(CollisionMonitorError, ValueError):
    """Thresholds of clearance are invalid; the message starts with their source."""


class BehaviourError(CollisionMonitorError, ValueError):
    """Settings of the behaviour of a monitor are invalid, or match no joint."""


class ArmsError(CollisionMonitorError, ValueError):
    """Two arms cannot be determined: unknown groups or links, or a common joint."""


class AdjustmentError(CollisionMonitorError, ValueError):
    """There is no safe adjustment of a motion.

    Attributes:
        waypoint: index of the first waypoint without a safe adjustment.
        time: its time in the desired motion, seconds.
        pair: the two links that are too close, or None.
        distance: their clearance there, metres; NaN without a pair.
        safe_prefix: the longest safe part of the motion from its start, or None.
        possible: safe and danger distance, metres, with which there is one; None if not known.
    """

    def __init__(
        self,
        message: str,
        waypoint: int = 0,
        time: float = 0.0,
        pair: tuple[str, str] | None = None,
        distance: float = float("nan"),
        safe_prefix: object = None,
    ) -> None:
        super().__init__(message)
        self.waypoint = waypoint
        self.time = time
        self.pair = pair
        self.distance = distance
        self.safe_prefix = safe_prefix
        self.possible: tuple[float, float] | None = None

    def add(self, text: str) -> None:
        """Append to the message."""
        self.args = (f"{self}{text}",)


class CancelledError(CollisionMonitorError, RuntimeError):
    """The caller has cancelled a computation."""


class SimulationError(CollisionMonitorError, RuntimeError):
    """A simulation is unstable; the message names a remedy."""


class RecordingError(CollisionMonitorError, RuntimeError):
    """Recording is not possible; the message begins with the parameter."""


class ExecutorError(CollisionMonitorError, RuntimeError):
    """An executor is not dask://host:port, does not answer, or a worker did not finish."""


class ViewError(CollisionMonitorError, ValueError):
    """A page cannot be served: the host is not this machine, or the port is in use."""


class MissingDependencyError(CollisionMonitorError, ImportError):
    """A required optional package is not installed; the message names the extra."""
