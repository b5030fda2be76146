"""What can go wrong between a client and the service; each message says what to do."""


class ClientError(Exception):
    """A request that cannot succeed; the message says what to do."""


class InvalidUrl(ClientError):
    """The URL cannot be that of a service."""


class Refused(ClientError):
    """The service answered with an error; the message is its own."""

    def __init__(self, http_status: int, detail: str, problem: str = "http") -> None:
        super().__init__(detail)
        self.http_status = http_status
        self.problem = problem
        """Last part of the problem type."""


class NoService(ClientError):
    """Nothing answers at the URL, it stays unable to serve, or it lets nobody in with the key."""


class Interrupted(Exception):
    """The user ended the command while it waited to ask again."""
