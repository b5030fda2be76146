"""The arithmetic of the benchmark of similar books."""

from http.client import HTTPConnection

import pytest

from bench.service import similar_speed


def test_round_is_the_median_of_each_question_without_the_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, int] = {}

    def ask(_: HTTPConnection, path: str) -> float:
        query = path.rpartition("/")[2]
        asked[query] = asked.get(query, 0) + 1
        return 1000.0 if asked[query] <= 2 else {"similar": 3.0, "near-duplicates?d=7": 2.0}.get(query, 1.0)

    monkeypatch.setattr(similar_speed, "_ask", ask)
    monkeypatch.setattr(similar_speed, "_WARM_UP", 2)
    monkeypatch.setattr(similar_speed, "_TURNS", 3)
    medians = similar_speed._round(HTTPConnection("127.0.0.1"), size=10, seed=1)
    assert medians["lookup, d = 7"] == 2
    assert medians["similar, k = 10"] == 3
    assert medians["map, 100 books"] == 1
    assert set(asked.values()) == {5}
