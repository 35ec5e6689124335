from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag.papers import read_collection
from rag.text import Span, clean_url, content_key, links, searchable, sentence_spans
from tests.conftest import SEEDS

# Snippets of the seeds; ¦ stands before every sentence but the first.
SENTENCES = {
    "dots in brackets": "(language, model size, training time, ...). ¦Theoretically, this is surprising: from an information-theoretic",
    "year in brackets": "a question first raised in (Shannon, 1951). ¦For large enough models, we empirically find a time asymmetry",
    "bold stop": "**the severe impact of outliers on the accuracy of quantized transformer architectures.** ¦Specifically, we introduce",
    "TeX single quotes": "the concept of `reconstruction granularity' as a novel solution to this issue, which has been overlooked in previous works. ¦Our",
    "maths percent": r"accuracy of $82.24\%$ on the ImageNet classification task. ¦This result surpasses the RepQ-ViT by $3.92\%$",
    "bracketed maths percents": r"by $3.64\%$ ($80.50\%$ VS $76.86\%$). ¦Codes are available in Supplementary Materials.",
    "stop after a percent in brackets": r"by $3.92\%$ ($82.24\%$ VS $78.32\%$). ¦Similarly, our approach elevates",
    "colon and semicolons": "objective: for comprehension, an MLLM needs to abstract the visuals; for generation, it needs to preserve the visuals",
    "URL and stop": "for multimodal comprehension and generation simultaneously. ¦Our project is available at https://github.com/DCDmllm/MorphTokens.",
    "glued": "the idea of renormalization group (RG) in physics.¦We observe that in the limited data setting",
    "bold initials": "introduce a **m**ulti-**s**cale **s**tructural **s**elf-**d**issimilarity (MS$^3$D) regularization, which constrains",
    "et al. and year": "While speculative (Leviathan et al., 2023) and parallel (Stern et al., 2018) decoding techniques attempt to mitigate this",
    "two numbers enumerated": "combines (1) a small autoregressive model and (2) a large model operating in block mode (processing multiple tokens"
    " simultaneously). ¦The small model's",
    "factor 1.16x": "a 3.3% improvement in next-token prediction accuracy over a standalone PaLM2-Gecko, offering a 1.16x speedup compared to",
    "factor 1.14x": "(around 1.14x faster than using vanilla PaLM2-Gecko in SPEED) while maintaining identical downstream task accuracy.",
    "URL of a bare host": "dataset sizes. ¦We open-source our code and data to https://diffhistory.github.io.",
    "TeX double quotes": "correlations—a phenomenon we term ``hallucination'' in model inversion. ¦To address these limitations",
    "lone macro": r"(up to $\times$3.79) while maintaining comparable or even enhanced downstream performance",
    "URL in capitals": "data-free knowledge transfer. ¦Code is available at https://github.com/Egg-Hu/SMI.",
    "set in maths": r"for $k \in \\{2, 4, 8, 16, 32, 64\\}$, we empirically show that these lower bounds are strong enough to be useful in practice. ¦Our",
    "equation": "across a production testbed with $k = 16$ pipeline stages, our MIP formulations raise the lower bound",
    "long decimals": "the lower bound from 0.4598 to 0.9452, expressed as a fraction of the best partition found. ¦In other words, our",
    "decimal before the stop": "close the optimality gap by a factor of 9.855x.",
    "decimal with a unit": "For the Vid4 dataset with rich textures, our method can get up to 4.67dB gain compared with recent event-based methods. ¦Code",
    "URL linked to itself": "methods. ¦Code: [https://github.com/DachunKai/EvTexture](https://github.com/DachunKai/EvTexture).",
    "colon and capitals": "its theoretical foundation: FSA can yield exact solutions, not just approximations, despite the smoothing approach. ¦Our",
    "e.g. in brackets": "optimizing highly sophisticated (e.g., high-dimensional) objective functions, such as the functions mapping",
    "i.e. in brackets": "(i.e., an open-source LLM), which significantly boosts its performance. ¦These motivate us",
    "e.g. amid a sentence": "in different tasks, e.g., various instruction induction tasks and the task of improving",
    "capitals inside words": "INSTruction optimization usIng Neural bandits Coupled with Transformers (INSTINCT) algorithm. ¦We perform",
    "thousands in maths": "comprises $31,325$ meticulously curated multi-choice visual questions",
    "factors in maths": r"batch size, bringing $2.35 \times \sim 3.47 \times$ throughput on real LLM inference workload.",
    "factor half in maths": r"while using 2.6$\times$ less peak memory usage (including the model weight). ¦This reduction",
    "i.e. after a comma": "quantized per-channel, i.e., group elements along the channel dimension and quantize them together. ¦In contrast,",
    "number inside a name": "using frontier LLMs (e.g., GPT-3.5). ¦Inspired by the cognitive mechanism",
    "hyphen and digit in e.g.": "open-source LLMs (e.g., LLaMA-2 and Mistral), resulting in significantly improved capabilities",
    "percents": "by 42.8% in micro average accuracy and 43.6% in macro average accuracy, respectively.",
    "three questions enumerated": "Problems include: (1) How to systematically structure and evaluate the complicated multimodal tasks; (2) How to design"
    " evaluation metrics that work well across question and answer types; and (3) How to give model insights beyond a simple"
    " performance ranking. ¦To this end",
    "enumeration over two sentences": "show that (1) T2I models are able to accurately create various target symbols indicated by implicit"
    " prompts; (2) Implicit prompts bring potential risks of privacy leakage for T2I models. ¦(3) Constraints of NSFW",
    "emphasis and e.g.": "a pre-trained *vision-language model* (VLM), e.g., CLIP, to align a whole query image",
    "emphasised name": "a method called *weighted visual-text cross alignment* (WCA). ¦This method begins with a *localized visual prompting*",
    "broken hyphenation": "better performance compared to state- of-the-art (SOTA) methods.",
    "broken word": "revealing the cluster struc- ture. ¦DSI is also theoretically presented",
    "text in maths": r"We study $\textit{generative VLMs}$ that are trained for next-word generation given an image. ¦We explore",
    "straight quotes": 'we demonstrate that even a "blind" language model that ignores any image evidence can sometimes outperform',
    "e.g. without comma": "in each pixel, e.g. RGB values, instead of a discrete grid. ¦This has recently proven",
    "e.g. before a clause": "application-specific constraints, e.g. when occlusions prevent a faithful segmentation with classical approaches.",
    "bold word": "allows to **provably** ensure such constraints. ¦Several numerical examples",
    "underscores": "The _distributional simplicity bias_ (DSB) posits that neural networks learn low-order moments",
    "letter in maths": "equivalence between token $n$-gram frequencies and the moments of embedding vectors",
    "two URLs": "examples are at https://bit.ly/llark, and our source code is available at https://github.com/spotify-research/llark.",
    "URL with underscores": "The source code and dataset are available at https://github.com/GeWu-Lab/MMPareto_ICML2024.",
    "thousands": "more than 2,000 implicit prompts of three aspects: General Symbols, Celebrity Privacy, and Not-Safe-For-Work (NSFW) Issues",
    "mixed quotes": 'to implement an ``aggregation after expansion" training strategy. ¦Specifically, we extract',
    "no stop after a URL": "chemical tasks. ¦Our code is available at https://github.com/dbsxodud-11/logit-gfn",
    "dashes and ampersand": "investigate four qualities - writing style, required expertise, facts & trivia, and educational value - and find",
    "model size": "train 1.3B-parameter language models on the selected data. ¦We find that it is important to balance quality and diversity. ¦When",
    "years in brackets": "(PCM) of Andrich (1978) and Masters (1982) is a fundamental model",
    "year before the stop": "the Floodgate method of Zhang & Janson (2020). ¦The algorithms we introduce",
    "curly apostrophe": "disrupting the model’s ability to capture the true semantic representation of visual scenes. ¦This paper posits",
    "percent before the stop": r"up to a $94\times$ speedup in inference over the speed of prior methods with an exceptional SVG code"
    " compression ratio of 6.9%.",
    "question": "Can large language models (LLMs) succeed at this task? ¦Here, we present the first large-scale study",
    "question of one line": "What is preventing us from achieving this? ¦Sim-to-real reinforcement learning (RL)",
    "question with a list": "in the presence of corruptions like rain, snow or fog? ¦Straightforward domain randomization",
    "emphasised title": "called *Plan Like a Graph* (PLaG) that combines graphs with natural language prompts",
    "bold numbers": "of **three (3) leading LLMs** using **five (5) SoTA compression techniques** across **eight (8) trustworthiness"
    " dimensions**. ¦Our experiments",
    "number of bits": "very low bit levels (3 bits) tends to reduce trustworthiness significantly. ¦This increased risk",
    "factor in maths, spaced": r"using $1.36 \times$ fewer hardware resources than the leading state-of-the-art method. ¦We will",
    "no stop after a link": "at [https://github.com/ChengZhang-98/lqer](https://github.com/ChengZhang-98/lqer)",
    "URL ending in a slash": "at our project homepage: https://mllm-judge.github.io/.",
    "bold in brackets": "proposing **C**ollapse-**A**ware **TRI**plet **DE**coupling (**CA-TRIDE**). ¦Specifically, TRIDE",
    "emphasised sentence": "and new metrics. ¦*Codes are available at https://github.com/michaeltian108/CA-TRIDE.*",
    "i.e. before capitals": "counterparts, i.e., Large Language Models (LLMs), and exhibit similar scaling properties. ¦Specifically",
    "enumeration with commas": "(1) the performance of the visual features scale with both the model capacity and the quantity of data, (2) the value of",
    "data set and digit": "achieves 84.0% on ImageNet-1k with a frozen trunk. ¦Interestingly, even at this scale",
    "underscore in the last word": "Code and data are available at https://github.com/UCSB-NLP-Chang/llm_uncertainty.",
    "emphasised names and years": "ChatGPT: *ICLR* 2024, *NeurIPS* 2023, *CoRL* 2023 and *EMNLP* 2023. ¦Our results suggest that between 6.5% and 16.9%",
    "i.e. without comma": "by LLMs, i.e. beyond spell-checking or minor writing updates. ¦The circumstances",
    "TeX and straight quote": 'known as ``white-box" methods. ¦Although highly efficient',
    "quoted name": 'a new approach called "FORGrad". ¦This simple method',
    "e.g. before a verb": "language model efficiency (e.g. by reducing memory consumption) without compromising on recall. ¦By applying",
    "e.g. before names": "alternatives to attention (e.g. H3, Mamba, RWKV) maintain a fixed-size recurrent state",
    "decimal half in maths": "up to $1.3$b parameters and show that BASED matches the strongest sub-quadratic models (e.g. Mamba) in perplexity",
    "decimal points": "recall-intensive tasks by 10.36 accuracy points. ¦We further develop",
    "times sign": "enable BASED to provide 24× higher throughput on language generation",
    "complexity in maths": r"could be as slow as $\mathcal{O}(1/\log(n))$, where $n$ denotes the sample size. ¦To address",
    "powers in maths": r"the sample complexity $\mathcal{O}(\epsilon^{-7}\ln\epsilon^{-1})$. ¦In the meantime",
    "typed dashes in brackets": "existing adaptive learning algorithms -- such as UCB or Thompson sampling -- infeasible). ¦Experiments",
    "typed long dashes": "a Bayesian approach---dubbed robust inverse graphics (RIG)---that relies on a strong scene prior",
    "maths with a possessive": r"Empirical results validate $\texttt{ZPDVR}$'s linear convergence and demonstrate",
    "typed double quotes": "refer to as ''generalized state space models'' (GSSMs). ¦In this paper we show",
    "e.g. before the stop": "(e.g., unnatural images or physically impossible molecules). ¦In this work, we propose",
    "i.e. before a list": "shaping the training environment, i.e., designing observations, actions, rewards and simulation dynamics. ¦Most",
    "URL in brackets": "Code is released on Github (https://github.com/ShiyinTan/CI-GCL.git).",
    "e.g. and a size": "that do not naturally memorize, e.g. medium-size 1B models. ¦We here propose",
    "number in brackets": "repeated a significant number of times (100) are not detectable using existing methods. ¦However",
    "decimal in an equation": "can be reliably detected (AUC=0.75) and used as copyright traps. ¦Beyond",
    "name glued to brackets": "called Disparity Feature Distillation(DFD). ¦The core idea behind DFD",
    "list of percents": "from 37.4%, 38.4%, 38.6% to 41.7%, 42.4%, 42.7%, respectively. ¦Our approach",
    "minus sign": "improves performance by 4 − 16% absolute on average compared to OPT-125M. ¦These findings",
    "in short": "Transformer in Transformer (in short, TINT), that allows a transformer to simulate",
    "contraction": "why scaling simulation doesn't get us closer to solving these challenges required for diverse real-world deployment.",
}  # fmt: skip


