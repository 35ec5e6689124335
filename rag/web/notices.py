"""What the program says with an answer, in Chinese. The texts come from `rag.answering.said`, their places filled as they were.

What has no translation here (a model's failure, a name in a filter) stays English. Knows no Gradio.
"""

import re
from collections.abc import Mapping
from string import Formatter

from rag.answer import Answer
from rag.answering import said
from rag.web.texts import Language

_WHOLE: Mapping[str, str] = {
    said.SILENT: "集合里有这篇论文,但它的摘要没有说明所问的内容;论文正文也许有。最接近的句子是:",
    said.PREMISE: "问题的前提与摘要相矛盾。摘要说:",
    said.NONE_ANSWERS: "检索的 {papers} 篇摘要似乎都没有回答这个问题。检索词:“{question}”。",
    said.THE_ONE_DOES_NOT: "只检索了一篇摘要,它似乎没有回答这个问题。检索词:“{question}”。",
    said.NONE_TAKES_PART: "没有论文符合筛选条件,{papers} 篇摘要都没有检索;清除筛选即可向全部论文提问。",
    said.ONLY_ONE: "{papers} 篇论文中只检索了 1 篇;清除筛选即可向全部论文提问。",
    said.ONLY_SOME: "{papers} 篇论文中只检索了 {searched} 篇;清除筛选即可向全部论文提问。",
    said.NEAREST: "最接近的论文:{titles}。请写出摘要里会提到的方法、任务或数字。",
    said.TOO_LONG: "只检索了问题的前 {characters} 个字符。",
    said.NAMES_SEARCHED: "问题似乎不是英文({language}),而摘要和嵌入模型是英文的:只检索了其中的名称和数字。"
    "换用多语言嵌入模型可以找到更多:ASKABSTRACTS_EMBEDDER=paraphrase-multilingual-MiniLM-L12-v2,然后运行 `askabstracts index --rebuild`。",
    said.NAMELESS: "问题似乎不是英文({language}),而摘要和嵌入模型是英文的:其中没有可检索的名称或数字。"
    "换用多语言嵌入模型可以找到更多:ASKABSTRACTS_EMBEDDER=paraphrase-multilingual-MiniLM-L12-v2,然后运行 `askabstracts index --rebuild`。",
    "The collection has changed since: this answer's sources are not all there any more. Ask again.": "集合已经变动:这个答案的出处不全在了。请再问一次。",
    "The question is empty. Type what you want to know about the papers.": "问题是空的。请写下你想了解论文的什么。",
    "The question holds no word. Type what you want to know about the papers.": "问题里没有词语。请写下你想了解论文的什么。",
    "The question holds no word to search for. Name a topic, a method or a paper.": "问题里没有可查的词语。请写出一个主题、方法或论文。",
    "The question repeats one word. Say what you want to know about it.": "问题只重复一个词。请说明你想了解它的什么。",
    "The question repeats one letter. Type what you want to know about the papers.": "问题只重复一个字母。请写下你想了解论文的什么。",
    "You are welcome. Ask about the papers whenever you like.": "不客气。随时可以就这些论文提问。",
}  # fmt: skip
"""Notices that stand alone."""

_PARTS: Mapping[str, str] = {
    said.SHOWN: "给 {model} 看了 {papers} 篇论文中的 {shown} 篇。",
    said.STOPPED: "{model} 被停止;以下是引文。",
    said.FOUND_NONE: "它在其中没有找到答案。",
    said.DOES_NOT_HOLD: "它写的内容与这些引文不符,不予采用。",
    said.ONE_DROPPED: "它写的 1 句没有摘要支持,没有采用为依据。",
    said.SOME_DROPPED: "它写的 {count} 句没有摘要支持,没有采用为依据。",
    said.REST_IS_MISSING: "以上是它先写好的部分,其余缺失。",
    said.WITHOUT_IT: "以下是不用它而选出的引文。",
}
"""Sentences that a notice about a model is made of."""


def _pattern(template: str) -> re.Pattern[str]:
    pieces = []
    for text, place, _, _ in Formatter().parse(template):
        pieces.append(re.escape(text) + (f"(?P<{place}>.+?)" if place else ""))
    return re.compile("".join(pieces), re.DOTALL)


_WHOLE_PATTERNS = [(_pattern(english), chinese) for english, chinese in _WHOLE.items()]
_PART_PATTERNS = [(_pattern(english), chinese) for english, chinese in _PARTS.items()]


def notices_in(answer: Answer, language: Language) -> list[str]:
    """The notices of an answer in the page's language, as far as it is spoken here."""
    return [_in_chinese(notice) if language == "zh" else notice for notice in answer.notices]


def _in_chinese(notice: str) -> str:
    for pattern, chinese in _WHOLE_PATTERNS:
        if match := pattern.fullmatch(notice):
            return chinese.format(**match.groupdict())
    for pattern, chinese in _PART_PATTERNS:
        if match := pattern.search(notice):
            notice = notice[: match.start()] + chinese.format(**match.groupdict()) + notice[match.end() :].removeprefix(" ")
    return notice
