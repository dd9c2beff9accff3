"The command line in the process of a test."
import contextlib
import io
from typing import NamedTuple

from discrete_score import cli


class Done(NamedTuple):
    "How a command ended."
    code: int
    out: str
    err: str


def in_shell(*argv):
    "Run the command line in this process."
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try: code = cli.main(list(map(str, argv)))
        except SystemExit as end: code = end.code
    return Done(code, out.getvalue(), err.getvalue())
