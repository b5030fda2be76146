"""What a form of filters sends, and the addresses of lists that are filtered so."""

from typing import Annotated, Any
from urllib.parse import urlencode

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator

from app.core.errors import InvalidInput
from app.core.metadata import LONGEST_COLLECTION, control_in


class Filters(BaseModel):
    """Fields of a form that stand in the address; one that is left blank counts as not sent."""

    model_config = ConfigDict(frozen=True, str_strip_whitespace=True)

    collection: Annotated[str, StringConstraints(max_length=LONGEST_COLLECTION)] | None = None

    @model_validator(mode="before")
    @classmethod
    def _without_blanks(cls, sent: dict[str, Any]) -> dict[str, Any]:
        for name, value in sent.items():
            if (code := control_in(str(value))) is not None:
                raise InvalidInput(f"The control character {code} cannot be looked for. Remove it.", name)
        return {name: value for name, value in sent.items() if str(value).strip()}

    def query(self, **more: object) -> str:
        """The fields as a query of an address; `more` are other ones, or these in place of theirs."""
        fields = self.model_dump(mode="json", exclude_none=True, exclude_defaults=True) | more
        return urlencode(fields)
