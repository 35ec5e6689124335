"""What an index was built with. An index is opened only by settings that would build the same vectors.

The declared identity (model, prefixes, window, versions) is compared field by field; the vector of one fixed sentence is
compared too, which catches what no name tells: other weights under the same name.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from vectorstore.embedder import Embedder
from vectorstore.errors import PassportMismatchError, StoreDamagedError

SCHEMA_VERSION = 2
"""Raised when the files of an index change shape."""

PROBE = "The key cache is quantized per channel and the value cache per token."
_PROBE_AGREEMENT = 0.9995  # one model on other hardware or threads agrees to 0.99999; another model falls below 0.9


@dataclass(frozen=True, slots=True)
class Passport:
    """Identity of an index; `probe` is the unit vector of `PROBE` and `text_version` that of the text preparation."""

    schema: int
    metric: str
    text_version: int
    embedder: Mapping[str, str | int]
    probe: tuple[float, ...]
    weights_sha256: str = ""
    """Of a packaged model, checked when the index was built; not compared at opening, where the probe stands for it."""

    @classmethod
    def of(cls, embedder: Embedder, *, text_version: int) -> "Passport":
        """The passport that an index built now with `embedder` would carry."""
        probe = tuple(round(float(value), 6) for value in embedder.encode_query(PROBE).vector)
        return cls(SCHEMA_VERSION, "cosine", text_version, dict(embedder.identity), probe)

    @classmethod
    def load(cls, path: Path) -> "Passport":
        """Reads a passport; `StoreDamagedError` when it is no passport, `PassportMismatchError` when from another schema."""
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            if fields.get("schema") != SCHEMA_VERSION:
                raise PassportMismatchError(
                    f"The index at {path.parent} has schema {fields.get('schema')!r}, this version reads {SCHEMA_VERSION}. "
                    "Run `askabstracts index --rebuild` to build it anew."
                )
            return cls(fields["schema"], fields["metric"], fields["text_version"], fields["embedder"], tuple(fields["probe"]))
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise StoreDamagedError(
                f"The passport {path} cannot be read ({error}). Run `askabstracts index --rebuild` to build the index anew."
            ) from error

    def save(self, path: Path) -> None:
        """Writes the passport as JSON."""
        path.write_text(json.dumps(asdict(self), indent=1, sort_keys=True), encoding="utf-8")

    def require(self, wanted: "Passport", *, place: Path) -> None:
        """Raises `PassportMismatchError` unless `wanted` would build the vectors that the index at `place` holds."""
        faults = [
            f"{name}: index {mine!r}, settings {theirs!r}"
            for name, mine, theirs in [
                ("metric", self.metric, wanted.metric),
                ("text preparation", self.text_version, wanted.text_version),
                *(
                    (f"embedder {key}", self.embedder.get(key), wanted.embedder.get(key))
                    for key in sorted({*self.embedder, *wanted.embedder})
                ),
            ]
            if mine != theirs
        ]
        if not faults and not self._same_probe(wanted):
            faults = ["the embedder has the same name but gives other vectors (other weights?)"]
        if faults:
            raise PassportMismatchError(
                f"The index at {place} was built with something else ({'; '.join(faults)}). "
                "Run `askabstracts index --rebuild` with these settings to build it anew, or use the settings it was built with."
            )

    def _same_probe(self, other: "Passport") -> bool:
        if len(self.probe) != len(other.probe):
            return False
        return bool(np.dot(np.array(self.probe), np.array(other.probe)) >= _PROBE_AGREEMENT)
