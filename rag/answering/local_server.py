"""A language model on this machine: llama.cpp's own OpenAI-compatible server, in a child process.

The parent starts this module with a model file, writes a key to its standard input, reads the address from its standard output,
and ends it by closing that input: so it ends with its parent, however the parent ends. A process of its own because llama.cpp
cannot be stopped inside one (leaving while it generates is a segmentation fault, stopping it at exit hangs).
"""

import os
import sys


def main() -> None:
    """Serves the model file named on the command line until standard input is closed."""
    import xllamacpp

    path, threads = sys.argv[1:3]
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.port = 0
    params.api_keys = [sys.stdin.readline().strip()]
    params.cors_origins = ""
    params.ui = False
    params.n_parallel = 1
    params.n_ctx = 0  # the window that the model was trained for
    params.sampling.temp = 0.0
    params.sampling.penalty_repeat = 1.1  # without it a small model repeats one sentence to the end
    params.cpuparams.n_threads = int(threads)
    params.cpuparams_batch.n_threads = int(threads)
    params.endpoint_slots = True
    params.verbosity = -1
    server = xllamacpp.Server(params)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
