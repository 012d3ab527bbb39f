# SPDX-License-Identifier: BSD-3-Clause
"""What a virtual cluster looks like: its options, how they are written, what is refused.

`LabOptions` is the checked form. `read_lab_options` makes one from what people type: `beowire lab
up` and the commands that have `--lab` take its parameters, so that all have the same options with
the same words. The `...Option` annotations are for typer.
"""

import re
from dataclasses import dataclass
from typing import Annotated

import typer

from beowire.errors import BeowireError
from beowire.places.lab.cards import CARDS, USUAL

MAX_NODES = 250
"""All nodes are in one /24."""

MIN_MTU = 68
"""The smallest that IPv4 allows (RFC 791)."""

MAX_MTU = 65521
"""The largest for which the whole frame, with its 14-byte header, is below 64 KiB."""

MIN_RATE_BITS_PER_S = 64_000

MAX_RATE_BITS_PER_S = 25_000_000_000
"""The highest rate at which streams were measured to take what the wire would (docs/LAB.md)."""

FRAME_BY_FRAME_BITS_PER_S = 1_000_000_000
"""Above this rate what a network card would cut passes in one piece. A frame takes 2.5 us through a
shaped link of single frames (AMD EPYC, family 25), and 1.2 us on a wire of 10 Gbit/s."""

MAX_DELAY_NS = 10_000_000_000
MIN_LOSS = 1e-8

DEFAULT_MTU = 1500

NodesOption = Annotated[int, typer.Option("--nodes", help="Number of nodes of the lab.")]
LinkOption = Annotated[
    str,
    typer.Option(
        "--link", help="direct: two nodes, one cable. switch: every node at a port of a switch."
    ),
]
MtuOption = Annotated[int, typer.Option("--mtu", help="MTU in bytes, 68 to 65521.")]
RateOption = Annotated[
    str | None,
    typer.Option(
        "--rate",
        help="Bits per second of every link, each way: 100M, 1g, 2.5Gbit; at most 25g, with --delay"
        " or --loss 1g. Default: no limit.",
    ),
]
DelayOption = Annotated[
    str | None,
    typer.Option("--delay", help="One-way delay between two nodes: 50us, 1ms. Default: none."),
]
LossOption = Annotated[
    str | None,
    typer.Option(
        "--loss",
        help="Share of the frames that get lost between two nodes: 1%, 0.01. Default: none.",
    ),
]
CongestionOption = Annotated[
    str | None,
    typer.Option(
        "--congestion",
        help="TCP's congestion control in every node: cubic, reno, bbr, as the kernel allows."
        " Default: cubic, or else reno.",
    ),
]
BackendOption = Annotated[
    str,
    typer.Option(
        "--backend",
        help="What nodes are: namespaces; vm: machines of QEMU with a kernel and a network card"
        " each; uml: namespaces in user-mode Linux.",
    ),
]
NicOption = Annotated[
    str | None,
    typer.Option("--nic", help=f"The card of --backend vm: {', '.join(CARDS)}. Default: {USUAL}."),
]
ModulesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--module",
        help="A module that the kernels of --backend vm or uml load, such as rdma_rxe. May be"
        " repeated. tipc is loaded anyway.",
    ),
]

BACKENDS = ("namespaces", "vm", "uml")


