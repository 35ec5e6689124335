import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.citations import QuotedPaper, quoting_answer
from rag.papers import Paper
from rag.questions import LONGEST_QUESTION, fault, read_question, standalone
from rag.text import Span


def answer_quoting(*titles: str) -> str:
    papers = [Paper(id=title, title=title, abstract="A quote.") for title in titles]
    return quoting_answer([QuotedPaper(paper, [Span(0, 8)]) for paper in papers])[0]


# --- faults -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("", "empty", id="nothing"),
        pytest.param(" \t\n\u00a0", "empty", id="spaces"),
        pytest.param("\u200b\u200d\ufeff\u2060", "empty", id="zero width"),
        pytest.param("\u00ad\u202e", "empty", id="invisible"),
        pytest.param("?", "no word", id="question mark"),
        pytest.param("...!?,;-", "no word", id="punctuation"),
        pytest.param("。？！", "no word", id="Chinese punctuation"),
        pytest.param("$$ ** [] <> \\", "no word", id="markup"),
        pytest.param("😀🤖👩\u200d🔬", "no word", id="emoji"),
        pytest.param("\x00\x07", "is empty", id="control characters"),
        pytest.param("a", "no word to search for", id="one letter"),
        pytest.param("x?", "no word to search for", id="one letter asked"),
        pytest.param("7", "no word to search for", id="one digit"),
        pytest.param("x y z", "no word to search for", id="single letters"),
        pytest.param("what is the", "no word to search for", id="stop words"),
        pytest.param("Could you please explain that to me?", "no word to search for", id="polite stop words"),
        pytest.param("why why why", "no word to search for", id="one stop word repeated"),
        pytest.param("graph graph graph", "repeats one word", id="one word repeated"),
        pytest.param("Graph GRAPH graph graph", "repeats one word", id="one word repeated in any case"),
        pytest.param("aaaaaaa", "repeats one letter", id="one letter repeated"),
        pytest.param("ZZZZ", "repeats one letter", id="one capital repeated"),
        pytest.param("graph, graph, graph!", "repeats one word", id="one word repeated with commas"),
    ],
)
def test_question_that_asks_nothing_is_explained(text: str, complaint: str) -> None:
    assert complaint in fault(read_question(text))


@pytest.mark.parametrize(
    "text",
    [
        "What is KIVI?",
        "KIVI",
        "kivi?",
        "CaM",
        "AI",
        "GPT-4",
        "图",
        "什么是KV缓存量化？",
        "¿Qué es la cuantización?",
        "Was ist ein Graph?",
        "graph clustering",
        "4-bit",
        "82.24%",
        "how much faster is it",
        "Why do LLMs hallucinate?",
        "the the the graph",
        "<script>alert(1)</script>",
        "'; DROP TABLE papers; --",
        "Explain $\\mathcal{O}(\\epsilon^{-3})$",
        "x" * 10 + " y" * 5000,
    ],
)
def test_real_question_has_no_fault(text: str) -> None:
    assert fault(read_question(text)) == ""


# --- reading ----------------------------------------------------------------------------------------------------------


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.text() | st.text(st.sampled_from("$\\{}[]()*_`.?\"'-×% \n\u200b\ue000\ue0011aX的")))
def test_any_text_can_be_read(text: str) -> None:
    question = read_question(text)
    assert question.text == text
    assert isinstance(fault(question), str)
    assert question.searched in standalone(text, [(text, answer_quoting("Zebra")), (text, text)])


def test_what_is_searched_can_be_encoded() -> None:
    assert read_question("KIVI \udcff?").searched.encode("utf-8")


def test_searched_text_is_spelled_one_way_and_bounded() -> None:
    assert read_question(" What  is “$\\texttt{ZPDVR}$”? ").searched == 'What is "ZPDVR"?'
    assert len(read_question("graphs " * 10_000).searched) <= LONGEST_QUESTION


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("What is KIVI?", ("KIVI",)),
        ("how does LSEnet work", ("LSEnet",)),
        ("Does a 4-bit model help Llama?", ("4-bit", "Llama")),
        ("Graphs in general", ()),
        ("WHAT DOES KIVI DO", ()),
        ("is it fast", ()),
    ],
)
def test_names_are_words_written_like_names(text: str, names: tuple[str, ...]) -> None:
    assert read_question(text).names == names


@pytest.mark.parametrize(
    ("text", "cue"),
    [
        ("How many datasets are there?", "number"),
        ("What is KIVI?", "about"),
        ("Is the code available?", "code"),
        ("Which benchmarks are used?", "data"),
        ("Does it outperform CLIP?", "result"),
        ("Why do GANs fail?", "reason"),
    ],
)
def test_cues_tell_what_kind_of_sentence_is_asked_for(text: str, cue: str) -> None:
    assert cue in read_question(text).cues


# --- questions that point back ----------------------------------------------------------------------------------------

KIVI = [("Which method quantizes the cache?", answer_quoting("KIVI", "Zebra"))]


@pytest.mark.parametrize(
    "text",
    [
        "how fast is it?",
        "Is its code available anywhere on the web?",
        "What does the paper say about larger batch sizes?",
        "the second one?",
        "code?",
        "And the accuracy on long sequences of tokens?",
        "what about larger batch sizes in practice",
    ],
)
def test_question_that_points_back_is_led_by_the_paper_named_first(text: str) -> None:
    assert standalone(text, KIVI) == f"KIVI: {text}"


def test_name_in_a_question_that_points_back_does_not_hide_what_it_points_to() -> None:
    assert standalone("and on ImageNet?", KIVI) == "KIVI: and on ImageNet?"


@pytest.mark.parametrize(
    "text", ["Which papers study clustering of large graphs?", "What is MathScale?", "How does TURTLE label data?"]
)
def test_question_of_its_own_is_left_alone(text: str) -> None:
    assert standalone(text, KIVI) == text


@pytest.mark.parametrize("text", ["", "???", "what is the", "aaaaaaa"])
def test_faulty_question_is_left_alone(text: str) -> None:
    assert standalone(text, KIVI) == text


def test_first_question_is_left_alone() -> None:
    assert standalone(" how fast  is it? ", []) == "how fast is it?"


def test_last_answer_counts_not_an_earlier_one() -> None:
    history = [*KIVI, ("What is Zebra?", answer_quoting("Zebra"))]
    assert standalone("how fast is it?", history) == "Zebra: how fast is it?"


def test_without_a_named_paper_the_last_question_of_its_own_leads() -> None:
    history = [("Which papers study graph clustering methods?", "Nothing found."), ("and how fast is that?", "Nothing found.")]
    assert standalone("is it new?", history) == "Which papers study graph clustering methods? is it new?"


def test_history_that_only_points_back_leads_with_its_last_question() -> None:
    assert standalone("is it new?", [("how fast is it?", "Nothing found.")]) == "how fast is it? is it new?"


@pytest.mark.parametrize(
    "title",
    [
        "MM-Vet",
        "Cache Merging (CaM)",
        "A*B **C** [1] $x$",
        "C++ & <b>",
        pytest.param("llm_uncertainty"),
    ],
)
def test_leading_title_is_shown_as_it_was(title: str) -> None:
    assert standalone("how fast is it?", [("?", answer_quoting(title))]) == f"{title}: how fast is it?"


def test_bold_text_inside_a_quote_leads_nothing() -> None:
    paper = Paper(id="1", title="Zebra", abstract="**Okapi** [1] wins.")
    text, _ = quoting_answer([QuotedPaper(paper, [Span(0, 19)])])
    assert standalone("how fast is it?", [("?", text)]) == "Zebra: how fast is it?"
