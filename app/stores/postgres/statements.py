"""SQL statements with named parameters, which Postgres itself knows by number alone."""

import re
from collections.abc import Mapping
from typing import Any

_PARAMETER = re.compile(r"\$([a-z]\w*)")


class SQL:
    """A statement whose parameters are written `$name`."""

    def __init__(self, text: str) -> None:
        self._names = list(dict.fromkeys(_PARAMETER.findall(text)))
        self.text = _PARAMETER.sub(lambda match: f"${self._names.index(match[1]) + 1}", text)
        """The statement with `$1`, `$2`, … for its parameters."""

    def values(self, parameters: Mapping[str, Any]) -> list[Any]:
        """The values of its parameters, in the order of their numbers; further ones are left out."""
        return [parameters[name] for name in self._names]
