"""RIS, PubMed's two formats and arXiv's Atom."""

import time

import pytest

from rag.errors import SourceUnreadableError
from rag.readers.records import Record, Remark
from tests.reading import readings, records

RIS = """TY  - JOUR
AU  - Lovelace, Ada
AU  - Turing, Alan
TI  - Bees
JO  - Insects
PY  - 2018/05//
AB  - We study bees,
and ants.
DO  - 10.1000/x
UR  - https://a.org
ER  -
"""
NBIB = """PMID- 123
OWN - NLM
DP  - 2018 May
TI  - Bees of the
      north.
LID - 10.1000/x [doi]
AB  - BACKGROUND: We study bees,
      and ants - all of them.
FAU - Lovelace, Ada
AU  - Lovelace A
FAU - Turing, Alan
JT  - Insects
"""
PUBMED = """<?xml version="1.0" ?>
<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD PubMedArticle, 1st January 2019//EN" "https://dtd.nlm.nih.gov/ncbi/pubmed/out/pubmed_190101.dtd">
<PubmedArticleSet>
<PubmedArticle><MedlineCitation><PMID Version="1">123</PMID><Article>
<Journal><JournalIssue><PubDate><Year>2018</Year></PubDate></JournalIssue><Title>Insects</Title></Journal>
<ArticleTitle>Bees of the <i>north</i>.</ArticleTitle>
<ELocationID EIdType="doi">10.1000/x</ELocationID>
<Abstract><AbstractText Label="BACKGROUND">We study bees &amp; ants; p &lt; 0.05 and q &gt; 1.</AbstractText>
<AbstractText Label="METHODS">CO<sub>2</sub>.</AbstractText></Abstract>
<AuthorList><Author><LastName>Lovelace</LastName><ForeName>Ada</ForeName></Author><Author><CollectiveName>Bee Team</CollectiveName></Author></AuthorList>
</Article></MedlineCitation></PubmedArticle>
<PubmedArticle><MedlineCitation><PMID>124</PMID><Article><ArticleTitle>Ants</ArticleTitle></Article></MedlineCitation></PubmedArticle>
</PubmedArticleSet>"""
ATOM = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>arXiv Query</title>
<entry><id>http://arxiv.org/abs/1706.03762v7</id><published>2017-06-12T17:57:34Z</published><title>Bees
  of the north</title><summary>  We study bees,
 and $a &lt; b$.
