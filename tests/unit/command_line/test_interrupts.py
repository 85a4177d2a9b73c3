"""Ctrl-C of a command: a second one ends what swallows the first, and no traceback is shown."""

import signal
import subprocess
import sys
import time

import pytest

from auxmc.command_line.interrupts import abort_on_second_interrupt

# Where the tests themselves run in the background, interrupts are ignored from the start.
BEGIN = """
import atexit, hashlib, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from auxmc.command_line.interrupts import abort_on_second_interrupt
"""
SWALLOWS = f"""{BEGIN}
with abort_on_second_interrupt():
    while True:
        try:
            print("begun", flush=True)
            while True:
                time.sleep(0.02)
        except KeyboardInterrupt:
            print("lost", flush=True)
"""
ENDS = f"""{BEGIN}
atexit.register(lambda: print("ending", flush=True) or time.sleep(20.0))
try:
    with abort_on_second_interrupt():
        print("begun", flush=True)
        time.sleep(20.0)
except KeyboardInterrupt:
    raise SystemExit(130)
"""


@pytest.mark.parametrize(("program", "said"), [(SWALLOWS, ("begun", "lost")), (ENDS, ("begun", "ending"))])
def test_a_second_interrupt_ends_what_swallows_the_first_or_ends_already(program, said):
    """An interrupt after each line that a program says."""
    with subprocess.Popen([sys.executable, "-c", program], stdout=-1, stderr=-1, text=True) as process:
        for line in said:
            assert process.stdout.readline() == f"{line}\n"
            process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "stopped at once; what is finished is kept\n"


def test_the_handler_of_interrupts_is_given_back():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with abort_on_second_interrupt():
            assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


LOSES = f"""{BEGIN}
class Callback:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

try:
    with abort_on_second_interrupt():
        Callback()
        time.sleep(20.0)
except KeyboardInterrupt:
    raise SystemExit(130)
"""


def test_an_interrupt_that_a_callback_loses_comes_again_without_a_traceback():
    done = subprocess.run([sys.executable, "-c", LOSES], capture_output=True, text=True, timeout=15)
    assert (done.returncode, done.stderr) == (130, "")


BUSY = f"""{BEGIN}
with abort_on_second_interrupt():
    print("begun", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2_000_000_000)
"""


LEAVES = """
import sys, threading, time
import auxmc.command_line as commands

def interrupted(options):
    # Python waits for this thread before it ends.
    threading.Thread(target=time.sleep, args=(60.0,)).start()
    print("begun")
    return 130

commands._run = interrupted
sys.argv = ["auxmc", "list"]
commands.main()
"""


def test_an_interrupted_command_does_not_wait_for_what_still_runs():
    done = subprocess.run([sys.executable, "-c", LEAVES], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (130, "begun\n", "")


def test_an_interrupt_while_a_compiled_program_runs_is_answered_and_a_second_one_ends_it():
    with subprocess.Popen([sys.executable, "-c", BUSY], stdout=-1, stderr=-1, text=True) as process:
        process.stdout.readline()
        # Until the program is in the call, which takes long on a busy machine.
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        said = process.stderr.readline()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert said == "stops after the present computation; Ctrl-C again stops at once\n"
    assert (process.returncode, errors) == (130, "stopped at once; what is finished is kept\n")
