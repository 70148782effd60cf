# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of nodes: definition, declaration of tables, and common checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.exceptions import InvalidParameterTypeException, NameValidationException
from rclpy.expand_topic_name import expand_topic_name
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.validate_full_topic_name import validate_full_topic_name

from collision_monitor.common.settings import Setting, settings_of, values_of
from collision_monitor.common.text import without_place
from collision_monitor.errors import ConfigurationError
from collision_monitor.fitting.fitter import check_fit
from collision_monitor.fitting.shapes import FitSettings
from collision_monitor.model.hierarchy_boxes import MOST_BOXES

# Hz; a rate below it has a period of more than 1000 s, and far below it one that no timer can have.
SLOWEST = 0.001

FASTEST = 1000.0
RATE = 10.0  # Hz, by default, of what is published for people
TIMEOUT, LONGEST_TIMEOUT = 0.5, 60.0  # seconds, by default and at most

# Entries of a list: it is checked and used while joint states wait.
MOST_ENTRIES = 1000

ALL = range(MOST_BOXES)  # levels of boxes


@dataclass(frozen=True)
class Parameter(Setting):
    """One parameter; its values are checked by `problem` at the start and at run time alike.

    Attributes:
        is_name: whether it is a name in the ROS graph; empty only if the default is.
        read_only: whether it is read at the start only.
    """

    is_name: bool = False
    read_only: bool = False

    def descriptor(self) -> ParameterDescriptor:
        """Descriptor, as shown by ``ros2 param describe``."""
        descriptor = ParameterDescriptor(
            description=self.text, read_only=self.read_only, additional_constraints=self.constraint
        )
        least, most = self.range
        if self.most is not None and self.is_integer:
            descriptor.integer_range = [IntegerRange(from_value=least, to_value=int(most), step=0)]
        elif self.most is not None:
            least = 0.0 if self.or_zero else least
            descriptor.floating_point_range = [
                FloatingPointRange(from_value=least, to_value=most, step=0.0)
            ]
        return descriptor

    @property
    def constraint(self) -> str:
        """What a descriptor cannot say otherwise; empty if it says everything."""
        if isinstance(self.default, list):
            return f"at most {MOST_ENTRIES} entries"
        if self.is_name:
            return "a name in the ROS graph"
        if self.positive:
            return "above 0"
        return f"0, or at least {self.least:g}" if self.or_zero else ""

    def problem(self, value: Any) -> str:
        """Why a value is rejected; empty if it is valid. ROS checks types."""
        if isinstance(self.default, list) and len(value) > MOST_ENTRIES:
            return f"{len(value)} entries; at most {MOST_ENTRIES} are allowed"
        if self.is_name and (value or self.default):
            return _name_problem(value)
        return super().problem(value)


def from_settings(kind: type, *names: str, **more: Any) -> list[Parameter]:
    """Parameters of these fields of a dataclass of settings; ``more``: as of `Parameter`."""
    known = settings_of(kind)
    return [Parameter(**{**vars(known[name]), **more}) for name in names]


def _name_problem(name: str) -> str:
    """Why this is not the name of a topic, a service or an action in the ROS graph."""
    try:
        validate_full_topic_name(expand_topic_name(name, "node", "/"), is_service=True)
    except (NameValidationException, ValueError) as error:
        reason = without_place(str(error).splitlines()[0].rstrip(":"))
        return f"{name!r} is not a name in the ROS graph: {reason}"
    return ""


fixed = partial(Parameter, read_only=True)


# Raises a CollisionMonitorError if values are inconsistent.
Check = Callable[[Mapping[str, Any]], None]


def declare_parameters(
    node: Node, parameters: Sequence[Parameter], check: Check = lambda values: None
) -> dict[str, Any]:
    """Declare all parameters; returns their values by name.

    An integer is taken for a number (a double) or a text, a text for a list of it, and an empty
    list for one of any type, at the start and at run time.

    Raises:
        CollisionMonitorError: a value is invalid, or the values are inconsistent.
    """
    values = {p.name: _declared(node, p) for p in parameters}
    defaults = {p.name: p.default for p in parameters if not p.read_only}
    if defaults and hasattr(node, "add_pre_set_parameters_callback"):  # before Iron there is none
        node.add_pre_set_parameters_callback(
            lambda given: [_as_declared(p, defaults.get(p.name)) for p in given]
        )
    _check_each(values, parameters)
    check(values)
    return values


