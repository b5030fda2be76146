"""Bodies that are read part by part are read as they are in one go."""

import json
import re
from unittest.mock import patch
from urllib.parse import parse_qsl

from hypothesis import given, strategies as st

from app.api import reconciliation as routes
from bookprint_core import json_limits

STRING = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
JSON = st.recursive(
    st.integers() | st.text(st.sampled_from('a"\\[]{}:,\n'), max_size=30),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(st.sampled_from('a"\\[{:,')), inner),
)


@given(JSON, st.integers(1, 9))
def test_what_stands_in_strings_is_left_out_wherever_they_are_parted(value: object, part: int) -> None:
    body = json.dumps(value).encode()
    with patch.object(json_limits, "_PART", part):
        assert b"".join(json_limits._outside_strings(body)) == STRING.sub(b"", body)


@given(st.text(st.sampled_from("a=&%+4é1"), max_size=40), st.integers(3, 9))
def test_fields_of_a_form_are_the_same_wherever_they_are_parted(text: str, part: int) -> None:
    with patch.object(routes, "_PART", part):
        try:
            fields = routes._fields(text.encode())
        except UnicodeDecodeError:
            return
    assert fields == parse_qsl(text, keep_blank_values=True)
