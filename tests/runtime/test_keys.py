"""ArtifactKey: named fields, equality by content, JSON and back."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.runtime.programs import adder
from tinytrace.config import config
from tinytrace.runtime.compiler import find_command
from tinytrace.runtime.discovery import current_compiler
from tinytrace.runtime.keys import ArtifactKey
from tinytrace.runtime.ladder import artifact_key, load
from tinytrace.runtime.process import idle

TEXT = st.text(max_size=8)
KEYS = st.builds(ArtifactKey, TEXT, TEXT, st.lists(TEXT, max_size=3).map(tuple), st.integers(0, 9), TEXT)


@given(KEYS)
def test_json_and_back(key):
    again = ArtifactKey.from_json(json.loads(json.dumps(key.to_json())))
    assert again == key
    assert hash(again) == hash(key)
    assert again.digest == key.digest


@given(KEYS, KEYS)
def test_equal_keys_have_equal_digests_and_no_diff(one, other):
    assert (one == other) == (one.digest == other.digest) == (not one.diff(other))


@pytest.mark.every_case
@pytest.mark.parametrize("field", [field.name for field in dataclasses.fields(ArtifactKey)])
def test_keys_that_differ_in_one_field_have_other_digests(field):
    key = ArtifactKey("aa", "gcc 12", ("-O2",), 1, "x86_64")
    value = getattr(key, field)
    other = dataclasses.replace(key, **{field: value + type(value)((" ",) if field == "argv" else 1)})
    assert key.digest != other.digest
    assert [row[0] for row in key.diff(other)] == [field]


def test_diff_names_the_fields():
    key = ArtifactKey("aa", "gcc 12", ("-O2",), 1, "x86_64")
    other = ArtifactKey("bb", "gcc 12", ("-O3",), 1, "x86_64")
    assert [row[:3] for row in key.diff(other)] == [("source", "aa", "bb"), ("argv", ("-O2",), ("-O3",))]
    assert all(row.hint for row in key.diff(other))


def test_no_path_time_or_process_enters(store_folder, tmp_path):
    """The same program in another store, with the compiler in another folder, has the same key."""
    key = load(adder(1)).key
    text = json.dumps(key.to_json())
    assert str(store_folder) not in text
    assert "/" not in " ".join(key.argv)
    (tmp_path / "another folder").mkdir()
    (tmp_path / "another folder" / "gcc").symlink_to(find_command()[0])
    config.update("compiler", f"'{tmp_path}/another folder/gcc'")
    assert artifact_key(adder(1), current_compiler(None, [], idle)) == key


def test_the_processor_is_spelled_out():
    key = load(adder(1)).key
    assert "-march=native" not in key.argv
    assert any(flag.startswith("-march=") for flag in key.argv)
