# Two commands do everything: `make chat` and `make test`.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed

.PHONY: chat test check eval bench bench-scale bench-retrieval fit

# LLM: who answers first (quotes, local, ollama:NAME, …); the page offers the quotes and the local model either way.
chat: $(INSTALLED)  ## Opens the chat on http://127.0.0.1:7860; builds the index of seeds/ first when it is missing or stale.
	$(BIN)/python app.py $(if $(LLM),--llm $(LLM))

test: check  ## Lint, types and all tests.
	$(BIN)/python -m pytest -n 2 --dist loadfile

check: $(INSTALLED)  ## Lint and types.
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# PAPERS: a file of abstracts to index, JSON Lines with an "abstract" key, may be gzipped; without it the seeds are indexed.
PAPERS ?= $(firstword $(wildcard ../shared/data/papers-*.jsonl.gz))
bench: $(INSTALLED)  ## Speed and memory, as ratios to baselines in one run.
	$(BIN)/python -m eval.bench $(if $(PAPERS),--papers $(PAPERS))
	$(BIN)/python -m eval.bench_chat

bench-scale: $(INSTALLED)  ## How cost grows with the collection, up to 87,000 papers; takes half an hour.
	@test -n "$(PAPERS)" || { echo "Name a file of papers with title and abstract: make bench-scale PAPERS=FILE"; exit 2; }
	$(BIN)/python -m eval.bench_scale --papers $(PAPERS)

bench-retrieval: $(INSTALLED)  ## Title to abstract on 5,000 papers, beside BM25 and LlamaIndex.
	@test -n "$(PAPERS)" || { echo "Name a file of papers with title and abstract: make bench-retrieval PAPERS=FILE"; exit 2; }
	$(BIN)/python -m eval.bench_retrieval --papers $(PAPERS) --count 5000

eval: $(INSTALLED)  ## How good the answers are; writes a report.
	$(BIN)/python -m eval

fit: $(INSTALLED)  ## Fits rag/coefficients.json on the development questions.
	$(BIN)/python -m eval.fit

$(INSTALLED): requirements.lock requirements-no-deps.txt pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --disable-pip-version-check -r requirements.lock
	$(BIN)/pip install --disable-pip-version-check --no-deps -r requirements-no-deps.txt
	$(BIN)/pip install --disable-pip-version-check --no-deps -e .
	touch $(INSTALLED)
