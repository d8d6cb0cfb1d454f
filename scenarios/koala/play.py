"""Submits the jobs of a workload when they are due, waits for their end, and says what became of them.

    play.py JOBS

JOBS, a file beside this one or elsewhere, has a line of JSON for each job: when it is submitted, its sizes, and the
arguments of examples/jobs/paced.py, which does the work of the model as time. The files here are made of the
scenarios of the simulator, so that both have the same jobs (go test ./internal/experiment/koala -update writes
them). The log of the broker is kept in the file that KOALA_LOG names. The exit code is 1 if a job did not
complete, or if none ever grew.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def read_jobs(path):
    with open(path) as lines:
        return [json.loads(line) for line in lines]


def job_file(job):
    """The job as a job file; JSON is YAML."""
    sizes = {"min": job["min"], "max": job["max"], "initial": job["initial"] or job["min"]}
    return {"name": job["app"], "argv": ["python3", "paced.py"] + job["args"], "workdir": ".", "kind": job["kind"],
            "procs": job["min"] if job["kind"] == "rigid" else sizes, "checkpoint": "restart", "adapt": "off",
            "envs": {"PYTHONDONTWRITEBYTECODE": "1"}}


def submit_all(jobs, folder):
    """Submits each job when it is due; the working directory of all is the same."""
    for needed in ("examples/jobs/paced.py", "program/python/godwit.py"):
        shutil.copy(os.path.join(ROOT, needed), folder)
    begin = time.monotonic()
    for job in jobs:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(job_file(job), file)
            file.flush()
            time.sleep(max(0.0, begin + job["at"] - time.monotonic()))
            subprocess.run(["godwit", "submit", file.name], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin - jobs[-1]["at"]


def read_log(path):
    """What became of each job: when it was submitted, ran and ended, and how often its size changed."""
    jobs = {}
    with open(path) as lines:
        for line in lines:
            for event in (json.loads(line).get("step") or {}).get("events") or []:
                note_event(jobs, event)
    return jobs


def note_event(jobs, event):
    job = jobs.setdefault(event.get("job"), {"grown": 0, "shrunk": 0})
    kind = event["kind"]
    if kind == "job-submitted":
        job["submitted"] = event["at"]
    elif kind == "job-became":
        job["state"] = event["to"]
        if event["to"] == "RUNNING":
            job.setdefault("started", event["at"])
        job["ended"] = event["at"]
    elif kind == "part-answered" and event.get("n"):
        job["grown" if event.get("grow") else "shrunk"] += 1


def main():
    jobs = read_jobs(os.path.join(HERE, sys.argv[1]))
    with tempfile.TemporaryDirectory() as folder:
        late = submit_all(jobs, folder)
        subprocess.run(["godwit", "wait", "--all"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        log = os.environ.get("KOALA_LOG") or os.path.join(folder, "log.jsonl")
        subprocess.run(["godwit", "log", "export", "-o", log], check=True)
        done = [job for job in read_log(log).values() if job.get("state") == "DONE"]
    if not done:
        sys.exit("no job completed")
    mean = lambda of: sum(map(of, done)) / len(done) / 1e9
    grown, shrunk = (sum(job[how] for job in done) for how in ("grown", "shrunk"))
    print("%d of %d jobs completed, the last submitted %.1f s late" % (len(done), len(jobs), late))
    print("mean response %.1f s, waiting %.2f s, execution %.1f s" % (
        mean(lambda job: job["ended"] - job["submitted"]), mean(lambda job: job["started"] - job["submitted"]),
        mean(lambda job: job["ended"] - job["started"])))
    print("sizes changed: %d times grown, %d times shrunk" % (grown, shrunk))
    if len(done) < len(jobs) or not grown:
        sys.exit(1)


if __name__ == "__main__":
    main()
