"""The command `askabstracts collections`: what each of its actions prints and does."""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace

from rag.errors import CollectionError, StoreError
from rag.named_collections import (
    CollectionFacts,
    collection_names,
    delete_collection,
    describe_collection,
    rename_collection,
    shown_name,
)
from rag.settings import Settings

ACTIONS: Mapping[str, tuple[str, ...]] = {"list": (), "describe": ("NAME",), "delete": ("NAME",), "rename": ("OLD", "NEW")}
"""The actions, each with the names that it takes."""
_LISTED = 10  # venues and files named in full


def run_collections(settings: Settings, options: argparse.Namespace) -> None:
    """Does what `options.action` says with `options.names`, as many as `ACTIONS` has for it."""
    chosen = replace(settings, collection=options.names[0] if options.names else "")
    if options.action == "list":
        _list(chosen, as_json=options.json)
    elif options.action == "describe":
        _describe(describe_collection(chosen), as_json=options.json)
    elif options.action == "delete":
        _delete(chosen, is_sure=options.yes)
        _say({"deleted": chosen.collection}, f"Deleted: {chosen.collection}", as_json=options.json)
    else:
        old, new = options.names
        rename_collection(chosen, new)
        _say({"renamed": old, "to": new}, f"{old} is now {new}", as_json=options.json)


def _list(settings: Settings, *, as_json: bool) -> None:
    names = collection_names(settings)
    width = max((len(shown_name(name)) for name in names), default=0)
    rows: list[dict[str, object]] = []
    for name in names:
        try:
            facts = describe_collection(replace(settings, collection=name))
        except StoreError as error:  # one that cannot be read must not hide the others
            rows.append({"name": shown_name(name), "error": str(error)})
            line = f"cannot be read: {error}"
        else:
            rows.append(asdict(facts))
            line = f"{facts.papers:>9,} papers  {_years(facts):9}  {facts.published[:10]}"
        if not as_json:
            sys.stdout.write(f"{shown_name(name):{width}}  {line}\n")
    if as_json:
        _print_json(rows)
    elif not names:
        sys.stdout.write("There is no collection yet. To make one: askabstracts index --collection NAME PATH...\n")


def _describe(facts: CollectionFacts, *, as_json: bool) -> None:
    if as_json:
        _print_json(asdict(facts))
        return
    lines = {
        "papers": f"{facts.papers:,}",
        "years": _years(facts),
        "venues": _counted(facts.venues),
        "files": _counted(facts.files),
        "embedder": facts.embedder,
        "on disk": f"{facts.bytes_on_disk / 1e6:,.1f} MB",
        "published": facts.published,
    }
    sys.stdout.write(f"{facts.name}\n" + "".join(f"  {name + ':':11}{said or '-'}\n" for name, said in lines.items()))


def _delete(settings: Settings, *, is_sure: bool) -> None:
    """Deletes a collection when the operator is sure, or types its name."""
    if not is_sure and settings.collection in collection_names(settings):
        sys.stderr.write(
            f"This deletes the index of {settings.collection!r}, and what visitors added to it. Type its name to go on: "
        )
        sys.stderr.flush()
        if sys.stdin.readline().strip() != settings.collection:
            raise CollectionError("That is not its name; nothing was deleted. Type the name when asked, or give --yes.")
    delete_collection(settings)


def _years(facts: CollectionFacts) -> str:
    if facts.first_year is None or facts.first_year == facts.last_year:
        return str(facts.first_year or "")
    return f"{facts.first_year}-{facts.last_year}"


def _counted(counts: Mapping[str, int]) -> str:
    more = f" and {len(counts) - _LISTED} more" if len(counts) > _LISTED else ""
    return ", ".join(f"{_printable(name)} ({count:,})" for name, count in list(counts.items())[:_LISTED]) + more


def _printable(name: str) -> str:
    """A name from a file without what would steer a terminal."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in name)


def _say(value: Mapping[str, str], sentence: str, *, as_json: bool) -> None:
    if as_json:
        _print_json(value)
    else:
        sys.stdout.write(sentence + "\n")


def _print_json(value: object) -> None:
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
