"""The page's own words in English and Chinese. Papers, questions and answers keep their own language.

Labels of Gradio's components are translated in the browser (`label`), HTML that is made here in Python (`say`).
"""

from typing import Any, Literal

import gradio as gr

from rag.web.papers_texts import PAPERS_TEXTS
from rag.web.upload_texts import UPLOAD_TEXTS

Language = Literal["en", "zh"]
LANGUAGES: tuple[tuple[str, Language], ...] = (("English", "en"), ("中文", "zh"))

_OWN: dict[str, tuple[str, str]] = {
    "welcome": (
        "Ask {papers} paper abstracts. Every sentence of an answer rests on an exact quote, and what the collection does not hold is said to be missing.",
        "向 {papers} 篇论文摘要提问。答案的每一句都有逐字引文为据;集合里没有的,会明确说没有。",
    ),
    "chat": ("Chat", "对话"),
    "papers": ("Papers", "论文"),
    "map": ("Map", "地图"),
    "add": ("Add abstracts", "添加摘要"),
    "settings": ("Settings", "设置"),
    "question": ("Your question", "你的问题"),
    "placeholder": ("Ask about a method, a number…", "问一个方法、一个数字……"),
    "ask": ("Ask", "提问"),
    "stop": ("Stop", "停止"),
    "answerer": ("Answered by", "由谁回答"),
    "quotes": ("exact quotes, no language model", "逐字引文,不用语言模型"),
    "local": ("a small language model on this machine", "本机上的小语言模型"),
    "max_papers": ("Papers in one answer at most", "一个答案最多用几篇论文"),
    "unsupported": ("Sentences of a model that the abstracts do not support", "模型写的、摘要不支持的句子"),
    "drop": ("leave out", "略去"),
    "show": ("show struck and labelled", "划掉并标明"),
    "language": ("Language of this page", "界面语言"),
    "dark": ("Dark", "深色"),
    "light": ("Light", "浅色"),
    "collection": ("Collection", "集合"),
    "new": ("New conversation", "新对话"),
    "conversations": ("Conversations", "对话列表"),
    "unnamed": ("Nothing asked yet", "还没有提问"),
    "rename": ("Rename", "改名"),
    "delete": ("Delete", "删除"),
    "delete_sure": ("Delete this conversation from this browser?", "从这个浏览器里删除这段对话?"),
    "name_it": ("A name for this conversation", "给这段对话起个名字"),
    "kept": ("Kept in this browser only.", "只保存在这个浏览器里。"),
    "full": (
        "This browser's room is full: the {dropped} oldest conversations were not kept.",
        "浏览器空间已满:最旧的 {dropped} 段对话没有保存。",
    ),
    "busy": ("An answer is being written. Wait for its end, or press Stop.", "正在写一个答案。请等它写完,或按“停止”。"),
    "unanswered": ("This question was not answered yet. Ask it again.", "这个问题还没有得到回答。请再问一次。"),
    "cuts_one": ("Sending replaces this and the turn after it.", "发送后,这一问和它后面的一问都会被替换。"),
    "cuts": ("Sending replaces this and the {count} turns after it.", "发送后,这一问和它后面的 {count} 问都会被替换。"),
    "reading": ("Reading the abstracts…", "正在读摘要……"),
    "writing": ("The model is writing; this is not verified yet.", "模型正在写;以下尚未核实。"),
    "answered": ("Answered", "已回答"),
    "not_found": ("Not in this collection", "集合里没有"),
    "silent": ("The abstract does not say", "摘要没有说明"),
    "premise": ("The question assumes something that an abstract contradicts", "问题的前提与摘要相矛盾"),
    "invalid": ("Nothing to search for", "没有可查的内容"),
    "stop_mark": (".", "。"),
    "nearest": ("The nearest papers", "最接近的论文"),
    "found": ("How it was found", "怎样找到的"),
    "searched": ("Searched for", "实际查找的问题"),
    "again": ("Search again", "重新查找"),
    "considered": ("Papers considered, with the probability that each is meant", "考虑过的论文,以及各自就是所问论文的概率"),
    "written_by": ("Written by", "作者"),
    "seconds": ("Seconds", "秒"),
    "stage_plan": ("plan", "计划"),
    "stage_encode": ("encode", "编码"),
    "stage_search": ("search", "检索"),
    "stage_answer": ("answer", "作答"),
    "silent_lead": ("The paper itself may. Nearest is:", "论文正文也许有。最接近的句子是:"),
    "premise_lead": ("The abstract says:", "摘要说:"),
    "nearest_lead": ("Name a method, a task or a number that the abstract would mention.", "请写出摘要里会提到的方法、任务或数字。"),
    "retry": ("Ask again", "再问一次"),
    "edit": ("Edit the question", "修改问题"),
    "send": ("Send", "发送"),
    "cancel": ("Cancel", "取消"),
    "copy": ("Copy with citations", "连同引文复制"),
    "copied": ("Copied", "已复制"),
    "markdown": ("Markdown", "Markdown"),
    "bibtex": ("BibTeX", "BibTeX"),
    "export": ("Export the conversation", "导出对话"),
    "nothing_to_export": ("Nothing was asked in this conversation yet, so there is nothing to export.", "这段对话里还没有提过问题,没有可导出的内容。"),
    "clear": ("Clear", "清空"),
    "good": ("Good answer", "回答得好"),
    "bad": ("Bad answer", "回答得不好"),
    "reason": ("What was wrong?", "哪里不对?"),
    "expected": ("Which paper should it have been? (if you know)", "应该是哪篇论文?(如果知道)"),
    "feedback_note": ("Feedback is kept by whoever runs this page.", "反馈由本页的运营者保存。"),
    "thanks": ("Noted, thank you", "已记下,谢谢"),
    "evidence": ("Evidence", "依据"),
    "evidence_hint": (
        "Choose a marker like [1] in an answer, and the abstract it rests on opens here.",
        "在答案里选一个 [1] 这样的标记,它所依据的摘要就在这里打开。",
    ),
    "close": ("Close", "关闭"),
    "whole": ("The abstract it rests on", "所依据的摘要"),
    "source": ("Source", "出处"),
    "show_source": ("show in the abstract", "在摘要中显示"),
    "open_paper": ("Open the paper's page", "打开论文页"),
    "unsupported_label": ("not supported by the abstracts", "摘要不支持"),
    "fault": (
        "This question met a fault of AskAbstracts, not of yours. Ask it in other words, and please report it.",
        "这是程序的错误,不是你的。请换个说法再问,并请报告。",
    ),
    "more": ("Show all", "全部显示"),
    "less": ("Show less", "收起"),
    "examples": ("For example", "例如(摘要是英文的,问题里请带上英文名称)"),
    "map_none": ("There are no papers to map yet.", "还没有可绘制的论文。"),
    "map_name": ("Map of {papers} papers in {topics} topics", "{papers} 篇论文、{topics} 个主题的地图"),
    "map_legend": ("Topics, with their numbers of papers", "主题及其论文数"),
    "map_in_answer": ("in the last answer", "上一个答案用到"),
    "map_papers": ("papers", "篇论文"),
    "map_made": (
        "Made from the abstracts alone: papers of like content stand near each other, topics are groups found by their content, and each is named "
        "by words that its abstracts use more than others. Distance is only a hint: two papers far apart may still be related.",
        "只根据摘要绘制:内容相近的论文彼此靠近;主题是按内容找出的组,以其摘要比别的摘要用得更多的词命名。距离只是提示:相隔很远的两篇论文仍可能有关。",
    ),
    "map_one_ringed": ("The ringed paper is from the last answer.", "带圈的论文出自上一个答案。"),
    "map_ringed": ("The {count} ringed papers are from the last answer.", "带圈的 {count} 篇论文出自上一个答案。"),
    "map_dots": ("With {papers} papers, each is a dot without a link.", "共 {papers} 篇论文,每篇是一个没有链接的点。"),
    "map_dots_ringed": (
        "With {papers} papers, each is a dot without a link; the ringed ones are links.",
        "共 {papers} 篇论文,每篇是一个没有链接的点;带圈的是链接。",
    ),
    "map_empty": ("The map is drawn when this tab is first opened.", "第一次打开此页时绘制地图。"),
}  # fmt: skip

_TEXTS = _OWN | PAPERS_TEXTS | UPLOAD_TEXTS

I18N = gr.I18n(
    en={f"aa_{key}": english for key, (english, _) in _TEXTS.items()},
    **{"zh-CN": {f"aa_{key}": chinese for key, (_, chinese) in _TEXTS.items()}},
)


def label(key: str) -> Any:
    """A text that the browser shows in its own language; for labels of components."""
    return I18N(f"aa_{key}")


def say(key: str, language: Language = "en", **values: object) -> str:
    """A text in the given language, for HTML made here."""
    english, chinese = _TEXTS[key]
    return (chinese if language == "zh" else english).format(**values)


def language_of(tag: object) -> Language:
    """The page's language for a browser's language tag; English for any that is not Chinese."""
    return "zh" if isinstance(tag, str) and tag.lower().startswith("zh") else "en"