@dataclass(frozen=True)
class LabOptions:
    """A virtual cluster, checked: making one with bad values raises BeowireError.

    With a rate, a delay or a loss the lab's interfaces have segmentation offloads switched off,
    so that what is shaped, delayed or lost is a frame of at most the MTU, as on a real wire; except
    where `cards_cut`.
    """

    nodes: int = 2
    """Number of nodes, 2 to 250: node0, node1, ..."""

    link: str = "direct"
    """`direct`: exactly two nodes and one cable. `switch`: every node at a port of one switch."""

    mtu: int = DEFAULT_MTU
    """MTU of every interface in bytes, without the Ethernet header."""

    rate_bits_per_s: int | None = None
    """Speed of every link, each way, counting what a frame takes on a real wire (preamble, frame
    check sequence and gap: 24 bytes a frame). None: as fast as the machine can."""

    delay_ns: int = 0
    """Added to the way of a frame from one node to another; a round trip takes twice as much."""

    loss: float = 0.0
    """Probability with which a frame gets lost between two nodes: 0.01 is 1 %."""

    congestion: str | None = None
    """TCP's congestion control in every node, if the user named one: see congestion.py."""

    backend: str = "namespaces"
    """What nodes are: `namespaces`, `vm` (machines of QEMU) or `uml` (in user-mode Linux)."""

    nic: str = ""
    """The card of each node of `vm`, of CARDS."""

    modules: tuple[str, ...] = ()
    """What the kernels of `vm` and `uml` load besides what they need."""

    def __post_init__(self) -> None:
        """Refuses what no lab can be."""
        if self.link not in ("direct", "switch"):
            raise BeowireError(f"no link {self.link!r}: use --link direct or --link switch")
        if not 2 <= self.nodes <= MAX_NODES:
            raise BeowireError(f"a lab has 2 to {MAX_NODES} nodes, not {self.nodes}")
        if self.link == "direct" and self.nodes != 2:
            raise BeowireError(
                f"a direct link joins 2 nodes, not {self.nodes}: use --link switch for more"
            )
        if not MIN_MTU <= self.mtu <= MAX_MTU:
            raise BeowireError(f"the MTU is {MIN_MTU} to {MAX_MTU} bytes, not {self.mtu}")
        rate = self.rate_bits_per_s
        if rate is not None and not MIN_RATE_BITS_PER_S <= rate <= MAX_RATE_BITS_PER_S:
            raise BeowireError(f"the rate is 64k to 25g (bits per second), not {rate}")
        if not 0 <= self.delay_ns <= MAX_DELAY_NS:
            raise BeowireError(f"the delay is 0 to 10s, not {self.delay_ns}ns")
        if self.loss != 0 and not MIN_LOSS <= self.loss <= 1:
            raise BeowireError(f"the loss is 0, or 0.000001% to 100%, not {self.loss * 100:g}%")
        if self.cards_cut and (self.delay_ns > 0 or self.loss > 0):
            raise BeowireError(
                "with --delay or --loss the rate is at most 1g: frames pass one by one then, slower"
                " than such a wire"
            )
        object.__setattr__(self, "modules", tuple(self.modules))  # JSON has lists
        self._check_backend()

    def _check_backend(self) -> None:
        if self.backend not in BACKENDS:
            raise BeowireError(
                f"no back end {self.backend!r}: use --backend {' or '.join(BACKENDS)}"
            )
        if self.backend == "vm" and self.nic not in CARDS:
            raise BeowireError(f"no card {self.nic!r}: --nic is one of {', '.join(CARDS)}")
        if self.backend != "vm" and self.nic:
            raise BeowireError("--nic needs --backend vm")
        if self.backend == "namespaces" and self.modules:
            raise BeowireError(
                "--module needs --backend vm or uml: namespaces use the host's kernel"
            )
        for module in self.modules:
            if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", module, re.ASCII):
                raise BeowireError(f"no module of the kernel can be named {module!r}")
        if self.backend == "vm" and self.impaired:
            raise BeowireError(
                "--backend vm has no --rate, --delay or --loss: use `tc qdisc add dev eth0 root"
                " netem` in its nodes"
            )

    @property
    def impaired(self) -> bool:
        """Whether frames are shaped, delayed or lost on their way."""
        return self.rate_bits_per_s is not None or self.delay_ns > 0 or self.loss > 0

    @property
    def cards_cut(self) -> bool:
        """Whether what a network card would cut into frames passes shaped links in one piece."""
        rate = self.rate_bits_per_s
        return rate is not None and rate > FRAME_BY_FRAME_BITS_PER_S

    def describe(self) -> dict[str, object]:
        """These options as the `link` member of a record's meta line."""
        described: dict[str, object] = {
            "kind": "lab",
            "topology": self.link,
            "nodes": self.nodes,
            "mtu": self.mtu,
            "rate_bits_per_s": self.rate_bits_per_s,
            "delay_ns": self.delay_ns,
            "loss": self.loss,
        }
        if self.backend != "namespaces":
            described["backend"] = self.backend
        if self.nic:
            described["nic"] = self.nic
        return described


def read_lab_options(
    *,
    nodes: NodesOption = 2,
    link: LinkOption = "direct",
    mtu: MtuOption = DEFAULT_MTU,
    rate: RateOption = None,
    delay: DelayOption = None,
    loss: LossOption = None,
    congestion: CongestionOption = None,
    backend: BackendOption = "namespaces",
    nic: NicOption = None,
    modules: ModulesOption = None,
) -> LabOptions:
    """Makes checked options from what the user typed; raises BeowireError with one line. Commands
    have its parameters as options: `commands.options.with_lab_options`."""
    return LabOptions(
        nodes=nodes,
        link=link,
        mtu=mtu,
        rate_bits_per_s=None if rate is None else parse_rate(rate),
        delay_ns=0 if delay is None else parse_delay(delay),
        loss=0.0 if loss is None else parse_loss(loss),
        congestion=congestion,
        backend=backend,
        nic=(USUAL if backend == "vm" else "") if nic is None else nic,
        modules=tuple(modules or ()),
    )


_NUMBER = r"(\d+(?:\.\d*)?|\.\d+)"
_RATE = re.compile(_NUMBER + r"\s*([kmgt]?)(?:bit|bits|bps|bit/s)?", re.IGNORECASE | re.ASCII)
_RATE_FACTOR = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_DELAY = re.compile(_NUMBER + r"\s*(ns|us|µs|ms|s)?", re.IGNORECASE | re.ASCII)
_DELAY_FACTOR = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9}
_LOSS = re.compile(_NUMBER + r"\s*(%?)", re.ASCII)


def parse_rate(text: str) -> int:
    """Bits per second from `1g`, `10G`, `100mbit`, `2.5Gbit/s` or a plain number."""
    found = _RATE.fullmatch(text.strip())
    if not found:
        raise BeowireError(f"cannot read the rate {text!r}: write bits per second, as 100M or 1g")
    return round(float(found[1]) * _RATE_FACTOR[found[2].lower()])


def parse_delay(text: str) -> int:
    """Nanoseconds from `50us`, `1.5ms`, `200ns` or `1s`; a unit is needed unless it is 0."""
    found = _DELAY.fullmatch(text.strip())
    if not found or (found[2] is None and float(found[1]) != 0):
        raise BeowireError(
            f"cannot read the delay {text!r}: write it with its unit, as 50us or 1ms"
        )
    return round(float(found[1]) * _DELAY_FACTOR[(found[2] or "ns").lower()])


def parse_loss(text: str) -> float:
    """A fraction from `1%`, `0.001 %` or `0.01`."""
    found = _LOSS.fullmatch(text.strip())
    fraction = float(found[1]) / (100 if found[2] else 1) if found else 2.0
    if fraction > 1:
        raise BeowireError(
            f"cannot read the loss {text!r}: write a share of the frames, as 1% or 0.01"
        )
    return fraction
