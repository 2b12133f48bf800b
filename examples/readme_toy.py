"""The example of the README: a function with a graph break, dumped stage by stage.

python examples/readme_toy.py [DIRECTORY] [BACKEND]        default: readme_toy_dump inductor

Afterwards ``depyf.debug()`` pauses for breakpoints, if you run it in a terminal.
"""

import sys

import torch

import depyf


def toy_example(a, b):
    x = a / (torch.abs(a) + 1)
    if b.sum() < 0:
        b = b * -1
    return x * b


def main() -> None:
    directory = sys.argv[1] if len(sys.argv) > 1 else "readme_toy_dump"
    backend = sys.argv[2] if len(sys.argv) > 2 else "inductor"
    compiled = torch.compile(toy_example, backend=backend)

    def run() -> None:
        for sign in (1, -1):  # both branches, so that both are compiled
            a = torch.randn(10, requires_grad=True)
            compiled(a, torch.rand(10) * sign).sum().backward()

    with depyf.prepare_debug(directory):
        run()
    print(f"Look into {directory}: full_code_for_toy_example_0.py first.")
    with depyf.debug():
        run()


if __name__ == "__main__":
    main()
