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
    listed = get_json(f"{url}/models", key, f"{model}@{shown_address(url)}", may_lack=True).get("data") or []
    rows = [row for row in listed if isinstance(row, dict)]
    names = [str(row.get("id", "")) for row in rows]
    row = next((row for row in rows if model in (row.get("id"), *(row.get("aliases") or []))), None)
    is_one_file = len(rows) == 1 and rows[0].get("owned_by") == "llamacpp"  # llama.cpp serves its one model under any name
    if rows and row is None and not is_one_file:
        raise AnswererError(f"The server {shown_address(url)} does not hold the model {model}. It holds: {', '.join(names[:10])}.")
    row = row or (rows[0] if is_one_file else {})
    meta = row.get("meta")
    said = row.get("max_model_len") or (meta.get("n_ctx") if isinstance(meta, dict) else 0)
    return said if isinstance(said, int) and said > 0 else 0


def get_json(
    url: str, key: str, name: str, *, hint: str = "", may_lack: bool = False, headers: dict[str, str] | None = None
) -> dict[str, Any]:
    """The JSON object at `url`; an empty one where a server may lack the page. Raises `AnswererError` in our words."""
    headers = headers or ({"Authorization": f"Bearer {key}"} if key else {})
    is_loopback = httpx.URL(url).host in ("127.0.0.1", "localhost", "::1")
    try:
        with httpx.Client(timeout=_CHECK_SECONDS, trust_env=not is_loopback) as client:
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