def cut(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentence_spans(text)]


@pytest.fixture(scope="module")
def abstracts() -> list[str]:
    return [paper.abstract for paper in read_collection([str(SEEDS)]).papers]


# --- sentences ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("marked", SENTENCES.values(), ids=SENTENCES.keys())
def test_seed_snippet_is_cut_at_its_sentences_only(marked: str) -> None:
    assert cut(marked.replace("¦", "")) == [sentence.strip() for sentence in marked.split("¦")]


def test_at_least_sixty_snippets_each_stand_in_a_seed(abstracts: list[str]) -> None:
    snippets = [marked.replace("¦", "") for marked in SENTENCES.values()]
    assert len(set(snippets)) >= 60
    assert [snippet for snippet in snippets if not any(snippet in abstract for abstract in abstracts)] == []


def test_seed_sentences_begin_and_end_like_sentences(abstracts: list[str]) -> None:
    for abstract in abstracts:
        sentences = cut(abstract)
        assert [one for one in sentences if not one.lstrip("*(")[0].isupper() and not one.startswith("(3)")] == []
        assert [one for one in sentences[:-1] if not one.endswith((".", "?", ".**"))] == []


def test_seeds_hold_631_sentences(abstracts: list[str]) -> None:
    assert sum(len(cut(abstract)) for abstract in abstracts) == 631  # each was read when this number was set


