"""The chat page. Nothing else in `rag` imports gradio."""
