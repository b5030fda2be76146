"""What can be wrong with a request body before it is read."""


class BodyTooLarge(Exception):
    """The request body is larger than this service takes."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The body is larger than {max_bytes} bytes.")
        self.max_bytes = max_bytes


class UnsupportedMediaType(Exception):
    """The body is not UTF-8 JSON; the message says what to do, `header` names the header to change."""

    def __init__(self, message: str, header: str = "Content-Type") -> None:
        super().__init__(message)
        self.header = header


class UnparsableJson(Exception):
    """The body is not JSON; `field` is where in the book the reading ended, if that is known."""

    def __init__(self, message: str, field: str, remedy: str, status: int) -> None:
        super().__init__(message)
        self.field = field
        self.remedy = remedy
        self.status = status
