"""The words of the Papers tab in English and Chinese. Papers keep their own language. Knows no Gradio."""

from typing import Literal

Language = Literal["en", "zh"]

PAPERS_TEXTS: dict[str, tuple[str, str]] = {
    "papers_search": ("Search the papers", "查找论文"),
    "papers_search_hint": ("Title, author, venue or words", "标题、作者、会议或词语"),
    "papers_venues": ("Venue", "会议或期刊"),
    "papers_first_year": ("From year", "起始年份"),
    "papers_last_year": ("To year", "截止年份"),
    "papers_no_year": (
        "“{year}” is no year, so it narrows nothing. Write four digits, such as 2024.",
        "“{year}”不是年份,没有用来筛选。请写四位数字,例如 2024。",
    ),
    "papers_author": ("Author", "作者姓名"),
    "papers_author_hint": ("Hinton; G. Hinton; …", "Hinton;李明……"),
    "papers_files": ("Source file", "来源文件"),
    "papers_title": ("Title", "标题"),
    "papers_authors": ("Authors", "作者"),
    "papers_venue": ("Venue", "会议或期刊"),
    "papers_year": ("Year", "年份"),
    "papers_source": ("Source", "出处"),
    "papers_sort": ("Sort by", "排序"),
    "papers_count": ("{total} of {all} papers", "{all} 篇论文中的 {total} 篇"),
    "papers_all": ("{all} papers", "共 {all} 篇论文"),
    "papers_one": ("1 paper", "共 1 篇论文"),
    "papers_none_here": ("There are no papers in this collection yet.", "这个集合里还没有论文。"),
    "papers_none_found": ("No paper fits.", "没有符合的论文。"),
    "papers_try": ("Try fewer or shorter words, or take a filter away.", "可以少用几个词、用更短的词,或去掉筛选条件。"),
    "papers_pages": ("Pages", "分页"),
    "papers_page": ("Page {page} of {pages}", "第 {page} 页,共 {pages} 页"),
    "papers_first": ("First page", "首页"),
    "papers_previous": ("Previous page", "上一页"),
    "papers_next": ("Next page", "下一页"),
    "papers_last": ("Last page", "末页"),
    "papers_more": ("and {count} more", "等另外 {count} 个"),
    "papers_pinned": ("asked about", "提问对象"),
    "papers_back": ("All papers", "全部论文"),
    "papers_untitled": ("The source gives no title; this one was made from the abstract.", "来源没有标题;这个标题取自摘要。"),
    "papers_found_at": ("Found at", "位置"),
    "papers_links": ("Links", "链接"),
    "papers_abstract": ("Abstract", "摘要"),
    "papers_pin": ("Ask about this paper", "就这篇论文提问"),
    "papers_add": ("Ask about this one too", "也就这篇提问"),
    "papers_unpin": ("Stop asking about this paper only", "不再只问这篇论文"),
    "papers_similar": ("Similar papers", "相似的论文"),
    "papers_similarity": ("similarity of the abstracts", "摘要的相似度"),
    "papers_alone": ("There is no other paper to compare it with.", "没有其他论文可以比较。"),
    "papers_asking": ("Questions go to {total} of {all} papers:", "提问范围:{all} 篇论文中的 {total} 篇:"),
    "papers_asking_none": ("No paper meets all of this, so nothing can be found:", "没有论文同时符合这些条件,什么都找不到:"),
    "papers_from_to": ("{first} to {last}", "{first} 至 {last} 年"),
    "papers_from": ("from {first}", "{first} 年起"),
    "papers_to": ("up to {last}", "{last} 年止"),
    "papers_by": ("by {authors}", "作者 {authors}"),
    "papers_in_file": ("file {files}", "文件 {files}"),
    "papers_this": ("1 chosen paper", "选定的 1 篇论文"),
    "papers_these": ("{count} chosen papers", "选定的 {count} 篇论文"),
    "papers_clear": ("Ask all papers", "向全部论文提问"),
    "papers_filters": ("Filters", "筛选条件"),
    "papers_first_files": ("The first {count} of {all} files are listed.", "只列出 {all} 个文件中的前 {count} 个。"),
}  # fmt: skip


def tell(key: str, language: Language = "en", **values: object) -> str:
    """A text in the given language."""
    english, chinese = PAPERS_TEXTS[key]
    return (chinese if language == "zh" else english).format(**values)
