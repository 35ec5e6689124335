import re
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.papers import Paper, read_collection
from rag.text import searchable
from rag.titles import LONGEST_TITLE, derived_title, made_unique
from tests.conftest import HERON, SEEDS

# Title, and words that only its abstract holds.
NAMED = [
    ("Reconstruction granularity", "Post-Training Quantization (PTQ)"),
    ("Multi-scale structural self-dissimilarity (MS3D)", "physics.We observe"),
    ("LLM-Modulo Frameworks", "a vision of LLM-Modulo"),
    ("Tandem transformers", "PaLM2-Bison"),
    ("Diff history", "On NetHack"),
    ("EvTexture", "Event-based vision"),
    ("Finite smoothing algorithm (FSA)", "hdsvm"),
    ("TURTLE", "We present TURTLE"),
    ("INSTruction optimization usIng Neural bandits Coupled with Transformers (INSTINCT)", "(INSTINCT)"),
    ("MMT-Bench", "we present MMT-Bench"),
    ("Cache Merging (CaM)", "This paper introduces Cache Merging"),
    ("KIVI", "algorithm, named KIVI"),
    ("Parallelizable Spatiotemporal Binder (PSB)", "Binder or PSB"),
    ("MathScale", "MathScaleQA"),
    ("MM-Vet", "We propose MM-Vet"),
    ("Weighted visual-text cross alignment (WCA)", "(WCA)"),
    ("Multi-scale feature transfer network (MFTN)", "(MFTN)"),
    ("Visual Generative Pre-Training Score (VisualGPTScore)", "(VisualGPTScore)"),
    ("LLark", "We present LLark"),
    ("MMPareto algorithm", "propose MMPareto"),
    ("ImplicitBench", "a benchmark named ImplicitBench"),
    ("Text-driven Knowledge Integration (TKI)", "(TKI)"),
    ("Logit-scaling GFlowNets (Logit-GFN)", "*Logit-scaling GFlowNets*"),
    ("QuRating", "We introduce QuRating"),
    ("AVTrack", "we introduce AVTrack"),
    ("StrokeNUWA", "we introduce StrokeNUWA"),
    ("Plan Like a Graph (PLaG)", "(PLaG)"),
    ("AutoActivator", "We name our model AutoActivator"),
    ("Embodied AI (E-AI)", "We propose Embodied AI"),
    ("Momentor", "we propose Momentor"),
    ("Positive concave deep equilibrium (pcDEQ)", "(pcDEQ)"),
    ("Slot Abstractors", "propose Slot Abstractors"),
    ("Low-rank Quantization Error Reduction (LQER)", "(LQER)"),
    ("MLLM-as-a-Judge", "termed MLLM-as-a-Judge"),
    ("Collapse-Aware TRIplet DEcoupling (CA-TRIDE)", "(**CA-TRIDE**)"),
    ("AIM", "This paper introduces AIM"),
    ("DiPmark", "our proposed DiPmark"),
    ("Input clarification ensembling", "called input clarification ensembling"),
    ("LeanEuclid", "We construct LeanEuclid"),
    ("Lookahead decoding", "we introduce Lookahead decoding"),
    ("Uncertainty-aware Reward Model (URM)", "(URM)"),
    ("FORGrad", 'called "FORGrad"'),
    ("BASED", "We propose BASED"),
    ("Zeroth-order Proximal Double Variance Reduction (ZPDVR)", "ZPDVR"),
    ("SteerFair", "Our approach, SteerFair"),
    ("Robust inverse graphics (RIG)", "dubbed robust inverse graphics"),
    ("Copyright traps", "We here propose to use copyright traps"),
    ("Differentiable structural information (DSI)", "LSEnet"),
    ("Disparity Feature Distillation (DFD)", "Distillation(DFD)"),
    ("Gradient-guided nested sampling (GGNS)", "(GGNS)"),
    ("Transformer in Transformer (TINT)", "TINT"),
    ("Bifurcated attention", "we present bifurcated attention"),
    ("Label shift correction (LSC)", "(LSC)"),
    ("Total Variation Floodgate", "We name our method Total Variation Floodgate"),
]
UNNAMED = [
    ("Theory based on generalization bounds", "causal machine learning"),
    ("Encoding images into morph-tokens to serve a dual purpose", "morph-tokens"),
    ("Second-order behavior of continuously differentiable deep neural networks", "curvature constant"),
    ("Needs-aware image generation", "propose needs-aware image generation"),
    ("Structured critique of robotic simulations for real-world manipulation", "scaling simulators"),
    ("Systematic approach to construct guardrails for LLMs", "Llama Guard"),
    ("s-rectangular robust Markov decision processes (MDPs)", "sa-rectangular"),
]


