"""Command line: `askabstracts index | ask | search | papers | chat | password`.

Exit codes: 0 answered or done, 1 error, 2 usage, 3 nothing answered. `--json` prints one JSON value for programs. Errors are
one line with the next step; `--debug` shows the traceback.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rag.errors import AskAbstractsError
from rag.settings import Settings

EXIT_DONE, EXIT_ERROR, EXIT_USAGE, EXIT_NOT_ANSWERED = 0, 1, 2, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    options = _parser().parse_args(arguments)
    # Before any library is imported: no progress bars of theirs, and no look at a model hub for what is on the disk.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        from rag import commands

        settings = Settings.from_env(
            store=options.store,
            sources=tuple(options.paths) or None,
            embedder=options.embedder,
            device=options.device,
            llm=options.llm,
            unsupported=options.unsupported,
        )
        run = getattr(commands, options.command)
        code = EXIT_DONE if run(settings, options) else EXIT_NOT_ANSWERED
        sys.stdout.flush()  # here, where a reader that went away is no error, and not at exit
        return code
    except KeyboardInterrupt:
        kept = " What was indexed before is still in use." if options.command == "index" else ""
        sys.stderr.write(f"Stopped.{kept}\n")
        return EXIT_ERROR
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader went away; nothing is left to say
        return EXIT_DONE
    except AskAbstractsError as error:
        if options.debug:
            raise
        sys.stderr.write(f"Error: {error}\n")
        return EXIT_ERROR


def _parser() -> argparse.ArgumentParser:
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--store", help="folder of the index (default: .askabstracts in a checkout, else the user's data folder)")
    shared.add_argument("--embedder", help="sentence-transformers model, name or folder (default: all-MiniLM-L6-v2)")
    shared.add_argument("--device", help="where the embedder runs: cpu, cuda, mps (default: cpu)")
    shared.add_argument(
        "--llm",
        metavar="WHO",
        help="who answers: quotes (default), local, local:FILE.gguf, ollama:NAME, openai:NAME, anthropic:NAME, NAME@URL",
    )
    shared.add_argument(
        "--unsupported",
        choices=("drop", "show"),
        help="what happens to a model's sentences that the abstracts do not support (default: drop)",
    )
    shared.add_argument("--debug", action="store_true", help="show the traceback of an error")
    shared.set_defaults(paths=[])
    parser = argparse.ArgumentParser(
        prog="askabstracts",
        description="Ask a collection of paper abstracts; every sentence of an answer rests on an exact, cited quote.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")

    index = commands.add_parser("index", parents=[shared], help="build the index, or bring it up to date with its sources")
    index.add_argument(
        "paths", nargs="*", metavar="PATH", help="files and folders that become the index's sources (default: those it has)"
    )
    index.add_argument("--add", action="store_true", help="add PATHs to the sources instead of replacing them")
    index.add_argument("--rebuild", action="store_true", help="replace an index that was built with something else, or is damaged")
    index.add_argument("--json", action="store_true", help="print the report as JSON")

    ask = commands.add_parser("ask", parents=[shared], help="answer a question")
    ask.add_argument("question")
    ask.add_argument("--json", action="store_true", help="print the answer as JSON")

    search = commands.add_parser("search", parents=[shared], help="list the papers nearest to a question")
    search.add_argument("query")
    search.add_argument("-k", type=_positive, default=10, metavar="N", help="how many papers (default: 10)")
    search.add_argument("--json", action="store_true", help="print the hits as JSON")

    papers = commands.add_parser("papers", parents=[shared], help="list the papers of the index")
    papers.add_argument("--json", action="store_true", help="print the papers as JSON")

    chat = commands.add_parser("chat", parents=[shared], help="open the chat in a browser")
    chat.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    chat.add_argument("--port", type=_port, default=7860, help="port to listen on (default: 7860)")
    _add_serving(chat)

    password = commands.add_parser("password", help="make a line for --auth-file; asks for the password")
    password.add_argument("name", metavar="NAME")
    password.add_argument("--debug", action="store_true", help="show the traceback of an error")
    password.set_defaults(store=None, paths=[], embedder=None, device=None, llm=None, unsupported=None)
    return parser


def _add_serving(chat: argparse.ArgumentParser) -> None:
    """The options of one who lets others use the chat."""
    chat.add_argument(
        "--auth-file",
        type=Path,
        metavar="FILE",
        help="ask for a name and password; FILE holds lines made by: askabstracts password NAME",
    )
    chat.add_argument("--public", action="store_true", help="let everybody who reaches the address ask, without a password")
    chat.add_argument(
        "--root-path", default="", metavar="PATH", help="path under which a reverse proxy publishes the chat, such as /papers"
    )
    chat.add_argument(
        "--max-concurrency",
        type=_positive,
        default=16,
        metavar="N",
        help="questions answered at the same moment, 1 to 40 (default: 16)",
    )
    chat.add_argument("--mcp", action="store_true", help="serve the collection at /mcp too, as tools of the Model Context Protocol")
    chat.add_argument(
        "--allow-upload",
        choices=("session", "shared", "off"),
        default="session",
        help="where abstracts go that a visitor adds: a collection of the visit's own (default), the shared one, or nowhere",
    )
    chat.add_argument(
        "--feedback", type=Path, metavar="FILE", help="ask visitors what they think of answers, and append it to FILE, a line each"
    )


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 up")
    return number


def _port(text: str) -> int:
    number = int(text) if text.isdecimal() else -1
    if not 1 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 1 to 65535")
    return number


if __name__ == "__main__":
    sys.exit(main())
