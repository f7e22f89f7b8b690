"""`moorage trace`: what a trace holds, and traces of job lists."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from moorage.cli.completion import files
from moorage.cli.groups import Commands
from moorage.cli.setup import BadInput, errors_in_lines, output_option, print_json, verbose_option

if TYPE_CHECKING:
    from moorage.what_if.trace.changes import Trace

_file = click.Path(path_type=Path, dir_okay=False)


@click.group(cls=Commands)
def trace() -> None:
    """Show what a recording holds, or make one of a list of jobs.

    \b
    Examples:
      moorage trace show monday.moor
      moorage trace import jobs.csv --nodes nodes.yaml --out jobs.moor
    """


@trace.command()
@click.argument("file", type=_file, shell_complete=files)
@output_option
@verbose_option
def show(file: Path, output: str, verbose: bool) -> None:
    """Tell where a trace comes from, its span of time, how many objects of each kind it has, and its size.

    With -o json: `file`, `bytes`, `source`, `anonymized`, `began`, `ended` (seconds since 1970), `changes`
    and `kinds` (kind to `objects`, `changes` and `atOnce`, the most there were at a time).

    \b
    Examples:
      moorage trace show monday.moor
      moorage trace show monday.moor -o json
    """
    with errors_in_lines(verbose):
        from moorage.cli import interrupts

        interrupts.raise_again()
        found = _read(file)
        document = _summary(file, found)
    if output == "json":
        print_json(document)
    else:
        _print(document)
    sys.stdout.flush()


@trace.command("import")
@click.argument("jobs", metavar="JOBS.CSV", shell_complete=files)
@click.option("--out", required=True, type=_file, metavar="FILE", shell_complete=files, help="The new trace.")
@click.option(
    "--nodes",
    metavar="FILE",
    shell_complete=files,
    help="The nodes: manifests in YAML or JSON, or a table that ends in .csv.",
)
@click.option("--source", metavar="TEXT", help="Where the jobs are from, if not the name of the file.")
@verbose_option
def import_jobs(jobs: str, out: Path, nodes: str | None, source: str | None, verbose: bool) -> None:
    """Make a trace of a list of jobs: a CSV file with a row for each and names of columns in the first.

    \b
      name          needed; repeated names get the number of their row
      submitted     needed: 2026-01-31T12:00:00Z, or seconds
      seconds       how long it ran, 90 or 1h30m; empty if it never ends
      namespace     default
      cpu, memory   what each asks for, such as 500m and 4Gi
      gpu           nvidia.com/gpu
      a.example/b   any other resource, by its name
      priority      a whole number
      count         so many pods of the kind
      nodeSelector  labels that its node must have, such as disk=ssd zone=a
      annotation:a.example/b   any annotation, for plugins that read it

    The table of --nodes has the columns name, count, labels, cpu, memory, gpu, pods and other resources.
    Without --nodes the trace has no nodes: give them to whoever replays it. JOBS.CSV may be - for standard
    input.

    \b
    Examples:
      moorage trace import jobs.csv --out jobs.moor
      moorage trace import jobs.csv --nodes nodes.csv --out jobs.moor
      moorage trace import openb.csv --source "openb, by Alibaba" --out openb.moor
    """
    with errors_in_lines(verbose):
        if out.exists():
            raise BadInput(f"--out: {out} exists; give a new file")
        from moorage.what_if.trace.job_lists import BadTable

        try:
            count = _import(jobs, out, nodes, source)
        except BadTable as error:
            raise BadInput(str(error)) from None
        except OSError as error:
            raise BadInput(f"--out: {out}: {error.strerror or error}; give another file") from None
    click.echo(f"{out}: {count:,} {'pod' if count == 1 else 'pods'}")


def _import(jobs: str, out: Path, nodes: str | None, source: str | None) -> int:
    from moorage.what_if.trace.changes import Head
    from moorage.what_if.trace.files import TraceWriter
    from moorage.what_if.trace.job_lists import read_jobs

    lines, name = _lines(jobs)
    moments = read_jobs(lines, name)
    if not moments:
        raise BadInput(f"{name}: there is no job in it; give it rows")
    objects = [] if nodes is None else _nodes(nodes)
    began = moments[0].time
    with TraceWriter(out, Head(began=began, source=source or name)) as trace:
        for document in objects:
            trace.put(began, document)
        for moment in moments:
            (trace.gone if moment.gone else trace.put)(moment.time, moment.pod)
    return len({moment.pod["metadata"]["uid"] for moment in moments})


def _nodes(file: str) -> list[dict[str, Any]]:
    from moorage.cli.manifest_files import read_manifests
    from moorage.what_if.trace.job_lists import read_nodes

    if file.endswith(".csv"):
        return read_nodes(*_lines(file))
    found = read_manifests(file)
    return [{"apiVersion": item.api_version(), "kind": item.kind, **item.raw} for item in found]


def _lines(file: str) -> tuple[list[str], str]:
    from moorage.cli.setup import read_input
    from moorage.config.problems import ConfigError

    try:
        data, name = read_input(file)
    except ConfigError as error:
        raise BadInput(str(error)) from None
    try:
        return data.decode("utf-8-sig").splitlines(keepends=True), name
    except UnicodeDecodeError as error:
        raise BadInput(f"{name}: not text in UTF-8 at byte {error.start}; save it as such") from None


def _read(file: Path) -> Trace:
    from moorage.what_if.trace.files import BadTrace, read_trace

    try:
        return read_trace(file)
    except BadTrace as error:
        raise BadInput(str(error)) from None
    except OSError as error:
        raise BadInput(
            f"{file}: {error.strerror or error}; give a file that `moorage record` wrote"
        ) from None


def _summary(file: Path, found: Trace) -> dict[str, Any]:
    from moorage.what_if.trace.files import BadTrace

    kinds: dict[str, dict[str, int]] = {}
    there: dict[str, set[str]] = {}
    ended, changes = found.head.began, 0
    try:
        for change in found:
            item = change.item
            counts = kinds.setdefault(item.kind, {"objects": 0, "changes": 0, "atOnce": 0})
            known = there.setdefault(item.kind, set())
            key = f"{item.api_version()} {item.key}"
            if key not in known:
                counts["objects"] += 1
                known.add(key)
            if change.gone:
                known.discard(key)
            counts["changes"] += 1
            counts["atOnce"] = max(counts["atOnce"], len(known))
            ended, changes = change.time, changes + 1
    except BadTrace as error:
        raise BadInput(str(error)) from None
    return {
        "file": str(file),
        "bytes": file.stat().st_size,
        "source": found.head.source,
        "anonymized": found.head.anonymized,
        "began": found.head.began,
        "ended": ended,
        "changes": changes,
        "kinds": dict(sorted(kinds.items())),
    }


def _print(summary: dict[str, Any]) -> None:
    from datetime import UTC, datetime

    from moorage.cli.tables import print_table
    from moorage.cli.terminal.printable import printable
    from moorage.cli.trying.amounts import bytes_in_words, seconds_in_words

    began, ended = (
        datetime.fromtimestamp(summary[name], UTC).strftime("%Y-%m-%d %H:%M:%S")
        for name in ("began", "ended")
    )
    click.echo(f"From {printable(summary['source']) or 'nowhere known'}", nl=False)
    click.echo(", without its names" if summary["anonymized"] else "")
    click.echo(f"{began} to {ended} UTC: {seconds_in_words(summary['ended'] - summary['began'])}")
    click.echo(f"{summary['changes']:,} changes in {bytes_in_words(summary['bytes'])}")
    if summary["kinds"]:
        click.echo("")
        rows = [
            (kind, *(f"{counts[name]:,}" for name in ("objects", "changes", "atOnce")))
            for kind, counts in summary["kinds"].items()
        ]
        print_table(("KIND", "OBJECTS", "CHANGES", "AT ONCE"), rows)