@pytest.mark.parametrize(
    "marked",
    [
        pytest.param("Is it so? ¦No. ¦We prove it.", id="short answer"),
        pytest.param("We beat Smith et al. (2023). ¦We win.", id="et al. before a year"),
        pytest.param("See Fig. 2 and Eq. (3). ¦We win.", id="figure and equation"),
        pytest.param("We use GPT-4. ¦10 runs suffice.", id="digit begins a sentence"),
        pytest.param("He said “stop.” ¦We went.", id="curly quotes after the stop"),
        pytest.param("He said ``stop.'' ¦We went.", id="TeX quotes after the stop"),
        pytest.param("We win!! ¦Then what?! ¦We lose.", id="repeated marks"),
        pytest.param("A first\nline. ¦A second.\n\n¦A third.", id="line breaks"),
        pytest.param("这是第一句。¦这是第二句。", id="Chinese"),
        pytest.param("We use cats, dogs, etc. to win. ¦We win.", id="etc. amid a sentence"),
        pytest.param("We beat Smith et al. ¦We also win.", id="et al. ends"),
        pytest.param("We use cats, dogs, etc. ¦We win.", id="etc. ends"),
        pytest.param("(We did it.) ¦Then we left.", id="sentence in brackets"),
        pytest.param("We call `run.` ¦Then we wait.", id="code"),
    ],
)
def test_sentences_unlike_the_seeds(marked: str) -> None:
    assert cut(marked.replace("¦", "")) == [sentence.strip() for sentence in marked.split("¦")]


