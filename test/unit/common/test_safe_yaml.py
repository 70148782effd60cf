# Copyright 2026 the collision_monitor developers
# SPDX-License-Identifier: Apache-2.0
"""YAML files: documents, and what is refused; more in test_scene.py."""

import pytest

from collision_monitor.common.safe_files import read_document, read_documents
from collision_monitor.errors import MotionError, SceneError


def file(tmp_path, text):
    """A file with this text."""
    path = tmp_path / "some.yaml"
    path.write_text(text)
    return path


def test_documents_are_read_one_by_one(tmp_path):
    path = file(tmp_path, "a: 1\n---\n- b\n---\n")
    assert read_documents(path, MotionError, 100, "motion") == [{"a": 1}, ["b"], None]
    with pytest.raises(SceneError, match="expected one document, got 3"):
        read_document(path, SceneError, 100, "scene")
    assert read_document(file(tmp_path, ""), SceneError, 100, "scene") is None


def test_numbers_with_exponents_are_numbers(tmp_path):
    text = "[1e5, 1.0e5, -2.5E-3, .5e1, 1.e+2, 1.0e-05, '1e5', e5, 1e5m, 1e]"
    expected = [1e5, 1e5, -2.5e-3, 5.0, 100.0, 1e-5, "1e5", "e5", "1e5m", "1e"]
    assert read_document(file(tmp_path, text), SceneError, 100, "scene") == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: !!python/object/apply:os.getcwd []", "not YAML"),
        ("a: 1\na: 2", "some.yaml:2: not YAML: duplicate key 'a'"),
        ("[" * 200 + "]" * 200, "nested deeper than 100 levels"),
        ("x" * 200_000, "motion: larger than 100000 bytes"),
        ("a: !!timestamp x", "not YAML"),
    ],
)
def test_what_is_no_data_is_refused_with_the_error_asked_for(tmp_path, text, says):
    with pytest.raises(MotionError, match=says):
        read_documents(file(tmp_path, text), MotionError, 100_000, "motion")