@pytest.fixture(scope="module")
def papers() -> Sequence[Paper]:
    return read_collection([str(SEEDS)]).papers


def only_paper_with(words: str, papers: Sequence[Paper]) -> Paper:
    (paper,) = (paper for paper in papers if words in paper.abstract)
    return paper


@pytest.mark.parametrize(("title", "words"), NAMED, ids=[title for title, _ in NAMED])
def test_paper_is_called_by_the_name_it_introduces(title: str, words: str, papers: Sequence[Paper]) -> None:
    assert only_paper_with(words, papers).title == title


@pytest.mark.parametrize(("title", "words"), UNNAMED, ids=[title for title, _ in UNNAMED])
def test_paper_without_a_name_is_called_by_what_it_does(title: str, words: str, papers: Sequence[Paper]) -> None:
    assert only_paper_with(words, papers).title == title


def test_every_word_of_a_title_stands_in_its_abstract(papers: Sequence[Paper]) -> None:
    foreign = [
        (word, paper.title)
        for paper in papers
        for word in re.findall(r"[\w-]+", paper.title)
        if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", searchable(paper.abstract), re.IGNORECASE)
    ]
    assert foreign == []


def test_title_quotes_a_running_text_up_to_its_acronym(papers: Sequence[Paper]) -> None:
    phrases = {paper.title: re.sub(r" \([\w-]+\)$|…$", "", paper.title).casefold() for paper in papers}
    assert [p.title for p in papers if phrases[p.title] not in searchable(p.abstract).casefold()] == []


@pytest.mark.parametrize(
    ("abstract", "title"),
    [
        ("Graphs are hard. We introduce Zebra, a method that paints stripes.", "Zebra"),
        ("We propose a method called **Zebra**. It paints.", "Zebra"),
        ("We present a fast striped painter (FSP) for graphs.", "Fast striped painter (FSP)"),
        ("We present $\\texttt{ZPDVR}$, a method.", "ZPDVR"),
        ("We propose large language models (LLMs) for bees.", "Large language models (LLMs) for bees"),
        (HERON, "Patience of herons with a Bayesian model of waiting time"),
        ("Bees fly.", "Bees fly"),
        ("x", "x"),
        pytest.param("Bees fly .", "Bees fly"),
    ],
    ids=["introduced", "called", "acronym", "TeX", "too general", "studied", "no verb", "letter", "space before the stop"],
)
def test_title_of_a_small_abstract(abstract: str, title: str) -> None:
    assert derived_title(abstract) == title


def test_long_title_ends_between_words() -> None:
    title = derived_title("Bees " + "and wasps " * 20)
    assert title.endswith(" wasps…") or title.endswith(" and…")
    assert len(title) <= LONGEST_TITLE


FRAGMENTS = st.sampled_from(
    ["We propose ", "called ", "ABC ", "(AB) ", "Zebra", ", a ", "in this paper ", ". ", "**", "$x$ ", "our method, "]
)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(FRAGMENTS | st.text(max_size=6), max_size=20).map("".join))
def test_any_abstract_with_a_letter_has_a_short_title(abstract: str) -> None:
    title = derived_title(abstract)
    assert len(title) <= LONGEST_TITLE
    assert title or not re.search(r"[a-zA-Z]", abstract)


def test_repeated_titles_are_numbered_whatever_their_case() -> None:
    assert made_unique(["Zebra", "Okapi", "zebra", "Zebra"]) == ["Zebra", "Okapi", "zebra (2)", "Zebra (3)"]


def test_number_does_not_collide_with_a_title() -> None:
    assert made_unique(["Zebra", "Zebra (2)", "Zebra"]) == ["Zebra", "Zebra (2)", "Zebra (3)"]


def test_number_finds_room_in_a_long_title() -> None:
    titles = made_unique(["bee " * 22 + "ee"] * 12)
    assert len(set(titles)) == 12
    assert max(len(title) for title in titles) <= LONGEST_TITLE
    assert titles[-1].endswith("… (12)")


def test_two_verbs_share_one_object() -> None:
    assert derived_title("Bees are old. We study and question the dances of wild bees. They differ.") == "Dances of wild bees"
