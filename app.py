"""The chat as a program: `python app.py` does what `askabstracts chat` does."""

import sys

from rag.__main__ import main

if __name__ == "__main__":
    sys.exit(main(["chat", *sys.argv[1:]]))
