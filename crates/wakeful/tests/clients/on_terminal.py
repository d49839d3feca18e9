"""Runs programs on a pseudo-terminal, one after another.

Each line of standard input is a JSON list: a program and its arguments. What
the terminal got is told as hexadecimal digits, with the exit code.
"""

import json
import os
import pty
import sys

from lines import tell


def run(arguments):
    process, terminal = pty.fork()
    if process == 0:
        os.execv(arguments[0], arguments)
    shown = b""
    while True:
        try:
            part = os.read(terminal, 1 << 16)
        except OSError:  # Linux: the program has closed its end
            part = b""
        if not part:
            break
        shown += part
    os.close(terminal)
    _, status = os.waitpid(process, 0)
    return os.waitstatus_to_exitcode(status), shown.hex()


if __name__ == "__main__":
    for line in sys.stdin:
        tell("ended", run(json.loads(line)))
