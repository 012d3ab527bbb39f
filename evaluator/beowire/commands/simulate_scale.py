# SPDX-License-Identifier: BSD-3-Clause
"""`beowire simulate scale`: how well the protocol does on many simulated nodes."""

import json
import subprocess
import sys
from typing import Annotated, Any

import typer

from beowire import text_table
from beowire.errors import BeowireError
from beowire.paths import simulator
from beowire.places.lab.options import parse_delay, parse_rate
from beowire.sizes import parse_size
from beowire.units import bit_rate_text, rate_text, size_text, time_text

WORKLOADS = (
    "incast",
    "all-to-all",
    "ring-allreduce",
    "tree-allreduce",
    "w1",
    "w2",
    "w3",
    "w4",
    "w5",
)


def register(group: typer.Typer) -> None:
    """Adds the command."""
    group.command("scale")(scale)


def scale(
    *,
    workload: Annotated[
        str, typer.Option("--workload", metavar="NAME", help=f"One of {', '.join(WORKLOADS)}.")
    ] = "w4",
    nodes: Annotated[int, typer.Option("--nodes", help="Nodes, 2 to 20000.")] = 144,
    rate: Annotated[str, typer.Option("--rate", help="Of each port, as 1g.")] = "10g",
    delay: Annotated[str, typer.Option("--delay", help="Of each cable, as 1us.")] = "1us",
    buffer: Annotated[
        str, typer.Option("--buffer", metavar="SIZE", help="Memory of a switch, for all ports.")
    ] = "1500000",
    alpha: Annotated[
        int,
        typer.Option(
            "--alpha",
            metavar="PERCENT",
            help="A port's queue may be so much of what is free. 0: all of it.",
        ),
    ] = 100,
    leaf: Annotated[
        int, typer.Option("--leaf", help="Nodes of a leaf switch. 0: one switch for all.")
    ] = 0,
    spines: Annotated[int, typer.Option("--spines", help="Switches that join leaves.")] = 4,
    size: Annotated[
        str | None,
        typer.Option("--size", metavar="SIZE", help="Of each message; of allreduce, of all."),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", help="Messages of each sender (incast).")] = 1,
    messages: Annotated[int, typer.Option("--messages", help="In all (w1 to w5).")] = 20000,
    load: Annotated[
        int, typer.Option("--load", metavar="PERCENT", help="Of each port (w1 to w5).")
    ] = 80,
    tcp: Annotated[int, typer.Option("--tcp", help="Further nodes, which always send by TCP.")] = 0,
    host_ns: Annotated[
        int, typer.Option("--host-cost", metavar="NS", help="Of a node, for each frame.")
    ] = 100,
    cold: Annotated[bool, typer.Option("--cold", help="Begin without connections.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Another seed is another run.")] = 1,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print JSON (the default if standard output is not a terminal)."
        ),
    ] = False,
) -> None:
    """Shows how well the protocol does on many simulated nodes.

    A seed always gives the same run. Exit status 0: every message was received.
    """
    if workload not in WORKLOADS:
        raise BeowireError(f"no workload {workload!r}: there are {', '.join(WORKLOADS)}")
    words: dict[str, int | str] = {
        "--workload": workload,
        "--nodes": nodes,
        "--rate": parse_rate(rate),
        "--delay-ns": parse_delay(delay),
        "--buffer": parse_size(buffer),
        "--alpha": alpha,
        "--leaf": leaf,
        "--spines": spines,
        "--rounds": rounds,
        "--messages": messages,
        "--load": load,
        "--tcp": tcp,
        "--host-ns": host_ns,
        "--cold": int(cold),
        "--seed": seed,
    }
    if size is not None:
        words["--bytes"] = parse_size(size)
    record = _run([str(word) for pair in words.items() for word in pair])
    if as_json or not sys.stdout.isatty():
        print(json.dumps(record, allow_nan=False))
    else:
        print(text_table.for_stream("\n".join(lines(record)), sys.stdout))
    if record["received"] != record["messages"]:
        raise typer.Exit(1)


def _run(words: list[str]) -> dict[str, Any]:
    done = subprocess.run(
        [str(simulator()), "scale", *words],
        capture_output=True,
        check=False,
        text=True,
    )
    try:
        record: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        said = done.stderr.strip().removeprefix("beowire-simulate scale: ")
        raise BeowireError(said or f"the simulator ended with {done.returncode}") from None
    return record


def lines(record: dict[str, Any]) -> list[str]:
    """The result for people."""
    found = [
        f"{record['workload']} on {record['nodes']} nodes,"
        f" {bit_rate_text(record['rate_bits_per_s'])} a port:"
        f" {record['received']} of {record['messages']} messages received,"
        f" {size_text(record['bytes'])} in {time_text(record['time_ns'])}",
    ]
    if "goodput_bytes_per_s" in record:
        found.append(
            f"goodput {rate_text(record['goodput_bytes_per_s'])},"
            f" {record['share_of_ideal']:.2f} times the ideal; fairness {record['fairness']:.2f}"
        )
    found.append(
        f"{record['frames']} frames; {record['frames_dropped']} dropped by switches,"
        f" {record['frames_dropped_by_nodes']} by nodes, {record['frames_again']} sent again"
    )
    if "tcp_share_of_fair" in record:
        found.append(
            f"of a fair share of the port, TCP had {record['tcp_share_of_fair']:.2f} and Beowire"
            f" {record['own_share_of_fair']:.2f}"
        )
    found += [
        f"buffer used at most: {size_text(record['buffer_bytes_most'])} of a switch,"
        f" {size_text(record['queue_bytes_most'])} of a port;"
        f" memory of a node {size_text(record['memory_bytes_per_node'])}",
        "slowdown (time from posting to receiving, to the least possible), by length:",
    ]
    tenths = [one for one in record["tenths"] if one["messages"]]
    columns = [
        ["bytes", *(f"{one['shortest']} to {one['longest']}" for one in tenths)],
        ["median", *(f"{one['median']:.2f}" for one in tenths)],
        ["p99", *(f"{one['p99']:.2f}" for one in tenths)],
    ]
    aligned = [text_table.to_the_right(column) for column in columns]
    found += ["  " + "  ".join(row) for row in zip(*aligned, strict=True)]
    return [*found, f"trace {record['trace_hash']}"]
