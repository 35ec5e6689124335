"""What the page says about adding abstracts, in English and Chinese; `rag.web.texts` speaks it. Reasons of errors stay English."""

UPLOAD_TEXTS: dict[str, tuple[str, str]] = {
    "upload_choose": ("Files of abstracts", "摘要文件"),
    "upload_delete": ("Delete my abstracts", "删除我的摘要"),
    "upload_intro_session": (
        "Choose files: text with abstracts parted by blank lines, BibTeX, RIS, CSV, JSON, PubMed or arXiv exports "
        "(at most {files} files of {megabytes} MB, {papers} papers in all). "
        "Only this visit can ask about them. They are deleted when you close or reload this page, and the text of answers to them with them.",
        "请选择文件:摘要之间用空行隔开的文本,或 BibTeX、RIS、CSV、JSON、PubMed、arXiv 导出文件(最多 {files} 个文件,每个 {megabytes} MB,总共 {papers} 篇)。"
        "只有你这次访问能就它们提问;关闭或重新载入本页后即被删除,就它们所得答案的文字也一并消失。",
    ),
    "upload_intro_shared": (
        "Choose files: text with abstracts parted by blank lines, BibTeX, RIS, CSV, JSON, PubMed or arXiv exports "
        "(at most {files} files of {megabytes} MB, {papers} papers in all). "
        "They join the collection that everybody here asks, and stay in it.",
        "请选择文件:摘要之间用空行隔开的文本,或 BibTeX、RIS、CSV、JSON、PubMed、arXiv 导出文件(最多 {files} 个文件,每个 {megabytes} MB,总共 {papers} 篇)。"
        "它们会加入所有人共用的集合,并一直保留。",
    ),
    "upload_shared": ("The shared collection ({papers} papers)", "共用的集合({papers} 篇)"),
    "upload_own": ("Your own ({papers} papers)", "你自己的({papers} 篇)"),
    "upload_reading": ("Reading the files", "正在读文件"),
    "upload_encoding": ("Abstract {done} of {of}", "第 {done} 篇,共 {of} 篇"),
    "upload_done": ("Abstracts read: {read}. New papers: {new}. The collection now has {papers}.", "读入摘要 {read} 篇,新论文 {new} 篇;集合现有 {papers} 篇。"),
    "upload_repeated": ("Merged, because the abstract is there already", "已合并(摘要已经存在)"),
    "upload_respelled": ("Merged, though spelled differently", "已合并(写法不同)"),
    "upload_doubtful": ("Taken, but perhaps no abstract", "已采用,但可能不是摘要"),
    "upload_unreadable": ("Not used", "未采用"),
    "upload_more": ("and {count} more", "另有 {count} 项"),
    "upload_next_session": (
        "Go to the chat and ask: it now answers from your own collection. You can change that there under “Collection”.",
        "现在去对话页提问:它会根据你自己的集合回答。可在那里的“集合”处更改。",
    ),
    "upload_next_shared": ("Go to the chat and ask about them.", "现在去对话页就它们提问。"),
    "upload_failed": ("Nothing was added", "什么也没有加入"),
    "upload_fault": (
        "This upload met a fault of AskAbstracts, not of yours. Please report it.",
        "这是程序的错误,不是你的。请报告。",
    ),
    "upload_deleted": ("Your abstracts are deleted.", "你的摘要已删除。"),
    "upload_gone": (
        "Your own collection is not there any more: it is deleted when the page is left or unused for two hours. "
        "Add your files again, or choose the shared collection.",
        "你自己的集合已不在:离开本页或两小时未用后即被删除。请重新添加文件,或选择共用的集合。",
    ),
    "upload_crowded": (
        "{visitors} visitors have collections of their own at the moment, which is all this machine takes. "
        "Try again later, or ask the shared collection.",
        "现在已有 {visitors} 位访问者建了自己的集合,这台机器不能再多。请稍后再试,或用共用的集合。",
    ),
}  # fmt: skip
