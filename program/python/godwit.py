"""What a program that Godwit runs can report, and see.

    import godwit

    for step in range(1000):
        godwit.set_steps(step, 1000)
        if godwit.stop_wanted():
            save()
            break

No call waits for anybody, and none fails: without Godwit they do nothing. One file, which needs
nothing but Python (3.6 or later); docs/program-protocol.md describes what lies below.
"""

import json as _json
import mmap as _mmap
import os as _os
import socket as _socket
import struct as _struct
import sys as _sys
import threading as _threading

__all__ = ["has_agent", "set_steps", "add_steps", "begin_phase", "send_message", "stop_wanted",
           "checkpoint_wanted", "size", "offered_size", "accept_size", "want_size"]

_SIZE = 4096
_VERSION = 1
_STOP, _CHECKPOINT, _DONE, _ALL, _PHASE = 64 // 8, 72 // 8, 128 // 8, 136 // 8, 144 // 8
_OFFER, _OFFER_SERIAL, _HELD, _HELD_SERIAL = 80 // 8, 88 // 8, 96 // 8, 104 // 8
_ACCEPT, _ACCEPT_SERIAL, _WANT, _WANT_SERIAL = 152 // 8, 160 // 8, 168 // 8, 176 // 8
_MAX_STEPS = 1 << 53
_MAX_TEXT, _MAX_PHASE_NAME = 1000, 100


def _is_other_rank():
    for name in ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"):
        rank = _os.environ.get(name, "")
        if rank:
            return rank != "0"
    return False


def _open_page(folder):
    """The page as numbers of 8 bytes, or None. One assignment to an element writes all of it."""
    if not folder.startswith("/") or _sys.byteorder != "little":
        return None
    try:
        fd = _os.open(folder + "/page", _os.O_RDWR | _os.O_CLOEXEC | _os.O_NOFOLLOW | _os.O_NONBLOCK)
        try:
            page = _mmap.mmap(fd, _SIZE)
        finally:
            _os.close(fd)
    except (OSError, ValueError):
        return None
    if page[:8] != b"GODWITPG" or _struct.unpack_from("<II", page, 8) != (_VERSION, _SIZE):
        return None
    return memoryview(page).cast("Q")


_folder = _os.environ.get("GODWIT_FOLDER", "")
_read = _open_page(_folder)
_has_agent = _read is not None and not _is_other_rank()
if _read is None:
    _read = [0] * (_SIZE // 8)
_write = _read if _has_agent else [0] * (_SIZE // 8)
_taken = _read[_CHECKPOINT]
_lock = _threading.Lock()


def has_agent():
    """Whether somebody listens. Of the ranks of an MPI program only rank 0 reports; the others look."""
    return _has_agent


def set_steps(done, all):
    """So many steps of all are done."""
    all = min(max(int(all), 0), _MAX_STEPS)
    done = min(max(int(done), 0), all)
    with _lock:
        if _write[_ALL] != all:
            _write[_DONE] = 0  # never the steps of the one with the number of the other
            _write[_ALL] = all
        _write[_DONE] = done


def add_steps(n=1):
    """So many more steps are done; set_steps has said how many there are."""
    with _lock:
        _write[_DONE] = min(_write[_DONE] + max(int(n), 0), _MAX_STEPS)


def begin_phase(name):
    """A phase of that name begins."""
    with _lock:
        _write[_PHASE] += 1
    _send({"v": 1, "kind": "phase", "name": _cut(name, _MAX_PHASE_NAME)})


def send_message(text):
    """The user of the job is to see a line."""
    _send({"v": 1, "kind": "message", "text": _cut(text, _MAX_TEXT)})


def stop_wanted():
    """Whether the program is to save what it wants to keep and end."""
    return _read[_STOP] != 0


def checkpoint_wanted():
    """True once for each checkpoint that is ordered or due: the program is to save itself."""
    global _taken
    with _lock:
        before, _taken = _taken, _read[_CHECKPOINT]
        return _taken != before


def size():
    """How many processors the program has; 0: nobody has said."""
    known, held = _read[_HELD_SERIAL], _read[_HELD]
    if _write[_ACCEPT_SERIAL] > known:  # what it has given back is gone already
        held = min(held, _write[_ACCEPT])
    return held


def offered_size():
    """How many it could have, or is to keep, if that is to change: accept_size answers. Else 0."""
    serial = _write[_OFFER_SERIAL]
    return 0 if serial == _write[_ACCEPT_SERIAL] else _write[_OFFER]


def accept_size(procs):
    """So many it will use once they are granted (see size), or uses no more than so many from now on."""
    with _lock:
        _write[_ACCEPT] = max(int(procs), 0)
        _write[_ACCEPT_SERIAL] = _write[_OFFER_SERIAL]


def want_size(procs):
    """So many it wants to have: more may be offered, fewer are given back at once."""
    with _lock:
        _write[_WANT] = max(int(procs), 0)
        _write[_WANT_SERIAL] += 1


def _cut(text, most):
    return str(text).encode("utf-8", "replace")[:most].decode("utf-8", "ignore")


def _send(message):
    """Sends a line, waits for nobody and does not read the answer."""
    if not _has_agent:
        return
    line = _json.dumps(message).encode() + b"\n"
    try:  # where the socket cannot be used
        flags = _os.O_WRONLY | _os.O_APPEND | _os.O_CLOEXEC | _os.O_NOFOLLOW | _os.O_NONBLOCK
        fd = _os.open(_folder + "/messages", flags)
        try:
            _os.write(fd, line)
        finally:
            _os.close(fd)
        return
    except OSError:
        pass
    try:
        with _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM) as s:
            s.setblocking(False)
            s.connect(_folder + "/socket")
            s.send(line)
    except OSError:
        pass  # who is not there need not hear it
