"""The table of a sweep: one row per model, columns per backend and mode, failures with their reasons, sums."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tools.torch.models.rows import Row

Results = Mapping[tuple[str, str, str], Mapping[str, Any]]


def lines(rows: Sequence[Row], results: Results, keys: Sequence[tuple[str, str, str]]) -> list[str]:
    """The whole table as Markdown; ``keys`` are the tasks that were asked for."""
    return [
        *_models(rows, results, keys),
        "",
        *_failures(results, keys),
        *_left_out(results, keys),
        *summary(results, keys),
    ]


def _models(rows: Sequence[Row], results: Results, keys: Sequence[tuple[str, str, str]]) -> list[str]:
    columns = list(dict.fromkeys((backend, mode) for _, mode, backend in keys))
    found = [
        "| model | built as | " + " | ".join(f"{backend} {mode}" for backend, mode in columns)
        + " | frames | breaks | recompiles | verdicts | temporaries | graphs run | compile time |",
        "|---" * (len(columns) + 9) + "|",
    ]  # fmt: skip
    for row in rows:
        mine = [results.get((row.name, mode, backend)) for backend, mode in columns]
        known = [item for item in mine if item]
        if not known:
            continue
        states = [item["status"] if item else "-" for item in mine]
        built = row.target if row.target != row.name else ""
        found.append(
            f"| {row.name} | {built}{f' ({row.note})' if row.note else ''} | {' | '.join(states)} | {_range(known, 'frames')} "
            f"| {_range(known, 'breaks')} | {_range(known, 'recompiles')} | {_verdicts(known)} | {_range(known, 'temporaries')} "
            f"| {_graphs(known)} | {_range(known, 'ratio')}x |"
        )
    return found


def _range(items: Sequence[Mapping[str, Any]], name: str) -> str:
    """What the runs of one model say, as one number or as a range."""
    values = [item.get(name, 0) for item in items]
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low}-{high}"


def _verdicts(items: Sequence[Mapping[str, Any]]) -> str:
    total: dict[str, int] = {}
    for item in items:
        for name, count in item.get("verdicts", {}).items():
            total[name] = total.get(name, 0) + count
    return ", ".join(f"{count} {name}" for name, count in sorted(total.items()))


def _graphs(items: Sequence[Mapping[str, Any]]) -> str:
    return f"{sum(item.get('graphs_run', 0) for item in items)}/{sum(item.get('graphs', 0) for item in items)}"


def _failures(results: Results, keys: Sequence[tuple[str, str, str]]) -> list[str]:
    bad = [(key, results[key]) for key in keys if key in results and results[key]["status"] != "ok"]
    if not bad:
        return []
    return [
        "Failures:",
        "",
        *(f"- {model}, {mode}, {backend}: {item['status']}: {item['reason']}" for (model, mode, backend), item in bad),
        "",
    ]


def _left_out(results: Results, keys: Sequence[tuple[str, str, str]]) -> list[str]:
    """Graphs that the gallery has no script for."""
    found = [(key, reason) for key in keys for reason in results.get(key, {}).get("left_out", ())]
    if not found:
        return []
    return [
        "Graphs without a script:",
        "",
        *(f"- {model}, {mode}, {backend}: {reason}" for (model, mode, backend), reason in found),
        "",
    ]


def summary(results: Results, keys: Sequence[tuple[str, str, str]]) -> list[str]:
    """Per backend and mode: how many of what was asked for ran, and how they ended."""
    found = [
        "| backend | mode | asked | run | ok | frames | temporaries | graphs run | median compile time | not ok |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for backend, mode in dict.fromkeys((backend, mode) for _, mode, backend in keys):
        asked = [key for key in keys if key[1:] == (mode, backend)]
        known = [results[key] for key in asked if key in results]
        ok = [item for item in known if item["status"] == "ok"]
        others: dict[str, int] = {}
        for item in known:
            if item["status"] != "ok":
                others[item["status"]] = others.get(item["status"], 0) + 1
        ratios = sorted(item["ratio"] for item in ok if item.get("ratio"))
        median = f"{ratios[len(ratios) // 2]:.2f}x" if ratios else ""
        found.append(
            f"| {backend} | {mode} | {len(asked)} | {len(known)} | {len(ok)} | {_sum(known, 'frames')} | {_sum(known, 'temporaries')} "
            f"| {_sum(known, 'graphs_run')}/{_sum(known, 'graphs')} | {median} | {', '.join(f'{n} {s}' for s, n in sorted(others.items()))} |"
        )
    return found


def _sum(items: Iterable[Mapping[str, Any]], name: str) -> int:
    return sum(item.get(name, 0) for item in items)
