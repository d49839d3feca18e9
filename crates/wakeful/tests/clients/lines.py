"""How a client and the test that started it talk: one line at a time."""

import json
import sys
import time

_really_sleep = time.sleep


def tell(word, value):
    print(word, json.dumps(value), flush=True)


def rest(seconds):
    """A short rest is taken; a long one lasts until the test says so."""
    tell("resting", seconds)
    if seconds <= 5:
        _really_sleep(seconds)
        return
    if not sys.stdin.readline():
        sys.exit("the test is gone")


def hear():
    return sys.stdin.readline().strip()
