"""`python -m eval`: asks every labelled question and prints how well it was answered."""

import argparse
import sys
from collections.abc import Sequence

from eval.questions import DEVELOPMENT, HELD_OUT, load_questions
from eval.rows import answer_row
from eval.table import summary_table
from rag.assistant import Assistant
from rag.settings import Settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line of `python -m eval`."""
    parser = argparse.ArgumentParser(prog="python -m eval", description="Ask the labelled questions and print the figures.")
    parser.add_argument("--heldout", action="store_true", help="the held-out questions, which nothing was fitted on")
    options = parser.parse_args(arguments)
    assistant = Assistant.open(Settings.from_env())
    questions = load_questions(HELD_OUT if options.heldout else DEVELOPMENT, assistant.papers)
    rows = [answer_row(question, assistant) for question in questions]
    sys.stdout.write(summary_table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