FRAGMENTS = st.sampled_from(
    [
        "e.g. ",
        "et al. ",
        "$x.y$",
        "https://a.b/c. ",
        "(1) ",
        "**Bold.** ",
        "``q.'' ",
        "[https://a.b](https://a.b).",
        "...",
        "1.5x ",
        ". We ",
    ]
)
TEXTS = st.lists(FRAGMENTS | st.text(max_size=6), max_size=25).map("".join) | st.text()


@settings(max_examples=200, deadline=None, derandomize=True)
@given(TEXTS)
def test_spans_are_ordered_trimmed_and_cover_every_visible_character(text: str) -> None:
    spans = sentence_spans(text)
    assert all(text[span.start : span.end].strip() == text[span.start : span.end] != "" for span in spans)
    edges = [Span(0, 0), *spans, Span(len(text), len(text))]
    assert all(left.end <= right.start and not text[left.end : right.start].strip() for left, right in pairwise(edges))


# --- searchable form ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "spelled"),
    [
        pytest.param("MS$^3$D|MS³D|MS3D", "MS3D", id="power in a name"),
        pytest.param("4-bit|$4$-bit|4‑bit|4–bit|4−bit", "4-bit", id="4-bit"),
        pytest.param(r"82.24%|82.24\%|$82.24\%$|82.24 %|$82.24$%", "82.24%", id="percent"),
        pytest.param(r"2.6x|2.6×|2.6 ×|2.6 x|2.6X|×2.6|$2.6\times$|2.6$\times$|$\times$2.6|$\times 2.6$", "2.6x", id="factor"),
        pytest.param("2.6 times faster|2.6x faster|2.6× faster", "2.6x faster", id="times faster"),
        pytest.param(r"$2.35 \times \sim 3.47 \times$|2.35x ~ 3.47x", "2.35x ~ 3.47x", id="range of factors"),
        pytest.param("multi-scale|multi‑scale|multi–scale|**m**ulti-**s**cale|*multi-scale*", "multi-scale", id="multi-scale"),
        pytest.param("structure|struc- ture|struc\u00adture", "structure", id="broken word"),
        pytest.param("state-of-the-art|state- of-the-art", "state-of-the-art", id="broken compound"),
        pytest.param("pre- and post-processing", "pre- and post-processing", id="shared ending"),
        pytest.param("a-b|a–b|a—b|a---b|a--b", "a-b", id="dashes"),
        pytest.param("\"q\"|“q”|„q“|«q»|``q''|``q\"|''q''", '"q"', id="double quotes"),
        pytest.param("'q'|‘q’|`q'|`q`", "'q'", id="single quotes"),
        pytest.param(r"ZPDVR|$\texttt{ZPDVR}$|**ZPDVR**|_ZPDVR_|$ZPDVR$", "ZPDVR", id="name in maths"),
        pytest.param(r"O(1/log(n))|$O(1/\log(n))$|$\mathcal{O}(1/\log(n))$", "O(1/log(n))", id="complexity"),
        pytest.param(r"$\frac{1}{2}$|1/2", "1/2", id="fraction"),
        pytest.param("fine|ﬁne", "fine", id="ligature"),
        pytest.param("é|e\u0301", "é", id="combining accent"),
        pytest.param("two words|two\u00a0words|two\n words\ufeff", "two words", id="spacing"),
        pytest.param("structure|struc-\nture|struc-  ture", "structure", id="line end"),
        pytest.param("two words|two\u2028words|two\u2029words", "two words", id="separators"),
        pytest.param("224x224|224×224|224 × 224|224 x 224", "224x224", id="sizes"),
        pytest.param(r"ZPDVR|\texttt{ZPDVR}|\textbf{ZPDVR}", "ZPDVR", id="macro in text"),
    ],
)
def test_every_way_of_typing_is_spelled_one_way(typed: str, spelled: str) -> None:
    assert {one: searchable(one) for one in typed.split("|")} == dict.fromkeys(typed.split("|"), spelled)


