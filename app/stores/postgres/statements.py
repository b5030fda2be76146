"""Statements written in SQL, some of whose parameters are lists."""

from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import ARRAY

_LISTS: Mapping[str, sa.types.TypeEngine[Any]] = {
    "books": sa.Uuid(),
    "founders": sa.Uuid(),
    "kinds": sa.Text(),
    "lefts": sa.Uuid(),
    "rights": sa.Uuid(),
}


def with_lists(sql: str) -> sa.TextClause:
    """The statement; parameters called books, founders, kinds, lefts and rights are lists."""
    lists = [sa.bindparam(name, type_=ARRAY(of)) for name, of in _LISTS.items() if f":{name}" in sql]
    return sa.text(sql).bindparams(*lists)
