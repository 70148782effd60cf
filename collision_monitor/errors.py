# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Every error this package raises on purpose.

Each message names the bad value, where it came from and what would be right.
All of them derive from `CollisionMonitorError`, so one ``except`` catches them.
"""


class CollisionMonitorError(Exception):
    """Base of all errors of this package."""


class RobotDescriptionError(CollisionMonitorError, ValueError):
    """A URDF that cannot be monitored: broken XML, tree, joint, number or shape."""


class MeshError(RobotDescriptionError):
    """A mesh that is missing, unreadable, empty or not finite."""


class LoadingLimitError(RobotDescriptionError):
    """A robot or scene that is larger, or takes longer to load, than the limits of loading."""


class SemanticDescriptionError(CollisionMonitorError, ValueError):
    """An SRDF that cannot be read."""


class SceneError(CollisionMonitorError, ValueError):
    """A scene file with a bad key; the message starts with the key's path."""


class LiveSceneError(CollisionMonitorError, ValueError):
    """An object that cannot be taken into a live scene; the message starts with its name."""


class LeavesError(CollisionMonitorError, ValueError):
    """Leaves that cannot be used: a faulty file, or a link that they do not enclose."""


class ConfigurationError(CollisionMonitorError, ValueError):
    """A configuration ``q`` of the wrong shape, or with values that are not finite."""


class NothingToCheckError(CollisionMonitorError, ValueError):
    """A question about the nearest pair to a model in which no pair is checked."""


class FitError(CollisionMonitorError, ValueError):
    """Points to which no bounding volume can be fitted."""


class JointStateError(CollisionMonitorError, ValueError):
    """A joint state that cannot be used: short, not finite, or naming nothing known.

    Attributes:
        kind: what is wrong, one word: ``length``, ``not_finite``, ``unknown``, ``twice``,
            ``future``, ``unreadable``.
    """

    def __init__(self, message: str, kind: str = "unknown") -> None:
        super().__init__(message)
        self.kind = kind


class MotionError(CollisionMonitorError, ValueError):
    """A motion file that cannot be used; the message starts with file and line."""


class JointLimitsError(CollisionMonitorError, ValueError):
    """A file of joint limits that cannot be used; the message names joint and key."""


class RosArgumentsError(CollisionMonitorError, ValueError):
    """ROS arguments of a program that rcl cannot use: a log level, a file, a remapping."""


class TrajectoryError(CollisionMonitorError, ValueError):
    """A desired trajectory that cannot be taken as it is; the message names joint or point."""


class DynamicsError(CollisionMonitorError, ValueError):
    """Torques that cannot be computed: a bad file of drives, a joint that moves no mass."""


class ThresholdsError(CollisionMonitorError, ValueError):
    """Thresholds of clearance that cannot be used; the message starts with where they are from."""


class BehaviourError(CollisionMonitorError, ValueError):
    """Settings of a monitor's behaviour that mean nothing, or name no joint."""


class ArmsError(CollisionMonitorError, ValueError):
    """Two arms cannot be determined: unknown groups or links, or a common joint."""


class AdjustmentError(CollisionMonitorError, ValueError):
    """A motion cannot be made safe.

    Attributes:
        waypoint: index of the first waypoint that cannot be made safe.
        time: its time in the desired motion, seconds.
        pair: the two links that are too near, or None.
        distance: their clearance there, metres; NaN without a pair.
        safe_prefix: the longest safe part of the motion from its start, or None.
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


class CancelledError(CollisionMonitorError, RuntimeError):
    """The caller does not want the result any more."""


class SimulationError(CollisionMonitorError, RuntimeError):
    """A simulation that cannot go on; the message says what to change."""


class RecordingError(CollisionMonitorError, RuntimeError):
    """A recording that cannot be made; the message begins with the parameter."""


class ExecutorError(CollisionMonitorError, RuntimeError):
    """Workers that cannot be reached, or do not finish."""


class ViewError(CollisionMonitorError, ValueError):
    """A page that cannot be served: a host that is not this machine's, a port that is taken."""


class MissingDependencyError(CollisionMonitorError, ImportError):
    """An optional package is needed that is not installed; the message says which extra."""