@pytest.mark.parametrize(
    "text", ["$5 and $6", "from $5 to $10", "it costs $5.", "x_i and y_i", "a * b * c", "snake_case_name", "3x3"]
)
def test_what_only_looks_like_markup_is_left_alone(text: str) -> None:
    assert searchable(text) == text


@pytest.mark.parametrize(
    "url", ["https://a.b/_c_d_", "https://a.b/llm_uncertainty", "https://a.b/~me/x--y", "https://a.b/a*b*c?d=2x%20"]
)
def test_url_survives_unchanged(url: str) -> None:
    assert clean_url(url) in searchable(f"_See_ *our* {url}, $x$ and _more_.").split()


@pytest.mark.parametrize("text", ["", "  ", "\u200b", "\n\t"])
def test_searchable_form_of_nothing_is_empty(text: str) -> None:
    assert searchable(text) == ""


@settings(max_examples=200, deadline=None, derandomize=True)
@given(TEXTS)
def test_searchable_form_of_any_text_is_one_trimmed_line(text: str) -> None:
    assert searchable(text) == " ".join(searchable(text).split())


def test_searchable_form_of_a_seed_is_its_own_searchable_form(abstracts: list[str]) -> None:
    once = [searchable(abstract) for abstract in abstracts]
    assert [searchable(text) for text in once] == once


