"""The words and patterns that `eval.edits` changes sentences by. A pattern goes with what is put in its place."""

# Words that abstracts use for one another.
ALIKE = [
    group.split()
    for group in """
    show demonstrate find reveal establish confirm verify / shows demonstrates reveals indicates confirms / propose present
    introduce describe develop / proposes presents introduces describes develops / use employ utilize leverage apply exploit /
    uses employs utilizes leverages applies exploits / using employing utilizing leveraging applying / improve enhance boost
    raise / improves enhances boosts raises / improving enhancing boosting / outperform surpass beat exceed / outperforms
    surpasses beats exceeds / outperforming surpassing beating / achieve attain reach obtain / achieves attains reaches obtains
    / reduce lower decrease cut / reduces lowers decreases cuts / reducing lowering decreasing cutting / increase raise grow /
    increases raises / significant substantial considerable large / significantly substantially considerably greatly / large big
    sizable / small little modest / novel new / method approach technique / methods approaches techniques / important crucial
    key essential / many numerous multiple several various / enable allow permit / enables allows permits / require need /
    requires needs / image picture / existing previous prior earlier / challenging difficult hard / difficult hard challenging /
    fast quick rapid / faster quicker / efficient economical / problem issue challenge / limitations shortcomings drawbacks /
    mainly primarily chiefly / often frequently commonly / contains includes comprises holds / consists comprises / evaluate
    assess test / evaluated assessed tested / address tackle handle solve / addresses tackles handles solves / learn acquire /
    generate produce create / generates produces creates / generated produced created / because since / however yet / thus
    therefore hence / strong powerful / robust resilient / accurate precise / accuracy correctness / limited restricted scarce /
    different distinct / whole entire full / superior better / better superior stronger / comparable similar / analyze examine
    study investigate / study examine investigate explore / identify detect spot / mitigate alleviate reduce lessen / mitigates
    alleviates reduces lessens / avoid prevent circumvent / suffer struggle / dataset data corpus / performance results
    """.split("/")  # noqa: SIM905 -- a table is easier to read than a hundred lists
]
OPPOSED = [
    group.split()
    for group in """
    increase decrease / increases decreases / increased decreased / increasing decreasing / improve worsen / improves degrades /
    improved degraded / improving degrading / improvement decline / enhance weaken / enhances weakens / higher lower / high low
    / highest lowest / more less / more fewer / most least / larger smaller / large small / largest smallest / big small /
    better worse / best worst / faster slower / fast slow / outperforms underperforms / outperform underperform / surpasses
    trails / reduce increase / reduces increases / reducing increasing / reduced increased / reduction increase / upper lower /
    before after / first last / early late / easy hard / easier harder / simple complex / many few / positive negative / global
    local / strong weak / stronger weaker / robust fragile / stable unstable / finer coarser / fine coarse / tight loose /
    tighter looser / same different / similar different / preserve discard / single multiple / internal external / with without
    / dense sparse / supervised unsupervised / labeled unlabeled / convex nonconvex / online offline / discrete continuous /
    deterministic stochastic / static dynamic / linear nonlinear / input output / encoder decoder / training test / agree
    disagree / accurate inaccurate / expensive cheap / known unknown / seen unseen / true false / accelerates slows / long short
    / longer shorter / minimize maximize / minimizes maximizes / minimum maximum / necessary unnecessary / efficient inefficient
    / effective ineffective / often rarely / all some / succeed fail / rich poor / richer poorer / deep shallow / rare common /
    frequent infrequent / balanced imbalanced / accelerate slow / superior inferior / wide narrow / broad narrow / encouraging
    discouraging / promising disappointing / limited unlimited / sufficient insufficient / consistent inconsistent / independent
    dependent / explicit implicit / dependent independent / homogeneous heterogeneous / symmetric asymmetric / parametric
    nonparametric / rather not / strengths weaknesses / benefit harm / benefits harms / helps hurts / parallel sequential /
    consistently rarely / significantly barely / easily hardly / always never / closed open / public private / lossless lossy /
    forward backward / top bottom / optimal suboptimal
    """.split("/")  # noqa: SIM905 -- a table is easier to read than a hundred lists
]
# Third person to base form.
VERBS = {
    verb + "s": verb
    for verb in """
    achieve align allow avoid benefit capture consider contain depend eliminate enable enhance ensure exploit generalize
    generate guarantee handle help hold improve include increase lead learn maintain model need offer outperform preserve
    produce provide reduce rely remain require scale suffer support treat use yield
    """.split()  # noqa: SIM905 -- as above
} | {"matches": "match", "addresses": "address", "reaches": "reach"}
NEGATE: list[tuple[str, str]] = [
    (r"\b(is|are|was|were|can|does|do|should|will|has been|have been)\b(?! not)", r"\1 not"),
    (r"\bwith\b", "without"),
    (r"\bwe (\w+)\b", r"we do not \1"),
    (r"\ba\b", "no"),
    (r"\bable to\b", "unable to"),
    (r"\bincluding\b", "excluding"),
    (r"\band (?=\w+ (?!and))", "but not "),
    (r"\bto (?=[a-z]+ (?:the|a|an|and)\b)", "not to "),
    (r"\beven (?=in|when|with)", "except "),
    (r"\boften\b", "never"),
]
AFFIRM: list[tuple[str, str]] = [
    (r"\b(is|are|was|were|do|does|can|could|will|should|has|have) not\b", r"\1"),
    (r"\bcannot\b", "can"),
    (r"\bwithout\b", "with"),
    (r"\bno\b", "a"),
    (r"\bunable to\b", "able to"),
    (r"\bfails? to\b", "manages to"),
    (r"\blacks?\b", "has"),
    (r"\bnot\b ?", ""),
    (r"\bnever\b", "always"),
    (r"\bnon-?(?=\w{4})", ""),
    (
        r"\b(?:un|in)(?=(?:supervised|labeled|stable|known|seen|reliable|efficient|accurate|sufficient|consistent|necessary|limited|able|effective)\b)",
        "",
    ),
    (r"\bavoid(s|ing)?\b", r"require\1"),
    (r"\beliminat(es|e|ing)\b", r"creat\1"),
    (r"\b(?:do|does) not require\b", "requires"),
    (r"\brather than\b", "as well as"),
    (r"-free\b", "-based"),
]
REPHRASE: list[tuple[str, str]] = [
    (r"\bwithout (\w+ing)\b", r"and does not need \1"),
    (r"\bwithout\b", "with no"),
    (r"\bcannot\b", "are unable to"),
    (r"\bunable to\b", "not able to"),
    (r"\bfails? to\b", "cannot"),
    (r"\bnot\b(?= \w+ing)", "never"),
    (r"\bdo(?:es)? not require\b", "needs no"),
    (r"\blacks?\b", "does not have"),
    (r"\binstead of\b", "rather than"),
    (r"\brather than\b", "instead of"),
    (r"\b[Ww]e (?=[a-z]+)", "the authors "),
    (r"\b[Oo]ur\b", "the"),
    (r"\b[Ii]n this (?:paper|work),? we\b", "the paper"),
    (r"\b[Tt]his (?:paper|work)\b", "the study"),
    (r"\bstate-of-the-art\b", "best existing"),
    (r"\bsuch as\b", "like"),
    (r"\bbased on\b", "built on"),
    (r"\b[Aa]s a result,? ", ""),
    (
        "^(?:However|Moreover|Furthermore|Specifically|Finally|Additionally|In addition|To this end|Therefore|Thus|Notably|In particular|First|Second), ",
        "",
    ),
    (
        r"\b(?:very|extensive|extensively|significantly|effectively|remarkably|simultaneously|efficiently|directly|various|also|especially) ",
        "",
    ),
    (r" \([^()]*\)", ""),
    (r"\bin order to\b", "to"),
    (r"\bdue to\b", "because of"),
    (r"\bas well as\b", "and"),
    (r"\bleads? to\b", "results in"),
    (r"\bcompared (?:to|with)\b", "relative to"),
    (r"\bthe proposed\b", "this"),
    (r"\bwe (?:show|demonstrate|find|observe|prove) that\b", ""),
    (r"\bis able to\b", "can"),
    (r"\bcan\b(?! not)", "is able to"),
    (r"\bis (?=\w+ed by)", "gets "),
    (r"\bwhich\b", "that"),
    (r"\ba (?:wide )?range of\b", "many"),
]
