"""Command line: `askabstracts index | ask | search | papers | chat | collections | password`.

Exit codes: 0 answered or done, 1 error, 2 usage, 3 nothing answered, 4 faults found by `index --strict`. `--json` prints one JSON
value for programs. Errors are one line with the next step; `--debug` shows the traceback.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from rag.collection_commands import ACTIONS
from rag.errors import AskAbstractsError, SourceFaultyError
from rag.settings import Settings

EXIT_DONE, EXIT_ERROR, EXIT_USAGE, EXIT_NOT_ANSWERED, EXIT_FAULTS = 0, 1, 2, 3, 4


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if options.command == "collections" and len(options.names) != len(ACTIONS[options.action]):
        parser.error(f"write: askabstracts {' '.join(('collections', options.action, *ACTIONS[options.action]))}")
    # Before any library is imported: no progress bars of theirs, and no look at a model hub for what is on the disk.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        from rag import commands

        settings = Settings.from_env(
            store=options.store,
            collection=options.collection,
            sources=tuple(options.paths) or None,
            embedder=options.embedder,
            embedder_url=options.embedder_url,
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
        sys.stdout.flush()
        sys.stderr.write(f"Error: {error}\n")
        return EXIT_FAULTS if isinstance(error, SourceFaultyError) else EXIT_ERROR


def _shared_options() -> argparse.ArgumentParser:
    """The options that every command on an index takes."""
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument(
        "--store",
        help="folder of the index (default: .askabstracts in a checkout, else the user's data folder), or a Chroma server: http(s)://HOST:PORT, cloud://TENANT/DATABASE",
    )
    shared.add_argument("--collection", metavar="NAME", help="a collection of the store (default: the one in the store itself)")
    shared.add_argument(
        "--embedder", help="sentence-transformers model, name or folder (default: that of the index, else all-MiniLM-L6-v2)"
    )
    shared.add_argument(
        "--embedder-url", metavar="URL", help="an embedding server that speaks as OpenAI's does, whose model --embedder names"
    )
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
    return shared


def _parser() -> argparse.ArgumentParser:
    shared = _shared_options()
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
    index.add_argument(
        "--swap",
        action="store_true",
        help="with --embedder: build an index of another embedder beside the one in use, then swap it in; running programs go over to it",
    )
    index.add_argument(
        "--report", action="store_true", help="tell all that is wrong with the abstracts: where, how often and what to do about it"
    )
    index.add_argument("--strict", action="store_true", help="index nothing and exit with 4 when --report would tell of anything")
    index.add_argument("--json", action="store_true", help="print the report as JSON")

    ask = commands.add_parser("ask", parents=[shared], help="answer a question")
    ask.add_argument("question")
    _add_where(ask)
    ask.add_argument("--json", action="store_true", help="print the answer as JSON")

    search = commands.add_parser("search", parents=[shared], help="list the papers nearest to a question")
    search.add_argument("query")
    _add_where(search)
    search.add_argument("-k", type=_positive, default=10, metavar="N", help="how many papers (default: 10)")
    search.add_argument("--json", action="store_true", help="print the hits as JSON")

    papers = commands.add_parser("papers", parents=[shared], help="list the papers of the index")
    _add_where(papers)
    papers.add_argument("--json", action="store_true", help="print the papers as JSON")

    chat = commands.add_parser("chat", parents=[shared], help="open the chat in a browser")
    chat.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1)")
    chat.add_argument("--port", type=_port, default=7860, help="port to listen on; 0 takes a free one (default: 7860)")
    _add_serving(chat)

    collections = commands.add_parser(
        "collections", parents=[shared], help="list, describe, delete or rename the collections of the store"
    )
    collections.add_argument("action", nargs="?", choices=tuple(ACTIONS), default="list", help="what to do (default: list)")
    collections.add_argument("names", nargs="*", metavar="NAME", help="the collection; for rename its name and the new one")
    collections.add_argument("--yes", action="store_true", help="delete without asking")
    collections.add_argument("--json", action="store_true", help="print what is known as JSON")

    password = commands.add_parser("password", help="make a line for --auth-file; asks for the password")
    password.add_argument("name", metavar="NAME")
    password.add_argument("--debug", action="store_true", help="show the traceback of an error")
    password.set_defaults(
        store=None, collection=None, paths=[], embedder=None, embedder_url=None, device=None, llm=None, unsupported=None
    )
    return parser


def _add_where(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="CONDITION",
        help="only papers that meet it: year>=2020, year=2019..2021, venue=ICML, author=Hinton, file=a.txt, title~word; != excludes; "
        "give several to narrow further",
    )


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
    if not 0 <= number <= 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 0 to 65535; 0 takes a free one")
    return number


if __name__ == "__main__":
    sys.exit(main())
