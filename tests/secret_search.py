"""The search for secrets in whatever the tests and the processes that they start have printed.

Each database of a test has a password in its URL, so that one which is printed is found.
"""

import os
import re
from collections.abc import Iterable

from sqlalchemy import make_url

ADMIN_KEY = "an-admin-key-of-the-environment-0123456789"
"""The admin key of the services that tests start."""

_NAMED = make_url(os.environ["DATABASE_URL"]).password if os.environ.get("DATABASE_URL") else None

DATABASE_PASSWORD = str(_NAMED or "a-password-of-the-database-0123456789")
"""The password in the URLs of the databases; servers of our own take any."""

_SECRETS = re.compile(
    rf"bp_[\w-]{{43}}|whsec_[\w+/=]{{32,}}|{re.escape(ADMIN_KEY[:-1])}|{re.escape(DATABASE_PASSWORD)}"
)


def lines_with_secrets(texts: Iterable[str]) -> list[str]:
    """The lines that hold an API key, a webhook's secret, the admin key or the database's password."""
    return [line for text in texts for line in text.splitlines() if _SECRETS.search(line)]
