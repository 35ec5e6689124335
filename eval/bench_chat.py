"""How quick the chat is for people: first paint, an answer in the page, twenty visitors at once. `python -m eval.bench_chat`.

A server of its own in a process of its own, on loopback; real chromium for what a person sees, gradio_client for the crowd.
"""

import argparse
import shutil
import socket
import statistics
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from gradio_client import Client

VISITORS = 20
_QUESTIONS = (
    "How should the key and value caches of an LLM be quantized?",
    "What is TURTLE and how well does it do without labels?",
    "Which parts of a robot learning setup should be automated, and why?",
    "How much of the text of AI conference reviews was written by ChatGPT?",
)
_FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip
_START_SECONDS = 180
_LOADS = 5


@contextmanager
def served_chat() -> Iterator[tuple[str, float]]:
    """The address of a chat over the default index, and how long its process took to serve."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    started = time.perf_counter()
    server = subprocess.Popen([sys.executable, "-m", "rag", "chat", "--port", str(port)], stdout=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        while not _is_up(url):
            if server.poll() is not None or time.perf_counter() - started > _START_SECONDS:
                raise SystemExit("The chat did not start; run `askabstracts chat` to see why.")
            time.sleep(0.1)
        yield url, time.perf_counter() - started
    finally:
        server.terminate()
        server.wait(timeout=30)


def _is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/healthz", timeout=2) as response:
            return bool(response.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def seen_by_a_person(url: str, chromium: str) -> tuple[list[float], list[float], list[float]]:
    """Seconds to first paint, to a page that takes questions, and from Enter to the finished answer, each `_LOADS` times."""
    from playwright.sync_api import sync_playwright

    paints, ready, answers = [], [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=_FLAGS)
        for number in range(_LOADS):
            page = browser.new_context().new_page()
            started = time.perf_counter()
            page.goto(url)
            page.wait_for_selector("#question textarea")
            ready.append(time.perf_counter() - started)
            paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? 0"
            page.wait_for_function(f"{paint} > 0")
            paints.append(float(page.evaluate(paint)) / 1000)
            page.wait_for_function("window.askabstracts !== undefined")
            page.wait_for_timeout(1000)  # the visitor's own conversations are loaded
            page.fill("#question textarea", _QUESTIONS[number % len(_QUESTIONS)])
            started = time.perf_counter()
            page.keyboard.press("Enter")
            page.wait_for_selector("#current article[data-turn]")
            answers.append(time.perf_counter() - started)
            page.context.close()
        browser.close()
    return paints, ready, answers


def crowd(url: str) -> tuple[list[float], int]:
    """Seconds that each of `VISITORS` waited when all asked at once, and how many got the answer to their own question."""
    clients = [Client(url, verbose=False) for _ in range(VISITORS)]

    def ask(number: int) -> tuple[float, bool]:
        question = _QUESTIONS[number % len(_QUESTIONS)]
        started = time.perf_counter()
        answer = clients[number].predict(question, api_name="/ask")
        return time.perf_counter() - started, answer["question"] == question and bool(answer["citations"])

    with ThreadPoolExecutor(VISITORS) as pool:
        results = list(pool.map(ask, range(VISITORS)))
    return [seconds for seconds, _ in results], sum(is_own for _, is_own in results)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the figures."""
    argparse.ArgumentParser(prog="python -m eval.bench_chat", description=__doc__).parse_args(arguments)
    chromium = shutil.which("chromium")
    with served_chat() as (url, start):
        write = sys.stdout.write
        write(f"from process start to serving            {start:.1f} s\n")
        if chromium is None:
            write("chromium is not installed: nothing is measured in a browser\n")
        else:
            paints, ready, answers = seen_by_a_person(url, chromium)
            write(f"first paint, median of {_LOADS} (first, cold)      {statistics.median(paints):.2f} s ({paints[0]:.2f} s)\n")
            write(f"page takes questions, median                {statistics.median(ready):.2f} s\n")
            write(f"Enter to finished answer, median (worst)    {statistics.median(answers):.2f} s ({max(answers):.2f} s)\n")
        waits, served = crowd(url)
        write(
            f"{VISITORS} visitors at once: {served} got theirs; median {statistics.median(waits):.2f} s, slowest {max(waits):.2f} s\n"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
