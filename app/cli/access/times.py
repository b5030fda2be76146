"""Times as options of commands have them."""

from datetime import UTC, datetime

from app.cli.output import UserError


def moment(text: str, option: str) -> datetime:
    """The time that an option was given; raises UserError for a text that is none."""
    try:
        named = datetime.fromisoformat(text)
    except ValueError as exc:
        raise UserError(
            f"{option} takes a time as 2027-01-31 or 2027-01-31T18:00+01:00; without an offset it is UTC.",
            2,
        ) from exc
    return named if named.tzinfo is not None else named.replace(tzinfo=UTC)