</summary><author><name>Ada Lovelace</name></author><author><name>Alan Turing</name></author>
<arxiv:journal_ref xmlns:arxiv="http://arxiv.org/schemas/atom">Insects 1</arxiv:journal_ref></entry>
</feed>"""


@pytest.mark.parametrize("name", ["a.ris", "a.txt"])
def test_ris(name: str) -> None:
    assert records(f"\n{RIS}\n{RIS}", name) == [
        Record(
            abstract="We study bees, and ants.",
            position=position,
            line=line,
            title="Bees",
            authors=("Ada Lovelace", "Alan Turing"),
            year=2018,
            venue="Insects",
            urls=("https://a.org", "https://doi.org/10.1000/x"),
        )
        for position, line in ((1, 2), (2, 14))
    ]


def test_ris_with_other_tags_for_the_same() -> None:
    (record,) = records(
        "TY  - CONF\nT1  - Bees\nA1  - Lovelace, Ada\nN2  - We study bees.\nT2  - ICML\nY1  - 2018\nER  -\n", "a.ris"
    )
    assert (record.title, record.abstract, record.venue, record.year, record.authors) == (
        "Bees", "We study bees.", "ICML", 2018, ("Ada Lovelace",)
    )  # fmt: skip


def test_an_entry_of_ris_without_its_end_is_reported() -> None:
    remark, record = readings(f"TY  - JOUR\nTI  - Ants\nAB  - We study ants.\n{RIS}", "a.ris")
    assert isinstance(remark, Remark)
    assert isinstance(record, Record)
    assert (remark.kind, remark.line, remark.position) == ("broken", 1, 1)
    assert (record.position, record.line) == (2, 4)


@pytest.mark.parametrize("name", ["a.nbib", "a.txt"])
def test_nbib(name: str) -> None:
    assert records(f"\n{NBIB}\n{NBIB}", name) == [
        Record(
            abstract="BACKGROUND: We study bees, and ants - all of them.",
            position=position,
            line=line,
            title="Bees of the north.",
            authors=("Ada Lovelace", "Alan Turing"),
            year=2018,
            venue="Insects",
            urls=("https://pubmed.ncbi.nlm.nih.gov/123/", "https://doi.org/10.1000/x"),
            key="123",
        )
        for position, line in ((1, 2), (2, 15))
    ]


def test_pubmed_xml() -> None:
    bees, ants = records(PUBMED, "a.xml")
    assert bees == Record(
        abstract="BACKGROUND: We study bees & ants; p < 0.05 and q > 1. METHODS: CO2.",
        position=1,
        line=4,
        title="Bees of the north.",
        authors=("Ada Lovelace", "Bee Team"),
        year=2018,
        venue="Insects",
        urls=("https://pubmed.ncbi.nlm.nih.gov/123/", "https://doi.org/10.1000/x"),
        key="123",
    )
    assert (ants.title, ants.abstract, ants.position) == ("Ants", "", 2)


def test_arxiv_atom() -> None:
    assert records(ATOM, "a.atom") == [
        Record(
            abstract="We study bees, and $a < b$.",
            position=1,
            line=3,
            title="Bees of the north",
            authors=("Ada Lovelace", "Alan Turing"),
            year=2017,
            venue="Insects 1",
            urls=("http://arxiv.org/abs/1706.03762v7",),
            key="http://arxiv.org/abs/1706.03762v7",
        )
    ]


@pytest.mark.parametrize("encoding", ["utf-16", "iso-8859-1"])
def test_the_encoding_that_xml_declares_holds(encoding: str) -> None:
    text = ATOM.replace("UTF-8", encoding).replace("Ada", "Adé")
    assert records(text.encode(encoding), "a.xml")[0].authors == ("Adé Lovelace", "Alan Turing")


@pytest.mark.parametrize(
    ("declaration", "use"),
    [
        pytest.param('<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">', "&b;", id="bomb"),
        pytest.param('<!ENTITY a SYSTEM "file:///etc/passwd">', "&a;", id="file"),
        pytest.param('<!ENTITY % a SYSTEM "http://127.0.0.1:9/a.dtd"> %a;', "x", id="address"),
    ],
)
def test_declared_entities_are_refused_at_once(declaration: str, use: str) -> None:
    begun = time.monotonic()
    text = f"<!DOCTYPE feed [{declaration}]>" + ATOM.partition("?>")[2].replace("Ada Lovelace", use)
    with pytest.raises(SourceUnreadableError, match=r"a\.xml, line 1: it declares an XML entity"):
        records(text, "a.xml")
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param(ATOM[:-40], r"a\.xml, line \d: no XML \(no element found\)", id="torn"),
        pytest.param(
            ATOM.replace("</title><sum", "<sum"), r"a\.xml, line 7: no XML \(mismatched tag\)", id="tags that do not match"
        ),
        pytest.param(ATOM.replace("<entry>", "<x>" * 50_000), "nested too deeply", id="deep"),
        pytest.param("<?xml version='1.0'?><books/>", "XML of a kind that is not known here", id="other"),
        pytest.param("<!DOCTYPE html><html><body>Bees</body></html>", "it is a web page", id="web page"),
        pytest.param("<?xml version='1.0' encoding='iso-8859-99'?><feed/>", "no encoding 'iso-8859-99'", id="no such encoding"),
    ],
)
def test_what_is_no_known_xml_is_refused(text: str, complaint: str) -> None:
    with pytest.raises(SourceUnreadableError, match=complaint):
        records(text, "a.xml")
