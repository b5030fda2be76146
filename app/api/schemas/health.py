"""Whether the process lives and the service can work, as documents."""

from typing import Literal

from pydantic import Field

from app.api.schemas.base import Document, shown

_UP = {"ok": True, "detail": "up"}


class Alive(Document):
    """The process answers."""

    model_config = shown({"status": "alive"})

    status: Literal["alive"] = "alive"


class PartAnswer(Document):
    """One part of the service."""

    model_config = shown(_UP)

    ok: bool
    detail: str = Field(description="What is wrong with it, if something is.")


class Ready(Document):
    """The service can do its work."""

    model_config = shown(
        {
            "status": "ready",
            "parts": {
                "postgres": _UP,
                "redis": _UP,
                "jobs": _UP,
                "kernels": {"ok": True, "detail": "compiled"},
            },
        }
    )

    status: Literal["ready"] = "ready"
    parts: dict[str, PartAnswer] = Field(description="Empty where they are not to be seen without a key.")
