"""A thumb up or down from the page into the operator's file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rag.errors import AskAbstractsError
from rag.feedback import record_feedback
from rag.web.keeping import Conversation


def note_feedback(path: Path, conversation: Conversation, given: Mapping[str, Any], *, thanks: str) -> str:
    """Writes what the visitor thinks of a turn down. Returns `thanks`, or why it could not be; "" for a turn that is not there."""
    turn = int(given["turn"]) if str(given.get("turn", "")).isdecimal() else 0
    if not 0 < turn <= len(conversation.answers):
        return ""
    try:
        record_feedback(
            path,
            conversation.answers[turn - 1],
            is_good=given.get("good") == "yes",
            reason=str(given.get("reason", "")),
            expected_paper=str(given.get("expected", "")),
        )
    except AskAbstractsError as error:
        return str(error)
    return thanks
