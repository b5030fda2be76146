"""The problem document (RFC 9457): the form of every refusal and every failure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

MEDIA_TYPE = "application/problem+json"


class FieldError(BaseModel):
    """One part of the request that has to change."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {"field": "d", "detail": "128 is the largest.", "remedy": "Send 128 or less."}
        }
    )

    field: str = Field(description="The field, parameter or header, as `authors[2]` or `If-Match`.")
    detail: str = Field(description="What is wrong with it.")
    remedy: str = Field(description="What to do about it.")


class Problem(BaseModel):
    """An error as a problem document (RFC 9457)."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "example": {
                "type": "urn:bookprint:problem:invalid",
                "title": "The request is invalid",
                "status": 422,
                "detail": "d: Input should be less than or equal to 128. Send 128 or less.",
                "errors": [
                    {
                        "field": "d",
                        "detail": "Input should be less than or equal to 128.",
                        "remedy": "Send 128 or less.",
                    }
                ],
            }
        },
    )

    type: str = Field(description="A URI that names the kind of problem.")
    title: str = Field(description="The kind of problem in words; the same for every one of its kind.")
    status: int = Field(description="The HTTP status, once more.")
    detail: str = Field(description="What is wrong this time, and what to do about it.")
    errors: list[FieldError] = Field(default=[], description="What to change, field by field.")


@dataclass(frozen=True, slots=True)
class ProblemAnswer:
    """A problem before it is written down."""

    status: int
    kind: str
    title: str
    detail: str
    errors: Sequence[FieldError] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    extensions: Mapping[str, Any] = field(default_factory=dict)

    def problem(self) -> Problem:
        """The document."""
        return Problem(
            type=f"urn:bookprint:problem:{self.kind}",
            title=self.title,
            status=self.status,
            detail=self.detail,
            errors=list(self.errors),
            **self.extensions,
        )

    def response(self) -> Response:
        """The document as an answer."""
        headers = dict(self.headers)
        return Response(self.problem().model_dump_json(), self.status, headers=headers, media_type=MEDIA_TYPE)
