"""Reports and looks, for the tests: as report.c."""
import signal
import sys
import time

import godwit

godwit.set_steps(1, 8)
godwit.add_steps(2)
godwit.add_steps(-5)
godwit.begin_phase('so"lve')
godwit.send_message('half\n"done" \\ é')
print("agent %d checkpoint %d stop %d" % (godwit.has_agent(), godwit.checkpoint_wanted(), godwit.stop_wanted()), flush=True)
if len(sys.argv) > 1:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print("ready", flush=True)
    while not godwit.stop_wanted():
        time.sleep(0.01)
    print("stop seen")
