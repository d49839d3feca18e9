"""Runs the delivering code that `wakeful prompt --for` prints, as it was printed.

    pasted.py FILE TIMES DELIVERY...    deliver each so many times, then wait for the last

Time is the test's: a rest lasts until the test ends it, and then its seconds are over.
"""

import importlib.util
import json
import sys

from lines import rest, tell


class Time:
    passed = 0

    def monotonic(self):
        return self.passed

    def sleep(self, seconds):
        rest(seconds)
        self.passed += seconds


def load(path):
    spec = importlib.util.spec_from_file_location("wake", path)
    wake = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(wake)
    wake.time = Time()
    return wake


if __name__ == "__main__":
    try:
        wake = load(sys.argv[1])
    except ValueError as fault:
        tell("unusable", str(fault))
        sys.exit()
    try:
        for delivery in [json.loads(text) for text in sys.argv[3:]]:
            for _ in range(int(sys.argv[2])):
                delivery_id = wake.deliver(**delivery)
                tell("delivered", delivery_id)
        answer = wake.wait_for_answer(delivery_id)
        assert isinstance(answer, str)
        tell("answer", json.loads(answer))
    except wake.WakeError as fault:
        tell("failed", str(fault))
