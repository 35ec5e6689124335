import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.questions import LONGEST_QUESTION, fault, is_courtesy, read_question

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


@pytest.mark.parametrize(
    "text", ["thanks!", "Thank you very much", "ok, great", "Hello!", "Great, thank you very much, that was all I wanted to know"]
)
def test_courtesy_asks_nothing(text: str) -> None:
    assert is_courtesy(text)


@pytest.mark.parametrize("text", ["", "why?", "thanks, and on ImageNet?", "is it fast", "ok so how fast is it?", "the help"])
def test_a_question_is_no_courtesy(text: str) -> None:
    assert not is_courtesy(text)
