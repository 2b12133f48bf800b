"""What a printed graph does not say: gradients, symbol values, constants, and how AOTAutograd calls it.

Frozen records of plain data: ``graph_reading`` makes them while torch reports a graph, ``report.graph_inputs`` writes
them down and ``depyf.gallery`` reads them.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TensorFacts:
    """A tensor's layout; sizes and strides as torch writes them (``s77*2``) and as the numbers they stood for."""

    dtype: str
    size: tuple[str, ...]
    stride: tuple[str, ...]
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0
    device: str = "cpu"
    requires_grad: bool = False
    leaf: bool = True
    layout: str = "torch.strided"
    subclass: str = ""


@dataclass(frozen=True, slots=True)
class InputFacts:
    """One input of a graph.  ``kind``: tensor, int, float, bool, or the name of a type that is none of these."""

    name: str
    kind: str
    source: str = ""
    role: str = "input"
    """``parameter``, ``buffer`` or ``input``."""
    tensor: TensorFacts | None = None
    symbol: str = ""
    value: int | float | bool | None = None
    """Of a number, also of one that torch passes as a tensor."""
    storage: tuple[int, int] | None = None
    """Inputs with the same number are views of one storage; its length in bytes."""
    passed: tuple[float, float] | None = None
    """The smallest and the largest element that the program passed; None where they were not read."""


@dataclass(frozen=True, slots=True)
class ConstantFacts:
    """An attribute that the graph reads: a tensor with its values where there are few, or a plain value."""

    name: str
    kind: str
    tensor: TensorFacts | None = None
    values: tuple[int | float | bool, ...] | None = None
    """The elements in order; None where there are too many."""
    low: float | int | None = None
    high: float | int | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class AotFacts:
    """How AOTAutograd's runtime calls a forward graph and reads what it returns."""

    inputs: int
    """How many inputs it takes, before tensor subclasses are unwrapped."""
    mutated: tuple[int, ...] = ()
    """Inputs whose new values the graph returns first."""
    mutated_tangents: tuple[int, ...] = ()
    """Those among them that have a tangent in the backward graph."""
    outputs: tuple[str, ...] = ()
    """What each output of the user's graph is: ``non_alias``, ``alias_of_input``, ..."""
    output_tangents: tuple[int, ...] = ()
    output_bases: tuple[int | None, ...] = ()
    bases: int = 0
    """Intermediate results returned because outputs are views of them."""
    tokens: int = 0
    subclasses: bool = False


@dataclass(frozen=True, slots=True)
class LayerFacts:
    """Which module of the program each operation of a graph belongs to."""

    modules: tuple[tuple[str, str, int], ...] = ()
    """Each entering of a module: torch's path (``L['self'].h.0``), the name of the class, and the place of the module
    around it; -1 for none."""
    layers: tuple[tuple[str, int], ...] = ()
    """Operation -> the place of the innermost module; operations of no module are left out."""


@dataclass(frozen=True, slots=True)
class ModeFacts:
    """The state of torch while a graph is called."""

    grad: bool
    inference: bool = False
    autocast: dict[str, str] = field(default_factory=dict)
    """Device -> dtype."""
    deterministic: bool = False
    default_dtype: str = ""
    """"" for float32."""


@dataclass(frozen=True, slots=True)
class GraphFacts:
    """Everything known about one graph."""

    inputs: tuple[InputFacts, ...] = ()
    constants: tuple[ConstantFacts, ...] = ()
    symbols: tuple[tuple[str, int | float], ...] = ()
    modes: ModeFacts | None = None
    """None where torch did not tell."""
    aot: AotFacts | None = None
    functions: tuple[tuple[str, str], ...] = ()
    """Names of functions that torch made for the text (NumPy's on tensors) -> the expression that makes each."""
    layers: LayerFacts = LayerFacts()
