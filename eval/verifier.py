"""How the verifier in force judges the labelled claims: `python -m eval.verifier`.

True claims kept and false ones passed, over all and by kind, on each half; the half "fit" was seen in fitting.
"""

import argparse
import sys
from collections.abc import Sequence

from eval.fit_support import LabelledClaim, read_claims
from rag.assistant import Assistant
from rag.settings import Settings
from rag.support import encode_claim, is_supported, support


def passes(claim: LabelledClaim, assistant: Assistant) -> bool:
    """Whether the verifier takes a claim for supported by the whole abstract of its paper."""
    index = assistant.index
    row = index.row_of[claim.paper]
    encoded = encode_claim(claim.claim, assistant.embedder, index)
    found = support(encoded, row, range(len(index.spans[row])), index, assistant.coefficients)
    return is_supported(found, assistant.coefficients)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the figures."""
    argparse.ArgumentParser(prog="python -m eval.verifier", description=__doc__).parse_args(arguments)
    assistant = Assistant.open(Settings.from_env())
    judged = [(claim, passes(claim, assistant)) for claim in read_claims()]
    for half in ("fit", "report"):
        sys.stdout.write(f"{half} half\n")
        kinds = dict.fromkeys(["false claims passed", "true claims kept", *sorted({claim.kind for claim, _ in judged})])
        for kind in kinds:
            of_kind = [
                passed
                for claim, passed in judged
                if claim.half == half
                and (claim.kind == kind or ((kind == "true claims kept") is claim.supported and kind.endswith(("passed", "kept"))))
            ]
            if of_kind:
                sys.stdout.write(f"  {kind:24} {sum(of_kind) / len(of_kind):.3f} of {len(of_kind)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
