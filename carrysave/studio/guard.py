"""Who may ask: those who have the token, on an address of this machine."""

import hmac
import secrets

__all__ = ["HOST", "Guard"]

HOST = "127.0.0.1"
"""The only address that is listened on."""


class Guard:
    """The token of a run, and the names by which its port may be called.

    Whoever can read the terminal has the token. A page of another site that has this browser ask,
    or has its own name point here, has neither the cookie nor the host.

    Parameters
    ----------
    port : that is listened on.
    """

    def __init__(self, port: int) -> None:
        self.port = port
        self.token = secrets.token_urlsafe(32)
        self._hosts = {f"{HOST}:{port}", f"localhost:{port}"}
        self._origins = {f"http://{host}" for host in self._hosts}

    @property
    def url(self) -> str:
        """The address to open, with the token."""
        return f"http://{HOST}:{self.port}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """Name of the cookie: cookies of other ports of this machine come, too."""
        return f"carrysave_studio_{self.port}"

    def knows(self, token: str | None) -> bool:
        """Return whether this is the token, in a time that says nothing of it."""
        return hmac.compare_digest((token or "").encode(), self.token.encode())

    def is_host(self, host: str) -> bool:
        """Return whether a request is for this port, by a name that nobody else can give it."""
        return host in self._hosts

    def is_origin(self, origin: str | None) -> bool:
        """Return whether a page of ours has sent a form."""
        return origin in self._origins
