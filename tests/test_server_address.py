"""The text of a server's address: what it means, and what is refused."""

import pytest

from vectorstore.server_address import ServerAddress
from vectorstore.server_errors import ServerAddressError


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:8000", "http://127.0.0.1:8000"),
        (" HTTP://Chroma:8000/ ", "http://Chroma:8000"),
        ("https://chroma.example.org", "https://chroma.example.org:443"),
        ("http://[::1]:8000", "http://[::1]:8000"),
        ("http://[::1]", "http://[::1]:80"),
        ("https://example.org/chroma", "https://example.org:443/chroma"),
        ("cloud://my-tenant/papers", "https://api.trychroma.com:443"),
    ],
)
def test_an_address_is_read(text: str, url: str) -> None:
    assert ServerAddress.parse(text).url == url


def test_an_address_of_the_cloud_names_tenant_and_database() -> None:
    address = ServerAddress.parse("cloud://my-tenant/papers")
    assert (address.tenant, address.database, address.token_header) == ("my-tenant", "papers", "X-Chroma-Token")


@pytest.mark.parametrize(
    "text",
    [
        "http://",
        "ftp://host",
        "host:8000",
        "http://host:port",
        "http://host:99999",
        "http://host:0x50",
        "http://host:0",
        "http://ho st:8000",
        "http://host:8000/?a=b",
        "http://host:8000/#a",
        "http://host/../x",
        "http:///path",
        "http://[::1",
        "http://a:b:c",
        "cloud://tenant",
        "cloud://a/b/c",
        "cloud://../b",
        "cloud:///b",
        "",
    ],
)
def test_nonsense_is_no_address(text: str) -> None:
    with pytest.raises(ServerAddressError, match=r"Give http://HOST:PORT"):
        ServerAddress.parse(text)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    for text in ("http://me:zebra-secret@host:8000", "ftp://me:zebra-secret@host", "cloud://zebra-secret@a/b"):
        with pytest.raises(ServerAddressError) as error:
            ServerAddress.parse(text)
        assert "zebra-secret" not in str(error.value)
