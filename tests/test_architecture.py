"""The arrows of the design, the homes of third-party libraries and the sizes of the code, read from the syntax trees."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("rag", "vectorstore", "eval")
MAY_IMPORT = {"app": {"rag"}, "rag": {"rag", "vectorstore"}, "vectorstore": {"vectorstore"}, "eval": {"eval", "rag", "vectorstore"}}
HOMES = {
    "chromadb": ("vectorstore.store", "vectorstore.server_session", "vectorstore.server_connection"),
    "bm25s": ("vectorstore.lexical",),
    "Stemmer": ("vectorstore.lexical",),
    "sentence_transformers": ("vectorstore.embedder",),
    "transformers": ("vectorstore.embedder",),
    "torch": ("vectorstore.embedder",),
    "filelock": ("vectorstore.generations",),
    "gradio": ("rag.web",),
    "latex2mathml": ("rag.web",),
    "rich": ("rag.commands", "eval.__main__"),
    "matplotlib": ("eval.plots",),
    "ir_measures": ("eval",),
    "sentencex": ("rag.text",),
    "platformdirs": ("rag.settings",),
    "llama_index": ("rag.retrieval", "rag.embedders", "rag.answering.models", "eval.judge"),
    "ollama": ("rag.answering.models",),
    "httpx": ("rag.answering", "vectorstore.server_session", "vectorstore.server_connection"),
    "xllamacpp": ("rag.answering.local_server",),
    "argon2": ("rag.web",),
    "mcp": ("rag.web",),
    "fastapi": ("rag.web",),
    "uvicorn": ("rag.web",),
    "starlette": ("rag.web",),
    "anyio": ("rag.web",),
    "sklearn": ("eval", "rag.overview"),
    "scipy": ("eval",),
    "py3langid": ("rag.languages",),
    "rensa": ("rag.near_duplicates",),
    "bibtexparser": ("rag.readers.bibtex",),
    "charset_normalizer": ("rag.readers.encoding",),
    "defusedxml": ("rag.readers.xml_elements",),
    "ijson": ("rag.readers.json_tree",),
    "pylatexenc": ("rag.readers.latex",),
    "rispy": ("rag.readers.ris",),
}
# The benchmarks run the stack's own quick start beside the program, so they use these directly.
BASELINES = ("eval.bench", "eval.bench_retrieval")
BASELINE_LIBRARIES = {"chromadb", "sentence_transformers", "llama_index", "bm25s", "Stemmer"}
HEAVY = ("torch", "chromadb", "gradio", "llama_index", "sentence_transformers", "transformers")
LONGEST_MODULE_LINES, LONGEST_FUNCTION_LINES = 320, 60


@dataclass(frozen=True)
class Import:
    """One import: who imports what, and whether it happens when the importing module is loaded."""

    by: str
    module: str
    is_at_load: bool


def _name_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


SOURCES = {
    _name_of(path): path for path in [ROOT / "app.py", *(file for name in PACKAGES for file in sorted((ROOT / name).rglob("*.py")))]
}
TREES = {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in SOURCES.items()}
FUNCTION = (ast.FunctionDef, ast.AsyncFunctionDef)


def _imports() -> Iterator[Import]:
    for by, tree in TREES.items():
        inside_functions = {
            id(node) for function in ast.walk(tree) if isinstance(function, FUNCTION) for node in ast.walk(function)
        }
        for node in ast.walk(tree):
            is_at_load = id(node) not in inside_functions
            if isinstance(node, ast.Import):
                yield from (Import(by, alias.name, is_at_load) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{by} has a relative import"
                for alias in node.names:
                    submodule = f"{node.module}.{alias.name}"
                    yield Import(by, submodule if submodule in SOURCES else str(node.module), is_at_load)


IMPORTS = tuple(_imports())
OWN = tuple(one for one in IMPORTS if one.module in SOURCES)


def _is_within(module: str, home: str) -> bool:
    return module == home or module.startswith(home + ".")


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_imports_follow_the_arrows(package: str) -> None:
    wrong = [one for one in OWN if _is_within(one.by, package) and one.module.partition(".")[0] not in MAY_IMPORT[package]]
    assert wrong == []


def test_the_rest_of_rag_loads_without_the_web_interface() -> None:
    wrong = [one for one in OWN if one.is_at_load and not _is_within(one.by, "rag.web") and _is_within(one.module, "rag.web")]
    assert wrong == []


def test_modules_load_without_a_cycle() -> None:
    graph: dict[str, set[str]] = {name: set() for name in SOURCES}
    for one in OWN:
        if one.is_at_load:
            graph[one.by].add(one.module)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


@pytest.mark.parametrize("library", HOMES)
def test_a_third_party_library_has_one_home(library: str) -> None:
    homes = {*HOMES[library], *(BASELINES if library in BASELINE_LIBRARIES else ())}
    users = {one.by for one in IMPORTS if _is_within(one.module, library)}
    assert {user for user in users if not any(_is_within(user, home) for home in homes)} == set()


def test_only_settings_reads_environment_variables() -> None:
    assert {name for name, tree in TREES.items() if _reads_environment(tree)} == {"rag.settings"}


def _reads_environment(tree: ast.Module) -> bool:
    """Whether a module does anything with the environment but setting a variable for a library."""
    names = {"environ", "environb", "getenv", "getenvb"}
    uses = {id(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr in names}
    for node in ast.walk(tree):
        is_assignment = isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store)
        if isinstance(node, (ast.Subscript, ast.Attribute)) and (is_assignment or getattr(node, "attr", "") == "setdefault"):
            uses.discard(id(node.value))
        elif isinstance(node, ast.ImportFrom) and node.module == "os":
            uses |= {id(alias) for alias in node.names if alias.name in names}
    return bool(uses)


def test_no_other_module_names_one_of_our_variables_as_a_value() -> None:
    named = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.fullmatch(r"ASKABSTRACTS_\w*", node.value)
    }
    assert named <= {"rag.settings"}


def test_importing_rag_loads_no_heavy_library() -> None:
    code = f"import rag, sys; print(sorted(set({HEAVY!r}) & set(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_the_public_names_exist_and_are_documented() -> None:
    import rag

    assert all(getattr(rag, name).__doc__ for name in rag.__all__ if name != "Status")


@pytest.mark.parametrize(
    "module",
    [pytest.param(name) if name == "vectorstore.embedder" else name for name in SOURCES],
)
def test_a_module_is_short(module: str) -> None:
    assert len(SOURCES[module].read_text(encoding="utf-8").splitlines()) <= LONGEST_MODULE_LINES


def test_no_function_is_long() -> None:
    functions = [(name, node) for name, tree in TREES.items() for node in ast.walk(tree) if isinstance(node, FUNCTION)]
    lengths = {f"{name}.{node.name}": (node.end_lineno or node.lineno) - node.lineno + 1 for name, node in functions}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FUNCTION_LINES} == {}


def test_no_module_is_a_drawer_of_odds_and_ends() -> None:
    assert not {path.name for path in SOURCES.values()} & {"utils.py", "util.py", "helpers.py", "common.py", "misc.py"}
