"""A second opinion by a language model: LlamaIndex's Faithfulness and Correctness evaluators, held against the labelled figures.

A judge is no measure of its own: what is printed is how often it agrees with the deterministic figures, and how often it failed to
give a verdict at all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from eval.questions import LabelledQuestion
from eval.rows import Row
from rag.answering.models import LanguageModel, make_model
from rag.errors import SettingsError
from rag.settings import Settings

_CORRECT = 4.0  # of 5: LlamaIndex's own threshold


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said of one answer; None where it gave nothing that can be read."""

    id: str
    is_faithful: bool | None
    is_correct: bool | None


def make_judge(spec: str, settings: Settings) -> LanguageModel:
    """The judging model. Raises `SettingsError` for the quotes, which judge nothing, and as `make_model` does."""
    model = make_model(replace(settings, llm=spec))
    if model is None:
        raise SettingsError("The judge must be a language model: --judge ollama:NAME, for example.")
    return model


def judge_rows(rows: Sequence[Row], questions: Sequence[LabelledQuestion], judge: LanguageModel) -> list[Verdict]:
    """The judge's verdicts on every answered, answerable row."""
    labels = {question.id: question for question in questions}
    return [_verdict(row, labels[row.id], judge) for row in rows if row.status == "answered" and row.is_answerable]


def _verdict(row: Row, label: LabelledQuestion, judge: LanguageModel) -> Verdict:
    from llama_index.core.evaluation import CorrectnessEvaluator, FaithfulnessEvaluator

    reference = " ".join(evidence.quote for evidence in label.evidence)
    request = judge.open()
    try:
        faithful = FaithfulnessEvaluator(llm=request.llm)
        correct = CorrectnessEvaluator(llm=request.llm, score_threshold=_CORRECT)
        return Verdict(
            row.id,
            _passing(lambda: faithful.evaluate(query=row.question, response=row.text, contexts=list(row.shown_quotes))),
            _passing(lambda: correct.evaluate(query=row.question, response=row.text, reference=reference)),
        )
    finally:
        request.stop()


def _passing(evaluate: object) -> bool | None:
    try:
        result = evaluate()  # type: ignore[operator]  # a call of LlamaIndex, which has no types
    except Exception:  # a judge that cannot be parsed or reached gave no verdict; that is counted, and the evaluation goes on
        return None
    return None if result.passing is None or result.invalid_result else bool(result.passing)


def judge_table(rows: Sequence[Row], verdicts: Sequence[Verdict], *, judge: str, answerer: str) -> str:
    """The judge's shares, its agreement with the deterministic figures, and its failures, as text."""
    by_id = {row.id: row for row in rows}
    own = " (the judge is the answerer: it judges itself)" if judge == answerer else ""
    lines = [f"Judge {judge} on {len(verdicts)} answers of {answerer}{own}"]
    for name, given, measured in (
        ("faithful", [one.is_faithful for one in verdicts], [by_id[one.id].unsupported == 0 for one in verdicts]),
        ("correct", [one.is_correct for one in verdicts], [by_id[one.id].facts == 1.0 for one in verdicts]),
    ):
        pairs = [(said, is_so) for said, is_so in zip(given, measured, strict=True) if said is not None]
        failed = len(given) - len(pairs)
        if pairs:
            share = sum(said for said, _ in pairs) / len(pairs)
            agreement = sum(said == is_so for said, is_so in pairs) / len(pairs)
            lines.append(
                f"  {name}: {share:.3f}; agrees with the labels in {agreement:.3f} of {len(pairs)}; no verdict on {failed}"
            )
        else:
            lines.append(f"  {name}: no verdict on any of {failed}")
    return "\n".join(lines) + "\n"
