"""Search as a LlamaIndex retriever, to plug into any LlamaIndex query engine. A thin adapter over `Assistant.search`.

It stands apart from `rag.search` because importing llama_index takes seconds, which no question on the command line should pay.
"""

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from rag.assistant import Assistant
from rag.search import Hit


class HybridRetriever(BaseRetriever):  # type: ignore[misc]  # llama_index is not followed by mypy here
    """Retrieves whole abstracts, best first; a node's id is its paper's, its score that of the hit (0..1)."""

    def __init__(self, assistant: Assistant, *, k: int = 10) -> None:
        super().__init__()
        self._assistant, self._k = assistant, k

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(hit) for hit in self._assistant.search(query_bundle.query_str, k=self._k)]


def _node(hit: Hit) -> NodeWithScore:
    paper = hit.paper
    metadata = {"title": paper.title, "venue": paper.venue, "year": paper.year, "sources": ", ".join(paper.sources)}
    return NodeWithScore(node=TextNode(id_=paper.id, text=paper.abstract, metadata=metadata), score=hit.score)
