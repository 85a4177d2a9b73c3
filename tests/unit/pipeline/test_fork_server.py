import os
import subprocess
import sys
import time

import pytest

from auxmc_pipeline.fork_server import ADDRESS, fork_server

CLIENT = [sys.executable, "-m", "auxmc_pipeline.fork_server"]
SAY_PARENT = ["timeit", "-n1", "-r1", "import os; print('parent', os.getppid())"]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="a server runs on Linux alone")


@pytest.fixture(scope="module")
def served():
    with fork_server() as environment:
        yield environment


def client(environment, *words, **settings):
    settings |= {"env": environment, "capture_output": True, "text": True, "timeout": 120}
    return subprocess.run([*CLIENT, *words], **settings)


def test_commands_run_in_forks_of_one_process_in_their_own_folder_and_environment(served, tmp_path):
    assert len({client(served, *SAY_PARENT).stdout.split("\n")[0] for _ in range(2)}) == 1
    script = "import os; print(os.getcwd(), os.environ['WORD'])"
    done = client(served | {"WORD": "own"}, "timeit", "-n1", "-r1", script, cwd=tmp_path)
    assert done.stdout.startswith(f"{tmp_path} own\n")


def test_status_and_messages_are_those_of_the_command(served):
    words = ("auxmc_pipeline.steps.run", "study=radom")
    for environment in (served, {name: text for name, text in served.items() if name != ADDRESS}):
        done = client(environment, *words)
        assert done.returncode == 2
        assert "Did you mean 'radon'?" in done.stderr
    assert client(served, "timeit", "-n1", "-r1", "import os; os.kill(os.getpid(), 9)").returncode == 1
    assert client(served, "no_such_module").returncode == 1


def test_a_command_ends_with_its_client(served):
    words = ["timeit", "-n1", "-r1", "import os, time; print(os.getpid(), flush=True); time.sleep(300)"]
    with subprocess.Popen([*CLIENT, *words], env=served, stdout=subprocess.PIPE, text=True) as process:
        fork = int(process.stdout.readline())
        process.kill()
    for _ in range(600):
        try:
            os.kill(fork, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the fork is still alive")


def test_without_a_server_a_command_runs_in_its_own_process(tmp_path):
    environment = os.environ | {ADDRESS: str(tmp_path / "nobody")}
    assert client(environment, *SAY_PARENT).stdout.split("\n")[0] == f"parent {os.getpid()}"