def _declared(node: Node, parameter: Parameter) -> Any:
    """Declare one parameter; the value."""
    name, default, descriptor = parameter.name, parameter.default, parameter.descriptor()
    try:
        value = node.declare_parameter(name, default, descriptor).value
        return _empty(default) if value is None else value  # ROS has no empty list of YAML
    except InvalidParameterTypeException:
        dynamic = node.declare_parameter(name, default, ParameterDescriptor(dynamic_typing=True))
        node.undeclare_parameter(name)
        given = _as_declared(dynamic, default)
        if given is dynamic:
            raise
        return node.declare_parameter(name, given.value, descriptor, ignore_override=True).value


def _empty(default: list[Any]) -> list[Any]:
    """An empty list for ROS, which takes the type from an entry; one that counts as none."""
    return [type(default[0])()]


def _as_declared(given: RosParameter, default: Any) -> RosParameter:
    """The same as the type of the default, where YAML does not tell the two types apart.

    In YAML an integer is a number, and the text of a level (``show_mesh_level 2``); one text may
    stand for a list of it; and an empty list has no type: clients give it any.
    """
    kind, types = RosParameter.Type.from_parameter_value(default), RosParameter.Type
    value = given.value
    if given.type_ is types.INTEGER and kind is types.DOUBLE:
        return RosParameter(given.name, kind, float(value))
    if given.type_ is types.INTEGER_ARRAY and kind is types.DOUBLE_ARRAY:
        return RosParameter(given.name, kind, [float(each) for each in value])
    if given.type_ is types.INTEGER and kind is types.STRING:
        return RosParameter(given.name, kind, str(value))
    if given.type_ is types.STRING and kind is types.STRING_ARRAY:
        return RosParameter(given.name, kind, [value])
    is_list = given.type_.name.endswith("ARRAY") and isinstance(default, list)
    if is_list and not len(value) and given.type_ is not kind:
        return RosParameter(given.name, kind, _empty(default))
    return given


def changed_values(
    values: Mapping[str, Any],
    given: Iterable[RosParameter],
    parameters: Sequence[Parameter],
    check: Check,
) -> dict[str, Any]:
    """Those of ``given`` that are in ``values``; ``parameters`` is the table of these.

    Raises:
        CollisionMonitorError: a value is invalid, or the changed values are inconsistent.
    """
    changed = {p.name: p.value for p in given if p.name in values}
    _check_each(changed, parameters)
    check({**values, **changed})
    return changed


def _check_each(values: Mapping[str, Any], parameters: Sequence[Parameter]) -> None:
    for parameter in parameters:
        if parameter.name in values and (problem := parameter.problem(values[parameter.name])):
            raise ConfigurationError(f"{parameter.name}: {problem}")


def check_fit_values(values: Mapping[str, Any]) -> None:
    """Raise FitError if parameters of the fit are inconsistent."""
    settings = FitSettings(**values_of(FitSettings, values))
    check_fit(values["fit"], settings, values["leaves"] or None)


def levels_of(text: str, name: str = "show_aabb_levels") -> frozenset[int] | range:
    """Levels of the parameter ``name``: ``0-2,5``, ``all``, or empty for none.

    Raises:
        ConfigurationError: it has another form.
    """
    text = text.strip()
    if text == "all":
        return ALL
    levels: set[int] = set()
    for part in filter(None, (part.strip() for part in text.split(","))):
        first, dash, last = (word.strip() for word in part.partition("-"))
        last = last if dash else first
        if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last) < len(ALL)):
            raise ConfigurationError(
                f"{name}: {part!r} is not a level or a range; use for example '0-2,5' or 'all'"
            )
        if int(last) - int(first) > 100:
            raise ConfigurationError(f"{name}: no hierarchy has the levels {part!r}; use 'all'")
        levels.update(range(int(first), int(last) + 1))
    return frozenset(levels)


def package_dirs_of(values: Mapping[str, Any]) -> tuple[str, ...]:
    """The folders that contain packages."""
    return tuple(folder for folder in values["package_dirs"] if folder)
