# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""Settings that check themselves, and the options of commands that are made of them."""

import argparse
import math
from dataclasses import dataclass

import pytest

from collision_monitor.cli.options import add_setting
from collision_monitor.common.settings import check_settings, setting, settings_of
from collision_monitor.errors import ConfigurationError


@dataclass(frozen=True)
class Kettle:
    litres: float = setting(1.0, "volume, litres", most=3.0, positive=True)
    rate: float = setting(10.0, "of its whistle, Hz", least=0.5, most=100.0, or_zero=True)
    cups: int = setting(4, "number of cups", most=8)
    colour: str = setting("red", "its colour", choices=("red", "blue"))
    owner: str = "nobody"

    def __post_init__(self):
        check_settings(self, ConfigurationError)


@pytest.mark.parametrize(
    "valid", [{"litres": 3.0}, {"rate": 0.0}, {"rate": 0.5}, {"cups": 1}, {"colour": "blue"}]
)
def test_bounds_themselves_are_allowed(valid):
    assert Kettle(**valid)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"litres": 0.0}, "litres: 0 is not allowed"),
        ({"litres": 3.5}, "litres: 3.5 is not a finite number from 0 to 3"),
        ({"litres": math.nan}, "litres: nan is not a finite number"),
        ({"litres": "1"}, "litres: '1' is not a finite number"),
        ({"rate": 0.1}, "rate: 0.1 is not 0, or a finite number from 0.5 to 100"),
        ({"cups": 0}, "cups: 0 is not an integer from 1 to 8"),
        ({"cups": 2.0}, "cups: 2.0 is not an integer"),
        ({"colour": "grey"}, "colour: 'grey' is not one of red, blue"),
    ],
)
def test_what_is_out_of_range_is_refused_by_name(given, says):
    with pytest.raises(ConfigurationError, match=says):
        Kettle(**given)


@pytest.fixture
def parser():
    parser = argparse.ArgumentParser()
    for each in settings_of(Kettle).values():
        add_setting(parser, each, "X", "--mugs" if each.name == "cups" else "")
    return parser


def test_options_have_the_defaults_and_types_of_the_fields(parser):
    assert vars(parser.parse_args([])) == {"litres": 1.0, "rate": 10.0, "cups": 4, "colour": "red"}
    given = parser.parse_args(["--litres", "2", "--mugs", "3"])
    assert (given.litres, given.cups) == (2.0, 3) and isinstance(given.cups, int)
    assert "number of cups (default 4)" in parser.format_help()


@pytest.mark.parametrize("words", [["--litres", "x"], ["--mugs", "2.5"], ["--colour", "grey"]])
def test_options_are_refused_with_the_value_and_what_is_allowed(parser, words, capsys):
    with pytest.raises(SystemExit):
        parser.parse_args(words)
    assert f"argument {words[0]}: {words[1]!r} is not" in capsys.readouterr().err