def test_searchable_form_of_seeds_keeps_no_markup(abstracts: list[str]) -> None:
    leftovers = ["$", "\\", "**", "`", "”", "’", "—", "–"]
    assert [mark for abstract in abstracts for mark in leftovers if mark in searchable(abstract)] == []


# --- the form that recognises one abstract --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param("two words", "two\n  words\u00a0", id="spacing"),
        pytest.param("a—b", "a--b", id="dashes"),
        pytest.param("“q” and ‘r’", "``q'' and `r'", id="quotes"),
        pytest.param(r"$82.24\%$", "82.24%", id="percent"),
        pytest.param(r"2.6$\times$", "2.6×", id="times"),
        pytest.param(r"$\texttt{ZPDVR}$", "ZPDVR", id="font"),
        pytest.param(r"$\mathcal{O}(\epsilon)$", "O(ε)", id="Greek letter"),
        pytest.param("**bold** and _slanted_", "bold and slanted", id="Markdown"),
        pytest.param("MS$^3$D", "MS³D", id="power"),
        pytest.param("ﬁne", "fine", id="ligature"),
        pytest.param("soft\u00adhyphen", "softhyphen", id="soft hyphen"),
        pytest.param(r"$\varepsilon$", "ε", id="varepsilon"),
        pytest.param(r"$x \leq 3$", "x ≤ 3", id="relation"),
        pytest.param(r"$\operatorname{rank}$", "rank", id="operator"),
    ],
)
def test_another_spelling_has_the_same_key(one: str, other: str) -> None:
    assert content_key(one) == content_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 bees", "4 bees"),
        ("3.5 bees", "35 bees"),
        ("-3", "3"),
        ("-3", "+3"),
        ("x < 3", "x > 3"),
        ("it does", "it does not"),
        ("CaM", "cam"),
    ],
    ids=["number", "decimal", "sign", "other sign", "relation", "word", "case"],
)
def test_another_content_has_another_key(one: str, other: str) -> None:
    assert content_key(one) != content_key(other)


# --- links ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "glued",
    [
        "See https://a.b/c_d.",
        "(https://a.b/c_d).",
        "*Code: https://a.b/c_d.*",
        "**https://a.b/c_d**",
        "[https://a.b/c_d](https://a.b/c_d)",
        r"\url{https://a.b/c_d}",
        "<https://a.b/c_d>",
        "'https://a.b/c_d', and",
        '"https://a.b/c_d"',
        pytest.param("“https://a.b/c_d”"),
        pytest.param("https://a.b/c_d。"),
        pytest.param("https://a.b/c_d—see it"),
    ],
)
def test_link_is_freed_from_what_is_glued_to_it(glued: str) -> None:
    assert links(glued) == ("https://a.b/c_d",)


def test_links_come_once_and_in_order() -> None:
    assert links("https://b.c/, http://a.b and https://b.c/.") == ("https://b.c/", "http://a.b")
    assert links("no link: http://") == ()


@pytest.mark.parametrize("url", ["https://a.b/c(d)", "https://a.b/", "https://a.b/c.git", "https://a.b/c?d=e#f"])
def test_clean_link_stays_as_it_is(url: str) -> None:
    assert clean_url(url) == url
