"""Answers, hits and papers as plain data, stable for programs: what `--json` prints, and what the API and the MCP tools return.

Only dicts, lists, texts, numbers and None come out, so that any writer of JSON takes them.
"""

from dataclasses import asdict

from rag.answer import Answer
from rag.citations import Citation
from rag.named_collections import shown_name
from rag.papers import Paper
from rag.search import Hit


def answer_as_json(answer: Answer) -> dict[str, object]:
    """An answer with its citations and the papers considered."""
    return {
        "question": answer.question,
        "standalone_question": answer.standalone_question,
        "status": answer.status,
        "text": answer.text,
        "citations": [_citation_as_json(citation) for citation in answer.citations],
        "hits": [hit_as_json(hit) for hit in answer.hits],
        "notices": list(answer.notices),
        "model": answer.model,
        "timings": dict(answer.timings),
        "collection": shown_name(answer.collection),
    }


def hit_as_json(hit: Hit) -> dict[str, object]:
    """A paper found, with the sentences that fit best."""
    return {
        "paper": hit.paper.id,
        "title": hit.paper.title,
        "score": hit.score,
        "sources": list(hit.paper.sources),
        "sentences": [asdict(sentence) for sentence in hit.sentences],
    }


def paper_as_json(paper: Paper) -> dict[str, object]:
    """A paper with its abstract."""
    return {name: list(value) if isinstance(value, tuple) else value for name, value in asdict(paper).items()}


def _citation_as_json(citation: Citation) -> dict[str, object]:
    return {
        "number": citation.number,
        "paper": citation.paper.id,
        "title": citation.paper.title,
        "sources": list(citation.paper.sources),
        "quote": citation.quote,
        "start": citation.start,
        "end": citation.end,
        "support": citation.support,
        "claim": list(citation.claim),
    }
