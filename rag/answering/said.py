"""What the program itself says with an answer: texts with places to fill, so that a front end can say them in its own language."""

SILENT = "The collection holds this paper, but its abstract does not state what was asked. The paper itself may. Nearest is:"
PREMISE = "The question assumes something that the abstract contradicts. The abstract says:"
NONE_ANSWERS = "None of the {papers} abstracts seems to answer this. Searched for: “{question}”."
THE_ONE_DOES_NOT = "The one abstract that was searched does not seem to answer this. Searched for: “{question}”."
NONE_TAKES_PART = "No paper meets the filter, so none of the {papers} abstracts was searched; clear the filter to ask all."
ONLY_ONE = "Only 1 of {papers} papers was searched; clear the filter to ask all."
ONLY_SOME = "Only {searched} of {papers} papers were searched; clear the filter to ask all."
NEAREST = "The nearest papers: {titles}. Name a method, a task or a number that the abstract would mention."
TOO_LONG = "Only the first {characters} characters of the question were searched."
_MULTILINGUAL = "A multilingual embedder finds more: ASKABSTRACTS_EMBEDDER=paraphrase-multilingual-MiniLM-L12-v2, then `askabstracts index --rebuild`."
NAMES_SEARCHED = (
    "The question seems to be in {language}, the abstracts and the embedder are English: only its names and numbers were searched. "
    f"{_MULTILINGUAL}"
)
NAMELESS = (
    "The question seems to be in {language}, the abstracts and the embedder are English: there is no name or number in it that could be "
    f"searched. {_MULTILINGUAL}"
)

SHOWN = "{model} was shown {shown} of the {papers} papers."
STOPPED = "{model} was stopped; these are the quotes."
FOUND_NONE = "It found no answer in them."
DOES_NOT_HOLD = "What it wrote does not hold against these quotes."
ONE_DROPPED = "1 sentence it wrote the abstracts do not support; nothing rests on them."
SOME_DROPPED = "{count} sentences it wrote the abstracts do not support; nothing rests on them."
REST_IS_MISSING = "What stands here it had written before; the rest is missing."
WITHOUT_IT = "These are the quotes chosen without it."


def refusal(titles: list[str], question: str, *, searched: int, papers: int) -> list[str]:
    """That nothing was found by searching for `question` in `searched` of all `papers`; `titles` are of the papers nearest to it."""
    if not searched and papers:
        return [NONE_TAKES_PART.format(papers=papers)]
    none = (THE_ONE_DOES_NOT if searched == 1 else NONE_ANSWERS).format(papers=searched, question=question)
    some = (ONLY_ONE if searched == 1 else ONLY_SOME).format(searched=searched, papers=papers)
    nearest = NEAREST.format(titles="; ".join(titles))
    return [none, *([some] if searched < papers else []), *([nearest] if titles else [])]
