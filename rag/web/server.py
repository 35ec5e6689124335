"""Serving the page on this machine."""

import os
import socket
import sys

from rag.assistant import Assistant
from rag.errors import SettingsError


def serve(assistant: Assistant, *, host: str, port: int) -> None:
    """Serves the chat until Ctrl-C. Raises `SettingsError` when the port is taken or the address is not this machine's."""
    _require_free(host, port)
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"  # read by gradio when it is imported
    from rag.web.page import CSS, HEAD, make_page, make_theme

    shown_host = "127.0.0.1" if host in ("0.0.0.0", "::") else host
    sys.stdout.write(f"The chat is on http://{shown_host}:{port}  (Ctrl-C stops it)\n")
    sys.stdout.flush()
    make_page(assistant).launch(
        server_name=host, server_port=port, quiet=True, css=CSS, head=HEAD, theme=make_theme(), footer_links=[], enable_monitoring=False,
        ssr_mode=False, share=False,
    )  # fmt: skip


def _require_free(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SettingsError(
                f"The chat cannot listen on {host}:{port} ({error.strerror}). Choose another with --port, for example --port {port + 1}."
            ) from error
