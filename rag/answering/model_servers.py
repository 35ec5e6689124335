"""What the server of a model says of itself when the program starts: whether it is there, takes the key, and holds the model."""

from typing import Any

import httpx

from rag.answering.replies import failure_of
from rag.errors import AnswererError

_CHECK_SECONDS = 10.0


def window_of(url: str, key: str, model: str) -> int:
    """What an OpenAI-compatible server says of the model's window; 0 when it does not say.

    Raises `AnswererError` when the server is down, refuses the key, or lists its models and this is none of them.
    """
    name = f"{model}@{shown_address(url)}"
    found = get_json(f"{url}/models", key, name, may_lack=True)
    if not found and not url.endswith("/v1") and _lists_models(f"{url}/v1/models", key, name):
        raise AnswererError(f"The server {shown_address(url)} lists its models under /v1. Write: {name}/v1")
    rows = rows_of(found, "data", name)
    names = [row["id"] for row in rows if isinstance(row.get("id"), str)]
    row = next((row for row in rows if model in (row.get("id"), *_aliases(row))), None)
    is_one_file = len(rows) == 1 and rows[0].get("owned_by") == "llamacpp"  # llama.cpp serves its one model under any name
    if rows and row is None and not is_one_file:
        raise AnswererError(f"The server {shown_address(url)} does not hold the model {model}. It holds: {', '.join(names[:10])}.")
    row = row or (rows[0] if is_one_file else {})
    meta = row.get("meta")
    said = row.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else 0)
    return positive(said)


def positive(value: object) -> int:
    """`value` where it is a number of tokens, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def rows_of(found: dict[str, Any], field: str, name: str) -> list[dict[str, Any]]:
    """The objects that a server lists under `field`; none when it lists nothing. Raises `AnswererError` when that is no list."""
    listed = found.get(field)
    if listed is None:
        return []
    if not isinstance(listed, list):
        raise AnswererError(f"{name}: the server sent something that is no list of models. Check its address.")
    return [row for row in listed if isinstance(row, dict)]


def is_loopback(url: str) -> bool:
    """Whether the server is on this machine; no proxy leads there."""
    host = httpx.URL(url).host
    return host in ("localhost", "::1") or host.startswith("127.")


def _lists_models(url: str, key: str, name: str) -> bool:
    try:
        return isinstance(get_json(url, key, name).get("data"), list)
    except AnswererError:
        return False


def _aliases(row: dict[str, Any]) -> list[Any]:
    aliases = row.get("aliases")
    return aliases if isinstance(aliases, list) else []


def get_json(
    url: str, key: str, name: str, *, hint: str = "", may_lack: bool = False, headers: dict[str, str] | None = None
) -> dict[str, Any]:
    """The JSON object at `url`; an empty one where a server may lack the page. Raises `AnswererError` in our words."""
    headers = headers or ({"Authorization": f"Bearer {key}"} if key else {})
    try:
        with httpx.Client(timeout=_CHECK_SECONDS, trust_env=not is_loopback(url)) as client:
            response = client.get(url, headers=headers)
            if may_lack and response.status_code in (404, 405, 501):
                return {}
            found = response.raise_for_status().json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        failure = failure_of(error, name)
        raise AnswererError(f"{failure} {hint}".strip()) from None
    return found if isinstance(found, dict) else {}


def shown_address(url: str) -> str:
    """An address without a user's name and password."""
    return str(httpx.URL(url).copy_with(userinfo=b"")) if "@" in url else url
