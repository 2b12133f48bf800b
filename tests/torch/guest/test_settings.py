"""torch compiles under ``prepare_debug``: no setting of the process is changed by us, other threads and children see nothing."""

from __future__ import annotations

import subprocess
import sys
import textwrap

_SAMPLED = """
import gc, os, signal, sys, threading, time, warnings
import torch, depyf

source = "def big(x, n):\\n" + "".join(f"    if n == {i}:\\n        return x.sin() + {i}\\n" for i in range(600)) + "    return x\\n"
exec(source)

def settings():
    return (sys.getrecursionlimit(), sys.getswitchinterval(), gc.get_threshold(), gc.isenabled(), sys.getprofile(),
            [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)], sys.excepthook, sys.displayhook,
            threading.excepthook, sys.unraisablehook, sys.stdout, sys.stderr, os.getcwd(), dict(os.environ))

calls = []
OURS = os.path.dirname(depyf.__file__) + os.sep
import _thread, faulthandler, locale
def watch(module, name):
    before = getattr(module, name)
    def noted(*args, **kwargs):
        frame = sys._getframe(1)
        if frame.f_code.co_filename.startswith(OURS):
            calls.append((name, frame.f_code.co_filename, frame.f_lineno))
        return before(*args, **kwargs)
    setattr(module, name, noted)
for module, names in ((sys, "setrecursionlimit setswitchinterval settrace setprofile"), (gc, "set_threshold disable enable freeze"),
                      (threading, "stack_size settrace setprofile"), (_thread, "stack_size"), (signal, "signal alarm setitimer"),
                      (warnings, "simplefilter filterwarnings resetwarnings"), (faulthandler, "enable"),
                      (locale, "setlocale"), (os, "umask chdir")):
    for name in names.split():
        watch(module, name)

torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))  # what torch sets when it is used first
def sample(note, over):
    while not over.is_set():
        note(settings())
        time.sleep(0.0005)
known = [[value] for value in settings()]  # and what torch itself sets while it compiles (2.15: when rubbish is collected)
compiled = threading.Event()
sampling = threading.Thread(target=sample, args=(lambda now: [seen.append(value) for seen, value in zip(known, now) if value not in seen], compiled))
sampling.start()
torch.compile(big, backend="eager")(torch.ones(2), 599)
compiled.set()
sampling.join()
torch._dynamo.reset()
expected, differences, over = settings(), [], threading.Event()
def look():
    sample(lambda now: differences.extend((a, seen) for a, seen in zip(now, known) if a not in seen), over)
def overflow():
    overflow()
def handle():
    while not over.is_set():
        try:
            overflow()
        except RecursionError:
            time.sleep(0.01)
threads = [threading.Thread(target=target) for target in (look, handle)]
for thread in threads: thread.start()
with depyf.prepare_debug(FOLDER):
    result = torch.compile(big, backend="eager")(torch.ones(2), 599)
    assert "return x.sin() + 598" in depyf.decompile(big)
    pid = os.fork()
    if pid == 0:
        os._exit(0 if (gc.get_threshold(), sys.getrecursionlimit()) == (expected[2], expected[0]) else 1)
    child = os.waitpid(pid, 0)[1]
over.set()
for thread in threads: thread.join()
print("differences", differences[:3], "calls", calls[:3], "child", child, bool((result == torch.ones(2).sin() + 599).all()))
"""


def test_while_torch_compiles(tmp_path):
    program = textwrap.dedent(_SAMPLED).replace("FOLDER", repr(str(tmp_path / "dump")))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=500)
    assert done.stdout == "differences [] calls [] child 0 True\n", (done.returncode, done.stdout, done.stderr[-3000:])
