"""Who can answer: the quotes, the configured model, and the packaged local one where it is installed; each model made once."""

import threading
from dataclasses import replace

from rag.answering.models import LanguageModel, make_model, offers_local
from rag.answering.specs import LOCAL, QUOTES
from rag.errors import SettingsError
from rag.settings import Settings


class Answerers:
    """The answerers that one assistant offers. Safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        """Makes the configured model, so that what is wrong with it is said at the start. Raises as `make_model` does."""
        self._settings = settings
        model = make_model(settings)
        configured = settings.llm if isinstance(settings.llm, str) else model.name if model else QUOTES
        self._models: dict[str, LanguageModel | None] = {QUOTES: None, configured: model}
        self.default = configured
        local = [LOCAL] if offers_local() else []
        self.names: tuple[str, ...] = tuple(dict.fromkeys([QUOTES, configured, *local]))
        self._making = {name: threading.Lock() for name in self.names}  # one each: who waits for no model waits for none

    def model(self, name: str | None = None) -> LanguageModel | None:
        """The model of that name, None for the quotes; without a name the default. Raises `SettingsError` for one not offered."""
        name = self.default if name is None else name.strip()
        if name not in self.names:
            raise SettingsError(f"{name[:200]!r} is none of the answerers offered here: {', '.join(self.names)}.")
        if name in self._models:
            return self._models[name]
        with self._making[name]:
            if name not in self._models:
                self._models[name] = make_model(replace(self._settings, llm=name))
            return self._models[name]
