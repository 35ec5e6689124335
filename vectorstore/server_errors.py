"""The errors of an index on a Chroma server. None of them ever holds a token."""

from vectorstore.errors import StoreBusyError, StoreError


class ServerAddressError(StoreError):
    """What was given is no address of a Chroma server, or no token."""


class ServerUnreachableError(StoreError):
    """The server is down, too slow, or is no Chroma server."""


class ServerRefusedError(StoreError):
    """The server wants a token, or another one, or refuses what was sent."""


class GenerationGoneError(StoreError):
    """A generation is no longer on the server: a newer one was published. Open the current one."""


class LeaseLostError(StoreBusyError):
    """Another writer has taken over, because this one was not heard of for too long."""
