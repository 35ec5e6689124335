"""One module per input format, each turning bytes into records; `rag.papers` turns records into papers."""
