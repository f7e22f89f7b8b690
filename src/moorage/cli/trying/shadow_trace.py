"""`moorage shadow --trace`: judges what was recorded, instead of what happens."""

from __future__ import annotations

from pathlib import Path

from moorage.cli.setup import BadInput, Setup
from moorage.cli.trying.inputs import problems_of_trace
from moorage.cli.trying.shadow_process import ShadowOptions, check, report
from moorage.cli.trying.shadow_words import Teller
from moorage.process.judged_trace import JudgedTrace
from moorage.what_if.trace.files import BadTrace, read_trace


def judge_trace(file: str, options: ShadowOptions, setup: Setup) -> int:
    """Judges every choice in the file; returns the exit code. Ctrl-C ends it with what was judged so far."""
    check(options, setup)
    with problems_of_trace(file):
        trace = read_trace(Path(file))
    judged = JudgedTrace(
        trace,
        setup.config,
        setup.registry,
        theirs=options.other_percentage,
        on_verdict=lambda each: teller.tell(each),
    )
    teller = Teller(judged.tally, as_json=options.as_json)
    try:
        judged.run()
    except KeyboardInterrupt:
        pass
    except BadTrace as error:
        raise BadInput(str(error)) from None
    finally:
        teller.clear_line()
    return report(options, judged.judge, teller, file)
